"""The metrics of every attribution case: stored whole, mapped or left out for a stated reason, and right."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from analyzer.signals import (
    dead_metrics,
    over_workers,
    read_changes,
    read_gauges,
    read_histograms,
    read_increases,
    read_present,
    read_unmapped,
    total,
)
from collector.engines import ADAPTERS
from tests.paths import CASES, SHARED

FOREVER = (1_700_000_000 * 10**9, 2_000_000_000 * 10**9)
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the shared cases are not here")


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    """Metric exports by the case's number."""
    root = tmp_path_factory.mktemp("cases")
    tool = SHARED / "tools" / "replay_case.py"
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}

    def build(case):
        out = root / case.stem
        command = [sys.executable, str(tool), "build", str(case), "--seed", "1", "--out", str(out)]
        subprocess.run(command, check=True, capture_output=True, timeout=120, env=environment)
        return case.stem[:2], [path.read_bytes() for path in sorted(out.glob("*-metrics.pb"))]

    with ThreadPoolExecutor(2) as pool:
        return dict(pool.map(build, sorted(CASES.glob("*.json"))))


@pytest.fixture(scope="module")
def results(store, exports):
    return {case: store.insert_metrics(bodies) for case, bodies in exports.items() if bodies}


@pytest.fixture(scope="module")
def model(results):
    """The model's name of a case: what keeps its metrics apart."""
    return lambda case: f"case-{case}-s1"


def _points(body):
    for sent in ExportMetricsServiceRequest.FromString(body).resource_metrics:
        for scope in sent.scope_metrics:
            for metric in scope.metrics:
                yield metric.name, len(getattr(metric, metric.WhichOneof("data")).data_points)


def test_every_point_of_every_case_is_stored(store, exports, results):
    sent = sum(count for bodies in exports.values() for body in bodies for _, count in _points(body))
    stored = store.query("SELECT count() FROM signals WHERE startsWith(model, 'case-')")[0][0]
    assert sum(result.points for result in results.values()) == sent == stored
    assert {reason for result in results.values() for reason in result.refused} == set()


def test_every_metric_of_the_cases_feeds_a_signal_or_says_why_not(exports, results, store):
    names = {name for bodies in exports.values() for body in bodies for name, _ in _points(body)}
    mapped = {name for adapter in ADAPTERS for rule in adapter.signals for name in rule.names}
    reasons = {metric.metric: metric.reason for adapter in ADAPTERS for metric in adapter.unmapped}
    assert names - mapped - reasons.keys() == set()
    unmapped = {row["metric"] for row in read_unmapped(store, *FOREVER)}
    assert unmapped & names == names - mapped


def test_every_mapped_metric_of_the_cases_is_read_as_a_signal(exports, results, store):
    names = {name for bodies in exports.values() for body in bodies for name, _ in _points(body)}
    mapped = {name for adapter in ADAPTERS for rule in adapter.signals for name in rule.names}
    read = {found.metric for found in read_present(store, *FOREVER)}
    # only an exporter's gauge gives way, to the engine's own of the same worker
    passed_over = (names & mapped) - read
    assert passed_over <= {"kv_cache_usage_ratio", "requests_running"}


def test_every_worker_of_the_cases_has_a_pool(store, results):
    assert {found.pool for found in read_present(store, *FOREVER)} == {"prefill", "decode", "router"}


def test_expired_leases_are_counted(store, model):
    expired = read_increases(store, *FOREVER, ["kv_expired_total"], model("01"))
    assert total(expired) == 8


def test_prefills_cache_is_full_while_few_requests_run(store, model):
    levels = read_gauges(store, *FOREVER, ["kv_used_fraction", "running"], model("02"))
    usage = [g for g in levels if g.pool == "prefill" and g.signal == "kv_used_fraction"]
    assert len(usage) == 2
    assert {max(g.values) for g in usage} == {0.99}
    running = {g.worker: g for g in levels if g.signal == "running"}
    for gauge in usage:
        when = gauge.times_ns[gauge.values.index(max(gauge.values))]
        assert running[gauge.worker].at(when) <= 1


def test_a_clipped_histogram_is_a_floor_of_5_s_with_a_mean_of_8_9_s(store, model):
    (found,) = read_histograms(store, *FOREVER, ["vllm:nixl_xfer_time_seconds"], model("31"))
    assert found.mean == pytest.approx(8.9, rel=0.001)
    assert found.saturated
    assert [found.quantile(q).low for q in (0.5, 0.9, 0.99)] == [5, 5, 5]


def test_decodes_own_prompt_work_is_4_per_cent(store, model):
    tokens = {
        item.part: item.value
        for item in read_increases(store, *FOREVER, ["prompt_tokens_total"], model("39"))
    }
    assert tokens["local"] / (tokens["local"] + tokens["remote"]) == pytest.approx(0.04, rel=0.1)
    assert total(read_increases(store, *FOREVER, ["transfer_failures_total"], model("39"))) == 60


def test_posting_takes_most_of_the_transfer(store, model):
    metrics = ["vllm:nixl_post_time_seconds", "vllm:nixl_xfer_time_seconds"]
    found = {h.metric: h for h in read_histograms(store, *FOREVER, metrics, model("11"))}
    assert found[metrics[0]].sum / found[metrics[1]].sum == pytest.approx(0.569, rel=0.03)


def test_the_engine_reports_a_rate_above_what_its_bytes_and_seconds_give(store, model):
    grown = read_increases(store, *FOREVER, ["transfer_bytes_total", "transfer_seconds_sum"], model("28"))
    bytes_moved = total(item for item in grown if item.signal == "transfer_bytes_total")
    seconds = total(item for item in grown if item.signal == "transfer_seconds_sum")
    speeds = read_histograms(store, *FOREVER, ["sglang:kv_transfer_speed_gb_s"], model("28"))
    reported = over_workers(speeds)
    assert len(speeds) == 5
    assert bytes_moved / seconds / 2**30 == pytest.approx(reported.mean, rel=0.1)
    assert reported.mean > 100


def test_bytes_went_over_ethernet_not_over_the_idle_rdma_port(store, model):
    nics = {
        item.part: item.value for item in read_increases(store, *FOREVER, ["nic_bytes_total"], model("09"))
    }
    assert nics["eth0 transmit"] > 0
    assert nics["mlx5_0 transmit"] == 0


def test_prealloc_and_what_of_it_is_ready_are_told_apart(store, model):
    levels = read_gauges(store, *FOREVER, ["queue_depth"], model("22"))
    peak = {
        part: sum(max(g.values) for g in levels if g.part == part) for part in ("prealloc", "prealloc_ready")
    }
    assert peak["prealloc"] > 50 * peak["prealloc_ready"]


def test_aborts_that_never_came_though_clients_left_are_a_dead_metric(store, model):
    rows = read_changes(store, *FOREVER, model=model("41"))
    left = total(read_increases(store, *FOREVER, ["cancelled_requests_total"], model("41")))
    dead = dead_metrics(rows, must_move=["aborted_requests_total"])
    assert left > 0
    assert [item.metric for item in dead] == ["aborts_total"]


def test_a_worker_that_went_away_is_down(store, model):
    (up,) = read_gauges(store, *FOREVER, ["up"], model("02"))
    assert (max(up.values), up.values[-1], up.pool) == (1, 0, "decode")
