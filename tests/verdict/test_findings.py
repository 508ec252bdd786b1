"""Each finding where it holds, and none where nothing does."""

import json
from collections.abc import Callable

import numpy as np
import pytest

from analyzer.signals import HistogramSummary, Increase
from analyzer.verdict.attribution import attribute
from analyzer.verdict.findings import find
from analyzer.verdict.gauge_checks import mean_transfer_s
from analyzer.verdict.late_reads import presumed_late
from analyzer.verdict.load import LastTransfers, Silent
from analyzer.verdict.quantities import quantities
from analyzer.verdict.tables import ClockOffset, Freed, Outcome, Status
from tests.paths import SHARED
from tests.verdict.build import HEALTHY, World, healthy


def found(world: World) -> dict[str, str]:
    """What each finding says, by its name."""
    with np.errstate(divide="ignore", invalid="ignore"):
        s = world.situation()
        return {item.finding: item.detail for item in find(s, attribute(s))}


def histogram(
    metric: str, pool: str, count: int, total: float, bounds: tuple[float, ...], buckets: tuple[int, ...]
) -> HistogramSummary:
    return HistogramSummary(
        pool, "w", "m", metric, "s" if metric.endswith("_seconds") else "", count, total, bounds, buckets, 0
    )


def increase(signal: str, worker: str, value: float, part: str = "") -> Increase:
    return Increase("decode", worker, "m", signal, part, signal, value, 60.0, 0, 0, 0, 0)


def late_reads(world: World) -> None:
    row = world.request(300, HEALTHY | {"decode_queue": 40.0})
    world.hand_off(
        row,
        published=300.33,
        lease_end=330.33,
        asked=340.0,
        moved=341.0,
        freed=330.34,
        expired=330.34,
        freed_why=Freed.EXPIRED,
    )


def held_for_ever(world: World) -> None:
    row = world.request(10, {"prefill_compute": 0.3}, outcome=Outcome.CANCELLED, account=2, lasted=1.0)
    world.hand_off(row, published=10.3, lease_end=40.3)


def failed(world: World) -> None:
    row = world.request(10, HEALTHY, local_prompt_tokens=1000.0)
    world.hand_off(row, published=10.3, asked=10.3, moved=11.0, status=Status.FAILED)


def sent_again(world: World) -> None:
    row = world.request(10, HEALTHY)
    world.hand_off(row, published=10.3, asked=10.3, moved=10.4, status=Status.OK, already_held_tokens=800.0)


def no_transfers(world: World) -> None:
    world.rows.clear()
    world.hand_offs.clear()
    for number in range(30):
        world.request(number, {p: d for p, d in HEALTHY.items() if p != "kv_transfer"})


def decode_down(world: World) -> None:
    world.gauge("up", "decode-0", [(0.0, 1.0), (100.0, 1.0), (110.0, 0.0), (300.0, 0.0)])


def stuck(world: World) -> None:
    world.request(10, {"router_queue": 0.01, "prefill_queue": 300.0}, outcome=Outcome.TIMEOUT, tpot=None)


def slow_pairs(world: World) -> None:
    for number in range(64):
        pre, dec = f"prefill-{number % 4}", f"decode-{number // 4 % 4}"
        took = 0.2 if number % 4 == number // 4 % 4 else 0.09
        for again in range(6):
            start = 5.0 * number + 0.5 * again
            row = world.request(start, HEALTHY | {"kv_transfer": took}, prefill_worker=pre, decode_worker=dec)
            world.hand_off(
                row,
                published=start,
                asked=start,
                moved=start + took,
                imported=start + took,
                status=Status.OK,
                producer=pre,
                consumer=dec,
            )


def one_of_three(world: World, prompt: float = 1000.0) -> None:
    """Requests over three decode workers, with time that nothing covers on one of them."""
    for number in range(60):
        slow = number % 3 == 1
        first = 3.0 if slow else 0.3
        world.request(
            5.0 * number,
            {"router_queue": 0.01},
            first_token=first,
            decode_worker=f"decode-{number % 3}",
            input_tokens=prompt if slow else 1000.0,
        )


