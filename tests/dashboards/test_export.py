"""What `/metrics` shows of the store: counted once, bounded, with a trace to look at."""

import re

import yaml
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest

from analyzer.export import Exporter
from analyzer.export.bounded import OTHER, Bounded
from analyzer.export.finished import FinishedRequests
from analyzer.export.fleet import Fleet
from analyzer.slo.attainment import attainments
from analyzer.slo.objectives_table import write_objectives
from analyzer.slo.scope import EVERYTHING
from collector.store import Store
from dashboards.alerts.places import Places
from dashboards.alerts.prometheus import rule_file
from tests.dashboards.conftest import OBJECTIVES
from tests.paths import PROJECT


def values(registry: CollectorRegistry, name: str) -> dict[tuple[str, ...], float]:
    found = {}
    for metric in registry.collect():
        for sample in metric.samples:
            if sample.name == name:
                found[tuple(sample.labels.values())] = sample.value
    return found


def test_every_finished_request_counts_once(store: Store) -> None:
    registry = CollectorRegistry()
    finished = FinishedRequests(store, registry, after=0)
    upto = store.last_sequence
    finished.count(OBJECTIVES, upto)
    once = values(registry, "pdscope_slo_requests_total")
    finished.count(OBJECTIVES, upto)
    finished.count(OBJECTIVES, upto + 5)
    assert values(registry, "pdscope_slo_requests_total") == once
    by_rest = attainments(store, EVERYTHING, OBJECTIVES)
    for answer in by_rest:
        for result in ("met", "missed", "cancelled", "invalid"):
            counted = sum(v for k, v in once.items() if k[0] == answer.objective.name and k[2] == result)
            assert counted == getattr(answer.requests, result)
    assert sum(answer.requests.missed for answer in by_rest) > 0
    misses = values(registry, "pdscope_slo_ttft_misses_total")
    missed_ttft = [round(a.requests.evaluated * (1 - (a.ttft or 0))) for a in by_rest]
    names = [a.objective.name for a in by_rest]
    assert [sum(v for k, v in misses.items() if k[0] == name) for name in names] == missed_ttft


def test_what_was_finished_before_the_start_is_not_counted_again(store: Store) -> None:
    registry = CollectorRegistry()
    FinishedRequests(store, registry, after=store.last_sequence).count(OBJECTIVES, store.last_sequence)
    assert values(registry, "pdscope_slo_requests_total") == {}


def test_misses_carry_a_trace_to_look_at(store: Store) -> None:
    registry = CollectorRegistry()
    FinishedRequests(store, registry, after=0).count(OBJECTIVES, store.last_sequence)
    text = generate_latest(registry).decode()
    traces = re.findall(r'result="missed".*# \{trace_id="([0-9a-f]{32})"\}', text)
    assert traces
    for trace in traces:
        assert store.query("SELECT count() FROM spans WHERE trace_id = unhex({t:String})", {"t": trace})[0][0]


def test_causes_and_hand_offs_of_the_last_minutes_are_shown(store: Store) -> None:
    fleet = Fleet(store)
    registry = CollectorRegistry()
    registry.register(fleet)
    (newest,) = store.query("SELECT toUnixTimestamp(max(started_at)) FROM requests")[0]
    fleet.refresh(now=newest + 30)
    evaluated = values(registry, "pdscope_evaluated_requests")
    by_cause = values(registry, "pdscope_missed_requests_by_cause")
    assert sum(evaluated.values()) > sum(by_cause.values()) > 0
    assert values(registry, "pdscope_kv_handoffs_recent")[("prefill",)] == 106
    fleet.refresh(now=newest + 86400)
    assert values(registry, "pdscope_evaluated_requests") == {}


def test_an_orphan_is_held_until_it_is_too_old_to_look_at(store: Store) -> None:
    fleet = Fleet(store)
    registry = CollectorRegistry()
    registry.register(fleet)
    (newest,) = store.query("SELECT toUnixTimestamp(max(started_at)) FROM requests")[0]
    fleet.refresh(now=newest + 1800)
    assert values(registry, "pdscope_kv_orphans")[("prefill",)] == 1


def test_labels_are_bounded() -> None:
    model = Bounded(limit=2)
    assert [model(name) for name in ("a", "b", "c", "a", "d")] == ["a", "b", OTHER, "a", OTHER]


def test_objectives_are_written_only_when_they_change(store: Store) -> None:
    assert write_objectives(store, OBJECTIVES) is False
    assert write_objectives(store, OBJECTIVES.override(ttft=9)) is True
    assert store.query("SELECT DISTINCT ttft_seconds FROM current_objectives") == [(9.0,)]
    assert write_objectives(store, OBJECTIVES) is True
    assert [row[0] for row in store.query("SELECT name FROM current_objectives")] == [
        item.name for item in OBJECTIVES.items
    ]


def test_an_empty_past_gives_no_series(store: Store) -> None:
    fleet = Fleet(store)
    fleet.refresh(now=1e9)
    assert all(not family.samples for family in fleet.collect())


def test_the_documented_metrics_are_the_exported_ones(store: Store) -> None:
    registry = CollectorRegistry()
    exporter = Exporter(store, registry, lambda: OBJECTIVES, lambda: store.last_sequence)
    exporter.refresh()
    exported = {}
    for metric in registry.collect():
        name = f"{metric.name}_total" if metric.type == "counter" else metric.name
        exported[name] = metric.type
    page = (PROJECT / "docs/metrics.md").read_text("utf-8").partition("## Of pdscope itself")[0]
    documented = dict(re.findall(r"^\| `(pdscope_\w+)` \| (\w+) \|", page, re.M))
    assert documented == exported


def test_the_documented_alerts_are_the_built_ones() -> None:
    text = (PROJECT / "docs/on-call.md").read_text("utf-8")
    rules = yaml.safe_load(rule_file(OBJECTIVES, Places()))
    built = {rule["alert"] for group in rules["groups"] for rule in group["rules"] if "alert" in rule}
    assert set(re.findall(r"`(Pdscope\w+)`", text)) == built
