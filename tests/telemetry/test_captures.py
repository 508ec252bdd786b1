"""What `doctor` says of real captures: their spans, and their pages as scraping reads them."""

from analyzer.slo.objectives import Objectives
from analyzer.slo.scope import Scope
from analyzer.verdict.diagnosis import diagnose
from analyzer.verdict.vocabulary import Cause
from collector.scrape.health import failed
from collector.scrape.page import attribute
from collector.scrape.target import target
from tests.telemetry.conftest import HOUR_NS, exports, named, scrapes

VLLM = "vllm-0.32.0/{0}/metrics_{1}.prom.txt.gz"
ADDRESSES = {"prefill": "127.0.0.1:8100", "decode": "127.0.0.1:8200", "router": "127.0.0.1:8300"}


def vllm(run, *pools):
    return [
        body
        for pool in pools
        for body in exports(VLLM.format(run, pool), ADDRESSES[pool], pool)
    ]  # fmt: skip


def begin(run):
    return scrapes(VLLM.format(run, "prefill"))[0][0]


def test_a_capture_with_spans_and_pages_lacks_no_engine_signal(examined):
    report = examined("vllm/traced-clean", vllm("traced-clean", *ADDRESSES), begin("traced-clean"))
    assert [item for item in named(report, "missing_signal") if item.severity != "info"] == []
    assert {item.says.split()[1] for item in named(report, "missing_signal")} == {
        "gpu_busy_fraction", "nic_bytes_total",
    }  # fmt: skip
    assert named(report, "worker_names_differ") == []
    assert {worker.worker: worker.up for worker in report.arrivals.scraped} == dict.fromkeys(
        ADDRESSES.values(), True
    )


def test_both_pools_count_the_same_requests(examined):
    report = examined("", vllm("traced-clean", "prefill", "decode"), begin("traced-clean"))
    twice = {item.subject for item in named(report, "counted_twice")}
    assert twice == {"vllm:time_to_first_token_seconds", "vllm:e2e_request_latency_seconds"}


def test_without_spans_the_engines_own_switch_is_named(examined):
    report = examined("", vllm("traced-clean", "prefill"), begin("traced-clean"))
    (told,) = named(report, "no_request_traces")
    assert (told.severity, told.system) == ("critical", "vllm")
    assert "--otlp-traces-endpoint" in told.fix


def test_without_metrics_each_signal_comes_with_its_line(examined):
    report = examined("vllm/traced-clean", [], begin("traced-clean"))
    told = [item for item in named(report, "missing_signal") if item.system == "vllm"]
    lines = {(item.subject, item.says): item.fix for item in told}
    kv = next(fix for (pool, says), fix in lines.items() if pool == "decode" and "kv_used_fraction" in says)
    assert "{job: vllm-decode, pool: decode, targets: ['HOST:PORT']}" in kv


def test_without_the_traced_connector_the_hand_off_is_missing(examined):
    report = examined("vllm/baseline", [], begin("baseline"))
    missing = {item.subject: item.fix for item in named(report, "missing_phase")}
    assert "collector.instrument.vllm_connector" in missing["kv_transfer"]


def test_with_the_traced_connector_the_hand_off_is_not_missing(examined):
    report = examined("vllm/traced-connector", [], begin("traced-connector"))
    assert "kv_transfer" not in {item.subject for item in named(report, "missing_phase")}


def test_the_routers_client_spans_end_late(examined):
    report = examined("vllm/fault-d-prefill-saturated", [], begin("fault-d-prefill-saturated"))
    assert any(item.subject.startswith("POST /v1/") for item in named(report, "span_ends_late"))


def test_hexadecimal_worker_ids_are_the_decimal_ones_of_requests(examined):
    run = "dynamo-1.6.1/baseline-bootstrap/metrics/dynamo-{0}.prom.gz"
    names = ("prefill-0", "prefill-1", "decode-0", "decode-1")
    metrics = [body for name in names for body in exports(run.format(name), f"{name}:1")]
    report = examined("dynamo/baseline-bootstrap", metrics, scrapes(run.format("prefill-0"))[0][0])
    asked = {row["worker"] for row in report.arrivals.request_workers}
    told = {item.worker for item in report.arrivals.signals if item.signal == "running"}
    assert len(asked) == 4
    assert asked <= told
    assert {item.pool for item in report.arrivals.signals if item.worker in asked} == {"prefill", "decode"}


def test_every_system_that_speaks_brings_its_known_lies(examined):
    pages = "dynamo-1.6.1/baseline-bootstrap/metrics/dynamo-frontend.prom.gz"
    report = examined("", exports(pages, "f:1"), scrapes(pages)[0][0])
    assert any("always 0 in bootstrap mode" in item.says for item in named(report, "known_lie"))


def test_a_decode_worker_that_stopped_answering_is_a_crash_in_the_diagnosis(examined, store):
    at = begin("traced-clean")
    who = [
        attribute(*pair)
        for pair in target(ADDRESSES["decode"], {"pool": "decode"}, "engines").resource.items()
    ]
    pages = vllm("traced-clean", "decode")
    last = scrapes(VLLM.format("traced-clean", "decode"))[-1][0]
    examined("vllm/traced-clean", [*pages, failed(who, last + 10**10, "no_connection")], at)
    found = diagnose(store, Scope(at - HOUR_NS // 2, at + HOUR_NS // 2), Objectives(), at + HOUR_NS)
    crash = next(item for item in found.findings if item.finding == "decode_crash")
    assert ADDRESSES["decode"] in crash.detail


def test_dynamos_hidden_prefill_queue_is_seen_in_flight_and_left_unexplained(examined, store):
    """queue_depth reads 0 while requests wait inside the prefill worker: no evidence against a queue."""
    pages = "dynamo-1.6.1/fault-prefill-saturated-workerqueue/metrics/dynamo-{0}.prom.gz"
    metrics = [
        body
        for name in ("frontend", "prefill-0", "decode-0", "decode-1")
        for body in exports(pages.format(name), f"{name}:1")
    ]
    at = scrapes(pages.format("frontend"))[0][0]
    report = examined("dynamo/fault-prefill-saturated-workerqueue", metrics, at)
    scope = Scope(at - HOUR_NS // 2, at + HOUR_NS // 2)

    found = diagnose(store, scope, Objectives().override(0.5, 1.0, None), at + HOUR_NS)

    assert {item.signal for item in report.arrivals.signals if item.pool == "prefill"} >= {"running"}
    assert any("queue inside the prefill worker" in item.says for item in named(report, "known_lie"))
    assert found.dominant in (Cause.INSUFFICIENT_EVIDENCE, Cause.PREFILL_STARVED)
    assert "prefill_queue" in {item.signal for item in found.missing}
