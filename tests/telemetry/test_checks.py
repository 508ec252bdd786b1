"""Single checks on what a test sends."""

import pytest

from analyzer.assemble.assembler import Assembler
from collector.receive.commit import commit
from collector.scrape.health import answered, failed, left
from collector.scrape.page import attribute
from collector.scrape.target import target
from tests.engines.emitter import T0, Emitter, caller
from tests.engines.test_tap_before_router import router, tap
from tests.signals.otlp import body, buckets, counter, gauge, histogram, ns, number
from tests.telemetry.conftest import named


def who(address, pool="decode"):
    return [attribute(*pair) for pair in target(address, {"pool": pool}, "engines").resource.items()]


def test_a_worker_that_stopped_answering_is_down_since_then_and_says_why(examined):
    sent = [answered(who("d:1"), ns(0)), answered(who("d:1"), ns(10)), failed(who("d:1"), ns(20), "timeout")]
    report = examined("", [*sent, failed(who("d:1"), ns(30), "timeout")], ns(0))
    (down,) = named(report, "worker_down")
    assert (down.severity, down.subject) == ("critical", "d:1")
    assert "timeout_s" in down.fix
    (worker,) = report.arrivals.scraped
    assert (worker.up, worker.since_ns, worker.last_ns, worker.changes) == (False, ns(20), ns(30), 1)
    assert not report.well


def test_a_worker_that_left_is_not_down(examined):
    report = examined("", [answered(who("d:1"), ns(0)), left(who("d:1"), ns(10), "removed", False)], ns(0))
    assert named(report, "worker_down") == []
    (gone,) = named(report, "worker_left")
    assert gone.severity == "info"
    assert report.arrivals.scraped[0].left_ns == ns(10)


def test_a_worker_that_came_back_after_it_left_is_there(examined):
    sent = [left(who("d:1"), ns(10), "deleted", True), answered(who("d:1"), ns(20))]
    report = examined("", sent, ns(0))
    assert named(report, "worker_left") == named(report, "worker_down") == []


def test_a_metric_that_changed_its_kind_is_named(examined):
    name = "sglang:kv_transfer_latency_ms"
    sent = [
        body("d:1", gauge(name, number(0, 4.0))),
        body("d:1", histogram(name, buckets(10, [1.0], [1, 1], 9.0))),
    ]
    (changed,) = named(examined("", sent, ns(0)), "metric_changed_kind")
    assert changed.subject == name
    assert "now as histogram" in changed.says


def test_buckets_that_changed_are_named(examined):
    name = "vllm:time_to_first_token_seconds"
    sent = [
        body("d:1", histogram(name, buckets(at, bounds, [1] * (len(bounds) + 1), 9.0)))
        for at, bounds in ((0, [1.0]), (10, [1.0, 2.0]))
    ]
    (changed,) = named(examined("", sent, ns(0)), "buckets_changed")
    assert changed.subject == name


def test_both_sides_that_tell_different_fingerprints_are_named(examined):
    sent = []
    for name, pool, size in (("p:1", "prefill", "16"), ("d:1", "decode", "32")):
        info = gauge("vllm:cache_config_info", number(0, 1.0, block_size=size, cache_dtype="auto"))
        running = gauge("vllm:num_requests_running", number(0, 1.0))
        sent.append(body(name, info, running, pd_pool=pool))
    report = examined("", sent, ns(0))
    (apart,) = named(report, "fingerprints_differ")
    assert apart.says == "prefill says block_size is 16, decode says 32"
    assert named(report, "fingerprint_unknown") == []


@pytest.mark.parametrize("pool", ["prefill", "decode"])
def test_a_counter_of_the_other_pool_is_not_dead(examined, pool):
    sent = [
        body(
            "w:1",
            counter("vllm:prompt_tokens_total", number(at, 10.0 * at, start=-100)),
            counter("vllm:nixl_num_failed_transfers_total", number(at, 0.0, start=-100)),
            counter("vllm:generation_tokens_total", number(at, 0.0, start=-100)),
            pd_pool=pool,
        )
        for at in range(0, 60, 10)
    ]
    dead = {item.says.split()[0] for item in named(examined("", sent, ns(0)), "metric_dead")}
    assert dead == {"vllm:generation_tokens_total"}


def test_an_empty_store_says_that_nothing_arrives(examined):
    report = examined("", [], ns(0))
    assert [item.check for item in report.checks if item.severity == "critical"] == ["no_request_traces"]


def test_legs_of_no_request_are_counted_and_named(examined, store):
    """Read by the rules, claimed by nobody: kept, and said."""
    out = Emitter()
    for nth in range(4):
        told = {"phase": "Prefill", "request_id": f"u-{nth}", "worker_id": "7"}
        parent = caller(70 + nth)
        if nth == 3:
            about = {"request_id": "u-3", "uri": "/v1/completions", "request.outcome": "success"}
            parent = out.span("dynamo-frontend", "http-request", 120_000, 120_100, about, parent=parent)
        at = 40_000 * nth
        out.span("dynamo-frontend", "kv_router.route_request", at, at + 9, told, parent=parent)
    commit(store, [out.body()])
    Assembler(store).catch_up()

    (found,) = named(examined("", [], T0), "legs_without_request")

    assert (found.system, found.severity) == ("dynamo", "warning")
    assert found.says.startswith("2 traces of 2 spans belong to no request, such as ")


@pytest.mark.parametrize(("names", "apart"), [(("mine", "mine"), 2), (("one", "two"), 0)])
def test_requests_at_a_tap_whose_router_can_not_be_told_apart_are_counted(store, examined, names, apart):
    out = Emitter()
    for place, name in enumerate(names):
        tap(out, place * 10, name)
        router(out, place * 10, name, place + 1)
    commit(store, [out.body()])
    Assembler(store).catch_up()
    found = named(examined("", [], T0), "tap_and_router_apart")
    assert [(check.system, check.says.split()[0]) for check in found] == (
        [("smg", str(apart))] if apart else []
    )
