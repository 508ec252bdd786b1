"""docs/metrics.md names every metric of a running pdscope, with its type and labels, and no other."""

import re

import httpx
from prometheus_client.parser import text_string_to_metric_families

from tests.cli.conftest import Served
from tests.paths import PROJECT

PAGE = (PROJECT / "docs/metrics.md").read_text("utf-8")
ROWS = re.findall(r"^\| `(pdscope_\w+)` \| (\w+) \|([^|]*)\|", PAGE, re.MULTILINE)


def exported(served: Served) -> dict[str, tuple[str, set[str]]]:
    """Type and the labels seen so far, by the name that Prometheus shows."""
    found = {}
    for family in text_string_to_metric_families(httpx.get(f"{served.api}/metrics", timeout=60).text):
        if family.name.endswith("_created"):
            continue
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels = {label for sample in family.samples for label in sample.labels} - {"le"}
        found[name] = (family.type, labels)
    return found


def test_the_page_names_every_metric_with_its_type(served: Served, window: dict[str, str]) -> None:
    assert {name: kind for name, kind, _ in ROWS} == {
        name: kind for name, (kind, _) in exported(served).items()
    }


def test_labels_are_those_that_are_seen(served: Served, window: dict[str, str]) -> None:
    for name, _, labels in ROWS:
        assert exported_labels(served)[name] <= set(re.findall(r"`(\w+)`", labels)), name


def exported_labels(served: Served) -> dict[str, set[str]]:
    return {name: labels for name, (_, labels) in exported(served).items()}