def sides_differ(world: World) -> None:
    world.worker("prefill-0", agreed={"kv_dtype": "fp8"})
    world.worker("decode-0", agreed={"kv_dtype": "bf16"})


def renamed(world: World) -> None:
    row = world.request(10, HEALTHY)
    world.hand_off(row, published=10.3, freed=11.0, freed_why=Freed.ABORTED)
    world.hand_off(row, asked=10.4, moved=10.5, imported=10.5, status=Status.OK)


def one_id(world: World) -> None:
    for _ in range(2):
        world.request(10, HEALTHY, request_id="same")


def gap(world: World) -> None:
    for number in range(10):
        world.request(number, spans={"prefill_compute": (0, 0.3), "first_decode_step": (3.0, 3.02)})


def masked(world: World) -> None:
    for number in range(5):
        world.request(number, HEALTHY, masked=True, answered=False, account=1)


def storm(world: World) -> None:
    for number in range(40):
        world.request(
            90 + number / 10, {"router_queue": 0.01}, outcome=Outcome.CANCELLED, account=2, lasted=1.0
        )


def engine_ttft(world: World) -> None:
    world.histograms.append(
        histogram("vllm:time_to_first_token_seconds", "prefill", 100, 5.0, (1.0,), (100, 0))
    )


def blind_queue(world: World) -> None:
    for number in range(100):
        world.request(300 + number / 10, HEALTHY | {"prefill_queue": 20.0})
    world.gauge("queue_depth", "prefill-0", [(float(at), 0.0) for at in range(300, 330, 2)])


def wrong_work(world: World) -> None:
    world.increases.append(increase("prompt_tokens_total", "decode-0", 5e5))


def impossible(world: World) -> None:
    for row in world.hand_offs:
        row["link_gb_s"] = 50.0
    world.histograms.append(
        histogram("sglang:kv_transfer_speed_gb_s", "prefill", 100, 11000.0, (500.0,), (100, 0))
    )


def other_window(world: World) -> None:
    world.histograms.append(
        histogram("sglang:kv_transfer_latency_ms", "prefill", 100, 40.0, (50.0,), (100, 0))
    )


def saturated(world: World) -> None:
    world.histograms.append(histogram("vllm:nixl_xfer_time_seconds", "decode", 100, 2.0, (0.005,), (3, 97)))


def idle_prefill(world: World) -> None:
    for number in range(20):
        world.request(300 + number, HEALTHY | {"decode_queue": 8.0})
    world.steady("kv_used_fraction", "decode-0", 0.98)
    world.steady("kv_used_fraction", "prefill-0", 0.1)


def gated(world: World) -> None:
    for number in range(40):
        world.request(
            number,
            spans={
                "decode_queue": (0.0, 1.0),
                "prefill_queue": (0.0, 1.0),
                "prefill_compute": (1.0, 1.3),
                "first_decode_step": (1.3, 1.32),
            },
        )


def drift(world: World) -> None:
    world.rows.clear()
    world.hand_offs.clear()
    for number in range(200):
        world.request(number, HEALTHY | {"prefill_compute": 0.1 if number < 90 else 0.3})


def dead(world: World) -> None:
    world.silent.append(Silent("sglang:kv_transfer_speed_gb_s", "prefill-0", 60))


def skewed(world: World) -> None:
    world.clocks.append(ClockOffset("prefill-0", 0, 5_000_000_000, 4_900_000_000, 5_100_000_000, False))


def nested_oddly(world: World) -> None:
    world.nesting = (200, 200)


