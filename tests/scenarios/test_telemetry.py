"""What is exported: valid OTLP with the right resources, true to the run, and free of anybody's words."""

import re
from collections import Counter, defaultdict
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from .metrics import instants
from .otlp import Export
from .processes import Stage
from .scenario import scenario
from .spec import NS
from .telemetry import exports, request_id, window

BASE = 1_780_000_000 * NS
PHASES = {
    "router_queue",
    "tokenize",
    "prefill_queue",
    "prefill_compute",
    "kv_publish",
    "kv_transfer",
    "decode_queue",
    "kv_import",
    "first_decode_step",
    "network_streaming",
    "decode",
}
SAID = re.compile(
    r"pd\.(request\.id|phase|attempt|tenant|route|outcome|finish_reason|cached_tokens|first_token_by"
    r"|stream\.stalled_ms|itl\.(p50|p99|max)_ms|local_prompt_(tokens|reason)"
    r"|kv\.(tokens|bytes|descriptors|wait_ms|post_ms|status|tokens_already_held|transfer_id|connector"
    r"|source|destination|transport|link_gb_s|lease_expires_unix_nano|reason))"
    r"|gen_ai\.(request\.model|usage\.(input|output)_tokens|conversation\.id)|http\.response\.status_code"
)


def staged(name: str | None = None, seed: int = 9, index: int = 2) -> tuple[Stage, list[Export]]:
    shown = scenario(seed, index, "one", (name,)) if name else scenario(seed, index, "healthy")
    stage = Stage(shown, BASE, "t0")
    return stage, exports(stage)


def spans(sent: list[Export]) -> list[tuple[dict[str, Any], Span]]:
    out = []
    for export in sent:
        if export.kind == "traces":
            request = ExportTraceServiceRequest.FromString(export.body)
            for resource in request.resource_spans:
                values = plain(resource.resource.attributes)
                out += [(values, span) for scope in resource.scope_spans for span in scope.spans]
    return out


def plain(attributes: Any) -> dict[str, Any]:
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in attributes}


def of_window(stage: Stage, sent: list[Export]) -> list[tuple[dict[str, Any], Span]]:
    since, until = window(stage)
    return [(resource, span) for resource, span in spans(sent) if since <= span.start_time_unix_nano <= until]


NAMES = [
    "retries",
    "unclaimed",
    "never_filled",
    "redundant_prefix",
    "little_kv",
    "long_documents",
    "failed_loads",
]


@pytest.mark.parametrize("name", NAMES)
def test_every_export_parses_and_says_nothing_but_the_convention(name: str) -> None:
    _, sent = staged(name)
    for _, span in spans(sent):
        assert len(span.trace_id) == 16
        assert len(span.span_id) == 8
        assert span.end_time_unix_nano >= span.start_time_unix_nano
        unknown = {key for key in plain(span.attributes) if not SAID.fullmatch(key)}
        assert unknown == set()
        assert {event.name for event in span.events} <= {"first_token", "last_token", "preempted", "resumed"}
    assert sum(export.items for export in sent if export.kind == "traces") == len(spans(sent))


@pytest.mark.parametrize("name", NAMES)
def test_span_ids_and_names_are_unique_and_every_request_has_one_root(name: str) -> None:
    stage, sent = staged(name)
    shown = of_window(stage, sent)
    assert len({span.span_id for _, span in shown}) == len(shown)
    roots = [plain(span.attributes)["pd.request.id"] for _, span in shown if span.name == "pd.request"]
    assert sorted(roots) == sorted(request_id(stage, life.ask.index) for life in stage.scenario.run.lives)
    names = {span.name.removeprefix("pd.") for _, span in shown}
    assert names - {"request", "kv_release"} <= PHASES


@pytest.mark.parametrize("name", ["slow_link", "slow_writer", "slow_readers", "retries"])
def test_ttft_and_tpot_of_the_spans_are_those_of_the_truth(name: str) -> None:
    stage, sent = staged(name)
    truth = {request_id(stage, v.index): v for v in stage.scenario.truth.verdicts}
    for _, span in of_window(stage, sent):
        if span.name == "pd.request":
            values = plain(span.attributes)
            verdict = truth[values["pd.request.id"]]
            at = {event.name: event.time_unix_nano for event in span.events}
            if verdict.outcome == "ok":
                assert (at["first_token"] - span.start_time_unix_nano) / NS == verdict.ttft
                tokens = values["gen_ai.usage.output_tokens"]
                assert (at["last_token"] - at["first_token"]) / (tokens - 1) / NS == pytest.approx(
                    verdict.tpot
                )
            assert values["pd.outcome"] == verdict.outcome


