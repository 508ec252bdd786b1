"""Every trap has its tests; and those that are traps of numbers and names, not of spans."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from collector.engines import ADAPTERS
from collector.engines.rules import Composite, Interval, SpanRule
from tests.engines.assembled import assemble, bodies
from tests.engines.emitter import MS, Emitter, caller
from tests.paths import CAPTURES, PROJECT

BY_NAME = {adapter.name: adapter for adapter in ADAPTERS}


@cache
def _functions_of(file: str) -> frozenset[str]:
    tree = ast.parse((PROJECT / "tests" / file).read_text())
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


ROWS = [
    [cell.strip() for cell in line.strip().strip("|").split("|")]
    for line in Path(__file__).with_name("traps.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith("| system")
]


@pytest.mark.parametrize(("system", "trap", "named"), ROWS, ids=lambda cell: cell[:60])
def test_each_trap_names_tests_that_are_there(system, trap, named):
    found = re.findall(r"`([^:`]+):([^`]+)`", named)

    assert system in {*BY_NAME, "all", "vllm-router"}
    assert found
    assert [f"{file}:{name}" for file, name in found if f"test_{name}" not in _functions_of(file)] == []


def test_no_system_is_without_a_trap():
    assert {system for system, *_ in ROWS} >= set(BY_NAME) - {"native", "infrastructure"}


LYING = {
    "latency": "sglang-router and smg: to the headers, in microseconds",
    "latency_ms": "vllm-router: to the headers",
    "llm_d.pd_proxy.true_ttft_ms": "to the call of decode",
    "dynamo.trace.ttft_ms": "to prefill's first token",
    "dynamo.trace.kv_transfer_estimated_latency_ms": "0 in bootstrap mode, an upper bound elsewhere",
    "metrics.time_to_first_token_ms": "vLLM's per-request metrics: from scheduling on",
}
"""Attributes that sound like a time of the request and are another's."""


def instants(rule: SpanRule) -> set[str]:
    """Every attribute that a rule makes an instant of."""
    timed = [*rule.intervals]
    ends = [point for one in timed if isinstance(one, Interval | Composite) for point in (one.start, one.end)]
    ends += [mark.at for mark in rule.marks] + [point for kv in rule.kv for point in (kv.start, kv.end)]
    return {name for point in ends for name, _ in point.plus} | {
        point.anchor.removeprefix("attr:") for point in ends if point.anchor.startswith("attr:")
    }


def test_no_rule_reads_a_number_that_lies():
    read = {name for adapter in ADAPTERS for rule in adapter.rules for name in instants(rule)}

    assert "ttft_ms" in read
    assert read & set(LYING) == set()


MISLEADING = (
    "dynamo_component_router_time_to_first_token_seconds",
    "dynamo_component_router_inter_token_latency_seconds",
    "dynamo_work_handler_time_to_first_response_seconds",
    "dynamo_component_router_kv_transfer_estimated_latency_seconds",
    "smg_pd_ttft_seconds",
    "smg_pd_kv_transfer_duration_seconds",
    "sglang:kv_transfer_speed_gb_s",
    "rayllm_first_token_latency_ms",
    "vllm:time_to_first_token_seconds",
)


def test_no_metric_that_misleads_feeds_a_signal():
    fed = {name for adapter in ADAPTERS for rule in adapter.signals for name in rule.names}

    assert fed & set(MISLEADING) == set()


LEASES = {
    "vllm": 30.0,
    "sglang": 300.0,
    "lmcache": 300.0,
    "mooncake": 10.0,
    "trtllm": None,
    "dynamo": None,
    "llm-d": None,
    "ray-serve": None,
    "smg": None,
}
"""Seconds; None: the system has none of its own, or none that is on by default."""


@pytest.mark.parametrize(("system", "seconds"), LEASES.items())
def test_a_lease_is_the_engines_default_or_none(system, seconds):
    assert BY_NAME[system].kv_lease_s == seconds