CASES: dict[str, Callable[[World], None]] = {
    "stale_kv_read_risk": late_reads,
    "lease_too_short": late_reads,
    "lease_not_enforced": held_for_ever,
    "failed_transfers": failed,
    "redundant_transfer": sent_again,
    "no_transfers_observed": no_transfers,
    "decode_crash": decode_down,
    "no_progress_while_healthy": stuck,
    "path_specific": slow_pairs,
    "compatibility_mismatch": sides_differ,
    "id_mismatch": renamed,
    "request_id_collision": one_id,
    "unattributed_gap": gap,
    "success_status_masks_failure": masked,
    "router_span_unreliable": masked,
    "abort_storm": storm,
    "ttft_definition_mismatch": engine_ttft,
    "metric_blind_spot": blind_queue,
    "metric_counts_wrong_work": wrong_work,
    "impossible_rate": impossible,
    "metric_window_mismatch": other_window,
    "histogram_saturated": saturated,
    "idle_pool": idle_prefill,
    "prealloc_backpressure": gated,
    "baseline_drift": drift,
    "metric_dead": dead,
    "clock_skew": skewed,
    "span_nesting_quirk": nested_oddly,
}


def test_room_made_after_a_short_prompt_that_waited_long_did_not_gate_it() -> None:
    world = World()
    for number in range(40):
        world.request(number, HEALTHY | {"prefill_queue": 4.0, "prefill_compute": 0.1, "decode_queue": 0.02})
    assert "prealloc_backpressure" not in found(world)


def test_a_worker_too_busy_to_answer_that_ends_what_it_had_begun_did_not_crash() -> None:
    """Seen live: a page that did not come in time, on a machine with more to do than it could."""
    world = World()
    healthy(world)
    decode_down(world)
    for end in (112.0, 250.0, 310.0):
        world.request(105.0, HEALTHY, lasted=end - 105.0)

    assert "decode_crash" not in found(world)


def test_a_queue_that_spans_do_not_tell_of_is_no_blind_spot_of_its_gauge() -> None:
    """vLLM without a traced connector bounds decode's wait: who waited there is not known by the spans."""
    world = World()
    for number in range(30):
        world.request(10.0 * number, {"prefill_compute": 0.3})
    world.steady("queue_depth", "decode-0", 6.0)

    assert "metric_blind_spot" not in found(world)


@pytest.mark.parametrize(
    ("producer", "consumer", "differ"),
    [
        (("14", "0.32.0"), (None, "0.32.0"), False),
        (("14", "0.32.0"), (None, "0.33.0"), True),
        (("14", "0.32.0"), ("14", "0.33.0"), False),
        (("14", "0.32.0"), ("15", "0.32.0"), True),
    ],
)
def test_releases_of_engines_count_where_their_connectors_do_not_both_tell_a_version(
    producer: tuple[str, str], consumer: tuple[str | None, str], differ: bool
) -> None:
    """Seen live: vLLM's page told its release where the traced connector of the other side told a number."""
    world = World()
    world.request(10, HEALTHY)
    for name, told in (("prefill-0", producer), ("decode-0", consumer)):
        both = zip(("connector_version", "engine_version"), told, strict=True)
        world.worker(name, agreed={key: value for key, value in both if value})
    assert ("compatibility_mismatch" in found(world)) is differ


def test_misses_that_nothing_explains_on_one_worker_name_it() -> None:
    world = World()
    one_of_three(world)

    assert found(world)["path_specific"] == (
        "20 of 20 requests missed on decode decode-1, while 40 on the other decode workers met"
    )


def test_a_worker_that_is_sent_the_long_prompts_is_not_named_for_them() -> None:
    world = World()
    one_of_three(world, prompt=30_000.0)

    assert "path_specific" not in found(world)


def test_time_within_phases_that_spans_time_as_one_is_no_gap() -> None:
    world = World()
    for number in range(20):
        row = world.request(5.0 * number, {"router_queue": 0.01}, first_token=3.0)
        world.rows[row] |= {"composite": 2.95, "within": 4}

    assert "unattributed_gap" not in found(world)


