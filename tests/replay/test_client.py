"""The open-loop client against a real streaming endpoint."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Any

import pytest
import uvloop

from analyzer.plan.outcome import Objective
from analyzer.replay.calibrate import calibrate
from analyzer.replay.client import COMPLETIONS, Pace, Replayer, Run, Target
from analyzer.replay.errors import BadReplay
from analyzer.replay.prompts import Lengths
from analyzer.replay.report import benchmark
from analyzer.replay.schedule import Planned, Schedule
from tests.replay.endpoint import Endpoint, listening

WORDS = Lengths(False, how="one word a token")
PACE = Pace()


def schedule(*planned: tuple[float, int, int]) -> Schedule:
    rows = [Planned(k, at, prompt, output) for k, (at, prompt, output) in enumerate(planned)]
    return Schedule("azure", "t.csv", "0" * 64, 0, rows)


def replayed(
    endpoint: Endpoint, given: Schedule, pace: Pace = PACE, stop_after_s: float | None = None, **target: Any
) -> Run:
    async def run() -> Run:
        async with listening(endpoint) as address:
            replayer = Replayer(Target(address, "m", **target), WORDS, pace, seed=1)
            if stop_after_s is not None:
                asyncio.get_running_loop().call_later(stop_after_s, replayer.stop)
            return await replayer.run(given, lambda *_: None)

    return uvloop.run(run())


def receipt(given: Schedule, run: Run, pace: Pace = PACE) -> dict[str, Any]:
    now = datetime(2026, 1, 31, tzinfo=UTC)
    said = {"cohort": None, "layout": None}
    return benchmark(
        given, run, Target("http://u:p@h:1", "m"), WORDS, pace, Objective(60, 60), said, now, now
    )


def test_a_slow_answer_does_not_hold_up_the_next_arrival() -> None:
    endpoint = Endpoint(prefill_s=0.3)

    run = replayed(endpoint, schedule((0.0, 4, 2), (0.05, 1, 2), (0.1, 1, 2)))

    assert endpoint.most == 3
    assert endpoint.at == sorted(endpoint.at)
    assert [item.outcome for item in run.sent] == ["ok"] * 3
    assert run.most_in_flight == 3


def test_arrivals_are_never_early_and_lag_is_what_they_were_late() -> None:
    endpoint = Endpoint()
    before = time.monotonic()

    run = replayed(endpoint, schedule((0.0, 1, 2), (0.6, 1, 2)), Pace(speed=2.0))

    assert endpoint.at[1] - before >= 0.3
    assert all(item.lag_s >= 0 for item in run.sent)


def test_the_limit_of_requests_under_way_is_kept_and_said() -> None:
    endpoint = Endpoint(prefill_s=0.1)
    given = schedule(*[(0.0, 4, 2)] * 5)

    run = replayed(endpoint, given, Pace(concurrency=2))

    assert endpoint.most <= 2
    assert run.held_back > 0
    made = receipt(given, run, Pace(concurrency=2))
    assert made["client"]["kept_up"] is False
    assert f"{run.held_back} requests waited for the limit of 2" in made["client"]["statement"]


def test_stopping_keeps_what_was_seen_and_says_that_it_is_partial() -> None:
    given = schedule((0.0, 1, 2), (60.0, 1, 2), (90.0, 1, 2))

    run = replayed(Endpoint(), given, stop_after_s=1.0)

    made = receipt(given, run)
    assert run.stopped
    assert made["complete"] is False
    assert made["why_incomplete"] == "stopped by the user; 2 of 3 requests have no result"


def test_figures_are_the_clients_and_failures_are_counted_apart() -> None:
    given = schedule((0.0, 1, 5), (0.01, 1, 3))

    fine, refused = (
        receipt(given, replayed(Endpoint(), given)),
        receipt(given, replayed(Endpoint(status=429), given)),
    )

    assert fine["figures"]["answered"] == fine["figures"]["met_count"] == 2
    assert fine["figures"]["output_tokens_by"] == "usage"
    assert 0 < fine["figures"]["ttft50_s"] < 60
    assert refused["figures"]["failed"] == {"rejected": 2}
    assert refused["figures"]["ttft50_s"] is None
    assert fine["target"]["url"] == "http://h:1"


def test_without_usage_chunks_are_counted_and_said() -> None:
    given = schedule((0.0, 1, 5))

    made = receipt(given, replayed(Endpoint(tells=False), given))

    assert made["figures"]["output_tokens_by"] == "chunks"
    assert made["lengths"]["told_mean"] is None


def test_engines_are_asked_for_exactly_the_outputs_of_the_trace_unless_told_otherwise() -> None:
    forced, free = Endpoint(), Endpoint()

    replayed(forced, schedule((0.0, 3, 7)))
    replayed(free, schedule((0.0, 3, 7)), force_output=False)

    assert {name: forced.bodies[0][name] for name in ("max_tokens", "min_tokens", "ignore_eos")} == {
        "max_tokens": 7, "min_tokens": 7, "ignore_eos": True,
    }  # fmt: skip
    assert "ignore_eos" not in free.bodies[0]
    assert "min_tokens" not in free.bodies[0]


def lengths_of(endpoint: Endpoint, ids: bool = False, path: str = COMPLETIONS) -> Lengths:
    async def run() -> Lengths:
        async with listening(endpoint) as address:
            return await calibrate(Target(address, "m", path), ids, seed=1)

    return uvloop.run(run())


def test_tokens_per_word_are_measured_against_the_endpoint() -> None:
    found = lengths_of(Endpoint())

    assert 1 / found.words_per_token == pytest.approx(1.3, rel=0.01)
    assert found.overhead_tokens == pytest.approx(9, abs=1)
    assert "two probes of 64 and 512 words" in found.how


def test_an_endpoint_that_tells_nothing_gets_a_word_for_a_token_and_that_is_said() -> None:
    found = lengths_of(Endpoint(tells=False))

    assert found.words_per_token == 1.0
    assert "does not tell prompt_tokens" in found.how


def test_ids_are_exact_and_need_the_completions_path() -> None:
    assert lengths_of(Endpoint(), ids=True).how == "token ids are sent, so that lengths are exact"
    with pytest.raises(BadReplay, match="needs /v1/completions"):
        lengths_of(Endpoint(), ids=True, path="/v1/chat/completions")


def test_a_success_without_a_token_is_no_answer() -> None:
    given = schedule((0.0, 10, 0))
    run = replayed(Endpoint(tells=False), given)
    assert [item.outcome for item in run.sent] == ["error"]


def test_an_endpoint_that_refuses_the_probe_stops_the_replay_with_a_reason() -> None:
    with pytest.raises(BadReplay, match=r"a probe of 64 tokens ended as invalid.*--model"):
        lengths_of(Endpoint(status=404))
