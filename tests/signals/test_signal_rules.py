"""The rules as data: their names are the convention's, and the engines really export what they read."""

import gzip
import re
import struct
from itertools import groupby

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from collector.conventions import POOL_SIGNALS, POOLS
from collector.engines import ADAPTERS
from collector.engines.signals import FURTHER_SIGNALS
from tests.paths import CAPTURES

RULES = [(adapter.name, rule) for adapter in ADAPTERS for rule in adapter.signals]
captured = pytest.mark.skipif(not CAPTURES.is_dir(), reason="the shared captures are not here")


def test_every_rule_feeds_a_signal_of_the_convention_or_of_the_list_beside_it():
    assert {rule.signal for _, rule in RULES} - {*POOL_SIGNALS, *FURTHER_SIGNALS} == set()


def test_every_listed_signal_is_fed_by_some_rule():
    assert {*POOL_SIGNALS, *FURTHER_SIGNALS} - {rule.signal for _, rule in RULES} == {"kv_pinned_tokens"}


def test_pools_named_by_rules_exist():
    assert {rule.pool for _, rule in RULES} - {"", *POOLS} == set()


def test_a_metric_is_read_by_one_system_only():
    owners = sorted({(name, adapter) for adapter, rule in RULES for name in rule.names})
    shared = [n for n, group in groupby(owners, key=lambda o: o[0]) if len(list(group)) > 1]
    assert shared == []


def test_no_metric_is_both_read_and_called_unmapped():
    read = {name for _, rule in RULES for name in rule.names}
    assert [u.metric for adapter in ADAPTERS for u in adapter.unmapped if u.metric in read] == []


def test_no_metric_feeds_one_signal_and_part_twice():
    def key(rule):
        return (rule.metric, rule.signal, rule.part, rule.part_label, rule.where, rule.rank)

    keys = [key(rule) for _, rule in RULES]
    assert len(keys) == len(set(keys))


def _pages(pattern):
    text = "".join(gzip.decompress(path.read_bytes()).decode() for path in sorted(CAPTURES.glob(pattern)))
    return set(re.findall(r"^# TYPE (\S+) (?:gauge|counter|histogram|summary)", text, re.MULTILINE))


@captured
@pytest.mark.parametrize(
    ("prefix", "pages", "known_from_source"),
    [
        ("vllm:", "vllm-0.32.0/*/metrics_*.gz", {"vllm:mooncake_num_kv_expired_reqs_total"}),
        ("vllm_router_", "vllm*/**/metrics_*.gz", {"vllm_router_retries_total"}),
        ("dynamo_", "dynamo-1.6.1/*/metrics/*.gz", {"dynamo_frontend_model_rejection_total"}),
        (
            "smg_",
            "s*/metrics_after.txt.gz",
            {
                "smg_admission_queue_depth",
                "smg_pd_admission_sheds_total",
                "smg_pd_kv_transfer_failures_total",
                "smg_pd_prefill_admission_queued",
            },
        ),
    ],
)
def test_what_is_read_was_exported_by_a_live_run(prefix, pages, known_from_source):
    exported = _pages(pages)
    read = {rule.metric for _, rule in RULES if rule.metric.startswith(prefix)}
    if prefix == "vllm:":
        known_from_source = {*known_from_source} | {"vllm:gpu_cache_usage_perc"} - exported
    assert read - exported == known_from_source


@captured
def test_dynamos_own_otlp_metrics_are_stored_and_read(store):
    captured_file = CAPTURES / "dynamo-1.6.1/all-signals-lifecycle/otlp_metrics.bin.gz"
    data = gzip.decompress(captured_file.read_bytes())
    bodies, at = [], 0
    while at < len(data):
        _, length = struct.unpack_from(">QI", data, at)
        bodies.append(data[at + 12 : at + 12 + length])
        at += 12 + length
    sent = sum(
        len(getattr(metric, metric.WhichOneof("data")).data_points)
        for body in bodies
        for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    )
    result = store.insert_metrics(bodies)
    assert (result.points, dict(result.refused)) == (sent, {})
    rows = store.rows(
        "SELECT pool, signal, count() AS points, uniqExact(worker) AS workers "
        "FROM pool_signals(from_ns = 1700000000000000000, to_ns = 2000000000000000000, wanted = []) "
        "WHERE dialect = 'dynamo' GROUP BY pool, signal ORDER BY pool, signal"
    )
    found = {(row["pool"], row["signal"]): row["workers"] for row in rows}
    assert found["prefill", "running"] == found["decode", "running"] == 1
    assert ("decode", "requests_total") in found
