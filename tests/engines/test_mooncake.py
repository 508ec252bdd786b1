"""Mooncake's store as run: the metrics the rules name are the ones its master exports."""

import gzip

from prometheus_client.parser import text_string_to_metric_families

from collector.engines import mooncake
from tests.paths import CAPTURES

PAGE = CAPTURES / "mooncake-0.3.13-master-cpu" / "metrics_master.txt.gz"


def test_the_master_exports_every_metric_that_is_read_or_left_out():
    with gzip.open(PAGE, "rt") as page:
        families = list(text_string_to_metric_families(page.read()))
    # The parser ends the name of a counter in _total; the rules know both.
    exported = {sample.name.removesuffix("_total") for family in families for sample in family.samples}

    named = {rule.metric for rule in (*mooncake.ADAPTER.signals, *mooncake.ADAPTER.unmapped)}
    masters = {name.removesuffix("_total") for name in named if name.startswith("master_")}
    assert len(masters) > 4
    assert masters <= exported


def test_a_store_that_is_full_shows_as_failed_puts():
    with gzip.open(PAGE, "rt") as page:
        families = list(text_string_to_metric_families(page.read()))
    values = {sample.name: sample.value for family in families for sample in family.samples}

    (rule,) = [rule for rule in mooncake.ADAPTER.signals if rule.part == "store_full"]
    assert values[rule.metric] == 8