@pytest.mark.parametrize("name", CASES)
def test_a_finding_is_made_where_it_holds(name: str) -> None:
    world = World()
    healthy(world)
    CASES[name](world)
    assert name in found(world)


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("late_spans", "late_spans"),
        ("duplicate_records", "duplicate_spans"),
        ("trace_split", "joined_by_id"),
        ("impossible_duration", "impossible"),
    ],
)
def test_what_assembly_noted_is_reported(name: str, column: str) -> None:
    world = World()
    healthy(world)
    world.rows[3][column] = 1
    assert name in found(world)


def test_every_finding_of_the_vocabulary_is_shown_here() -> None:
    noted = {"late_spans", "duplicate_records", "trace_split", "impossible_duration"}
    listed = json.loads((SHARED / "design/vocabulary.json").read_text())["findings"]
    assert {*CASES, *noted} == set(listed)


def test_a_healthy_window_has_no_findings() -> None:
    world = World()
    healthy(world)
    for signal, value in (("kv_used_fraction", 0.4), ("running", 1.0)):
        world.steady(signal, "decode-0", value)
    assert found(world) == {}


def test_reads_after_the_lease_that_only_prefill_counts_are_a_risk_all_the_same() -> None:
    world = World()
    healthy(world)
    world.increases.append(increase("late_kv_reads_total", "prefill-0", 17.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        s = world.situation()
        risk = next(item for item in find(s, attribute(s)) if item.finding == "stale_kv_read_risk")
    assert (risk.severity, risk.requests) == ("critical", None)
    assert "17 reads" in risk.detail


@pytest.mark.parametrize("signal", ["late_kv_reads_total", "kv_expired_total"])
def test_late_reads_that_prefill_counts_are_named_by_the_usual_lease_where_no_span_tells_one(
    signal: str,
) -> None:
    world = World()
    healthy(world)
    late = world.request(300, HEALTHY | {"decode_queue": 40.0})
    world.request(310, HEALTHY | {"decode_queue": 20.0})
    world.request(320, HEALTHY | {"decode_queue": 40.0}, local_prompt_tokens=1000.0)
    told = world.request(330, HEALTHY | {"decode_queue": 40.0})
    world.hand_off(told, published=330.33, lease_end=400.0, asked=370.0, moved=370.1)
    world.usual_lease = {1: 30.0}
    with np.errstate(divide="ignore", invalid="ignore"):
        assert not len(presumed_late(world.situation()).request)
        world.increases.append(increase(signal, "prefill-0", 1.0))
        s = world.situation()
        risk = next(item for item in find(s, attribute(s)) if item.finding == "stale_kv_read_risk")
    assert presumed_late(s).request.tolist() == [late]
    assert (risk.severity, risk.requests) == ("critical", 1)
    assert [(item.signal, item.source) for item in risk.evidence][1] == ("usual_lease", "supplied")


def of_the_last_transfer(metric: str, mean: float, high: float) -> World:
    world = World()
    healthy(world)
    for row in world.hand_offs:
        row["link_gb_s"] = 50.0
    world.last_transfers.append(LastTransfers(metric, "", 60, mean, high))
    return world


def test_a_histogram_that_has_yet_to_count_the_last_transfers_is_not_held_against_the_spans() -> None:
    """Seen live: those that a standing worker held up ended after the last reading of the window."""
    world = World()
    healthy(world)
    world.histograms.append(
        histogram("vllm:nixl_xfer_time_seconds", "decode", 25, 25 * 0.002, (0.005,), (25, 0))
    )
    assert "metric_window_mismatch" not in found(world)


def test_a_gauge_of_the_last_transfer_is_held_against_the_spans_as_a_histogram_is() -> None:
    told = of_the_last_transfer("sglang:kv_transfer_latency_ms", 0.4, 0.5)
    assert "metric_window_mismatch" in found(told)
    with np.errstate(divide="ignore", invalid="ignore"):
        s = told.situation()
        ratio = quantities(s)["reported_over_true_ratio"]["sglang:kv_transfer_latency_ms"]
        assert ratio == pytest.approx(0.0004 / mean_transfer_s(s))


def test_one_reading_above_the_line_is_as_impossible_as_an_average_above_it() -> None:
    speed = "sglang:kv_transfer_speed_gb_s"
    assert "impossible_rate" in found(of_the_last_transfer(speed, 20.0, 300.0))
    assert "impossible_rate" not in found(of_the_last_transfer(speed, 20.0, 49.0))


def test_a_third_of_a_histogram_above_the_line_is_impossible_whatever_its_mean() -> None:
    world = of_the_last_transfer("sglang:kv_transfer_speed_gb_s", 20.0, 20.0)
    speeds = histogram("sglang:kv_transfer_speed_gb_s", "prefill", 90, 2700.0, (25.0, 60.0), (60, 0, 30))
    world.histograms.append(speeds)
    assert "impossible_rate" in found(world)


@pytest.mark.parametrize(("counted", "wrong"), [(12_000.0, False), (500_000.0, True)])
def test_a_counter_of_decode_is_held_against_the_prompts_that_it_computed(
    counted: float, wrong: bool
) -> None:
    world = World()
    healthy(world)
    for number in range(10):
        world.request(300 + number, HEALTHY, local_prompt_tokens=1000.0)
    world.increases.append(increase("prompt_tokens_total", "decode-0", counted))
    assert ("metric_counts_wrong_work" in found(world)) is wrong


@pytest.mark.parametrize(("signal", "reading", "dead"), [("running", 0.0, True), ("running", 4.0, False)])
def test_a_gauge_of_decode_that_stands_at_nought_beside_streams_is_dead(
    signal: str, reading: float, dead: bool
) -> None:
    world = World()
    for number in range(200):
        world.request(3.0 * number, HEALTHY, tpot=0.04, output=500)
    world.steady(signal, "decode-0", reading)
    assert ("metric_dead" in found(world)) is dead


@pytest.mark.parametrize(("prompt", "dead"), [(8000.0, True), (300.0, False)])
def test_a_cache_gauge_at_nought_is_dead_where_streams_hold_what_no_rounding_hides(
    prompt: float, dead: bool
) -> None:
    world = World()
    for number in range(200):
        world.request(3.0 * number, HEALTHY, tpot=0.04, output=500, input_tokens=prompt)
    world.steady("kv_used_fraction", "decode-0", 0.0)
    assert ("metric_dead" in found(world)) is dead


@pytest.mark.parametrize(("jumped", "unreliable"), [(False, True), (True, False)])
def test_streams_that_end_late_by_a_clock_that_jumped_say_nothing_of_the_router(
    jumped: bool, unreliable: bool
) -> None:
    world = World()
    for number in range(40):
        world.request(5.0 * number, HEALTHY, spans={"decode": (3.4, 5.4)}, lasted=2.4)
    world.clocks.append(ClockOffset("decode-0", 0, 0, -(10**9), 10**9, jumped))
    assert ("router_span_unreliable" in found(world)) is unreliable


def test_a_transfer_metric_is_dead_where_only_the_workers_tell_that_hand_offs_took_place() -> None:
    world = World()
    for number in range(40):
        world.request(3.0 * number, {name: took for name, took in HEALTHY.items() if name != "kv_transfer"})
    world.silent.append(Silent("sglang:kv_transfer_speed_gb_s", "prefill-0", 60))
    assert "metric_dead" in found(world)


@pytest.mark.parametrize(
    ("skew", "gap", "late"), [(False, 0.05, False), (True, 0.05, True), (True, 3.0, False)]
)
def test_a_lease_that_ended_unread_by_a_clock_set_right_was_read_after_it_within_that_clocks_doubt(
    skew: bool, gap: float, late: bool
) -> None:
    world = World()
    healthy(world)
    row = world.request(300, HEALTHY)
    expired = 300.4 + gap
    world.hand_off(
        row,
        published=300.33,
        asked=300.35,
        moved=300.4,
        freed=expired,
        expired=expired,
        freed_why=Freed.EXPIRED,
    )
    if skew:
        skewed(world)
    assert ("stale_kv_read_risk" in found(world)) is late