EXPIRED = {
    "vllm:nixl_num_kv_expired_reqs_total": "kv_expired_total",
    "vllm:mooncake_num_kv_expired_reqs_total": "kv_expired_total",
    "vllm:nixl_num_notifications_after_expiry_total": "late_kv_reads_total",
    "sglang:num_bootstrap_failed_reqs_total": "transfer_failures_total",
    "sglang:num_transfer_failed_reqs_total": "transfer_failures_total",
    "sglang:kv_transfer_timeouts_total": "kv_expired_total",
    "sglang:num_prefill_inflight_queue_reqs": "queue_depth",
    "master_put_start_discard_cnt_total": "kv_expired_total",
}


@pytest.mark.parametrize(("metric", "signal"), EXPIRED.items())
def test_every_name_of_expired_kv_is_read(metric, signal):
    found = {rule.signal for adapter in ADAPTERS for rule in adapter.signals if metric in rule.names}

    assert found == {signal}


def test_the_frontends_own_id_is_taken_for_no_worker():
    rules = [rule for adapter in ADAPTERS for rule in adapter.signals if rule.worker_labels]

    assert [rule.metric for rule in rules if rule.metric.startswith("dynamo_component_router_")] == []


@pytest.mark.parametrize(
    ("system", "lines"),
    [
        ("llm-d", ("--tracing", "OTEL_TRACES_EXPORTER=otlp", "OTEL_TRACES_SAMPLER_ARG=1")),
        ("ray-serve", ("RAY_SERVE_TRACING_EXPORTER_IMPORT_PATH=", "RAY_SERVE_TRACING_SAMPLING_RATIO=1")),
        ("sglang", ("--enable-trace", "--enable-metrics", "request,mooncake", "SGLANG_TRACE_LEVEL=3")),
        ("dynamo", ("OTEL_EXPORT_ENABLED=1", "DYN_LOGGING_JSONL=1", "DYN_REQUEST_TRACE=1")),
        ("vllm", ("--otlp-traces-endpoint", "Router(enable_trace=True")),
        ("lmcache", ("--enable-tracing",)),
        ("trtllm", ("otlp_traces_endpoint", "return_perf_metrics")),
    ],
)
def test_what_is_off_or_sampled_by_default_is_switched_on_in_full(system, lines):
    assert [line for line in lines if line not in BY_NAME[system].switch_on] == []


def test_the_request_traces_own_ttft_is_kept_beside_and_never_used(open_store):
    """In bootstrap mode it says 95 ms where the client waited 674."""
    run = CAPTURES / "dynamo-1.6.1" / "kv-transfer-0GBs-bootstrap"
    spans = bodies(run / "otlp_traces.bin.gz")

    alone = assemble(open_store, spans)
    both = assemble(open_store, [*spans, *bodies(run / "reqtrace.jsonl.gz")])
    told = open_store.query(
        "SELECT receipt['engine_ttft_ms'], receipt['kv_transfer_estimated_ms'] FROM requests FINAL "
        "WHERE tombstone = 0"
    )

    assert len(alone) == len(both) == len(told) == 20
    assert all(float(ttft) > 0 and float(moved) == 0 for ttft, moved in told)
    assert {row["ttft_source"] for row in both} == {"router_first_token"}
    assert [row["ttft_ns"] for row in both] == [row["ttft_ns"] for row in alone]


def test_dynamos_gap_before_its_first_router_span_is_bounded(open_store):
    out = Emitter()
    about = {"request_id": "u-1", "uri": "/v1/completions", "ttft_ms": "900", "request.outcome": "success"}
    root = out.span("dynamo-frontend", "http-request", 0, 1000, about, parent=caller(50))
    out.span("dynamo-frontend", "kv_router.select_worker", 862, 870, parent=root)

    (row,) = assemble(open_store, [out.body()])

    gap = [ns for covers, ns, _ in row["composites"] if covers == ("router_queue", "tokenize")]
    assert gap == [862 * MS]