def test_each_process_exports_what_it_did_under_its_own_name_and_pool() -> None:
    stage, sent = staged("slow_link")
    owners = defaultdict(set)
    for resource, span in spans(sent):
        assert resource["service.instance.id"].startswith(resource["pd.pool"])
        assert resource["service.instance.id"].endswith(stage.salt)
        owners[span.name].add(resource["pd.pool"])
    assert owners["pd.request"] == owners["pd.router_queue"] == owners["pd.network_streaming"] == {"router"}
    assert (
        owners["pd.prefill_queue"] == owners["pd.prefill_compute"] == owners["pd.kv_publish"] == {"prefill"}
    )
    assert owners["pd.decode"] == owners["pd.first_decode_step"] == {"decode"}


def test_a_lease_that_is_renewed_shows_as_repeated_offers_with_later_deadlines() -> None:
    stage, sent = staged("starved_decode")
    renewed = [life for life in stage.scenario.run.lives if life.renewals]
    deadlines: dict[str, list[int]] = defaultdict(list)
    for _, span in of_window(stage, sent):
        values = plain(span.attributes)
        if span.name == "pd.kv_publish":
            deadlines[values["pd.kv.transfer_id"]].append(values["pd.kv.lease_expires_unix_nano"])
    assert sum(len(found) > 1 for found in deadlines.values()) == len(renewed)
    assert all(found == sorted(found) for found in deadlines.values())


def test_orphans_are_offered_never_imported_and_released_as_expired() -> None:
    stage, sent = staged("unclaimed")
    orphans = {f"{request_id(stage, v.ask.index)}-1" for v in stage.scenario.run.lives if v.orphan}
    seen: dict[str, set[str]] = defaultdict(set)
    for _, span in of_window(stage, sent):
        values = plain(span.attributes)
        if values.get("pd.kv.transfer_id") in orphans:
            seen[values["pd.kv.transfer_id"]].add(values.get("pd.kv.reason", span.name))
    assert set(seen) == orphans
    assert all({"pd.kv_publish", "expired"} <= names for names in seen.values())
    assert not any("pd.kv_import" in names or "imported" in names for names in seen.values())


def test_a_skewed_clock_moves_a_process_and_nobody_else() -> None:
    shown = next(s for s in (scenario(1, i) for i in range(40)) if s.clocks)
    true = Stage(shown, BASE, "t0")
    name, clock = next(iter(shown.clocks.items()))
    assert true.stamp(name, 0) == BASE + clock.offset
    assert true.stamp("router-0", 5) == BASE + 5
    assert abs(clock.offset) >= 5_000_000


def test_history_is_healthy_and_lies_before_the_window() -> None:
    shown = next(s for s in (scenario(1, i, "one", ("slow_link",)) for i in range(9)) if s.history)
    stage = Stage(shown, BASE, "t0")
    since, _ = window(stage)
    earlier = [span for _, span in spans(exports(stage)) if span.end_time_unix_nano < since]
    roots = [span for span in earlier if span.name == "pd.request"]
    assert len(roots) == shown.history
    objective = shown.truth.objective
    for root in roots:
        at = {event.name: event.time_unix_nano for event in root.events}
        if "first_token" in at:
            assert (at["first_token"] - root.start_time_unix_nano) / NS <= objective.ttft


def points(sent: list[Export]) -> dict[tuple[str, str], dict[int, float]]:
    out: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for export in sent:
        if export.kind == "metrics":
            for resource in ExportMetricsServiceRequest.FromString(export.body).resource_metrics:
                who = plain(resource.resource.attributes)["service.instance.id"]
                for metric in resource.scope_metrics[0].metrics:
                    for point in (*metric.gauge.data_points, *metric.sum.data_points):
                        out[who, metric.name][point.time_unix_nano] = point.as_double
    return out


@pytest.mark.parametrize("name", ["starved_prefill", "starved_decode", "unclaimed"])
def test_queue_gauges_are_what_the_spans_show(name: str) -> None:
    stage, sent = staged(name)
    run, found = stage.scenario.run, points(sent)
    for worker in run.prefill:
        gauge = "sglang:num_queue_reqs" if stage.connector == "mooncake" else "vllm:num_requests_waiting"
        read = found[stage.instance(worker.name), gauge]
        for at in instants(stage).tolist():
            waiting = sum(
                interval.start <= at < interval.end
                for life in run.lives
                for interval in life.intervals
                if interval.phase == "prefill_queue" and interval.worker == worker.name
            )
            value = read[stage.stamp(worker.name, at)]
            assert value <= waiting  # preallocation: some wait for decode, in another gauge
            if stage.connector == "nixl":
                assert value == waiting


def test_counters_never_fall_and_fractions_stay_fractions() -> None:
    _, sent = staged("little_kv")
    kinds: Counter[str] = Counter()
    for (_, name), read in points(sent).items():
        values = [read[at] for at in sorted(read)]
        if name.endswith("_total"):
            assert values == sorted(values)
            kinds["counter"] += 1
        if name.endswith(("usage_perc", "token_usage")):
            assert 0.0 <= min(values) <= max(values) <= 1.0
            kinds["fraction"] += 1
    assert min(kinds["counter"], kinds["fraction"]) > 0
