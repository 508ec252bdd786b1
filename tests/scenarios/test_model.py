"""What must hold of every run, whatever the deployment and the fault."""

from dataclasses import replace

import numpy as np
import pytest

from . import deployment
from .faults import KINDS
from .life import Life
from .model import Run, play
from .processes import Stage
from .scenario import Scenario, scenario
from .spec import NS, Mode, Spec
from .telemetry import exports

MODES = list(Mode)
CASES = [(name, mode) for name, fault in sorted(KINDS.items()) for mode in MODES if mode in fault.modes]


def healthy(seed: int, mode: Mode) -> Spec:
    return deployment.healthy(np.random.default_rng(seed), seed, mode)


def planted(name: str, seed: int = 3) -> Scenario:
    return scenario(seed, 1, "one", (name,))


def intervals(life: Life, phase: str) -> list[tuple[int, int]]:
    return [(i.start, i.end) for i in life.intervals if i.phase == phase]


def everything_is_given_back(run: Run) -> None:
    leaked = dict.fromkeys(range(len(run.prefill)), 0)
    for life in run.lives:
        if life.orphan == "leaked":
            leaked[life.prefill] += life.ask.prompt
    for worker in run.prefill:
        assert worker.kv_used == worker.pinned == leaked[worker.number]
        assert worker.not_ready == 0
        if not any(leaked.values()):
            assert worker.backlog_tokens == 0
    for decode in run.decode:
        assert (decode.kv_used, decode.kv_promised, decode.slots_used, decode.pending) == (0, 0, 0, 0)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_every_request_ends_once_and_nothing_stays_behind(name: str) -> None:
    run = planted(name).run
    assert all(life.outcome in ("ok", "cancelled", "timeout", "error") for life in run.lives)
    assert all(life.ended is not None and life.ended >= life.ask.arrival for life in run.lives)
    assert all(life.generated == life.ask.output for life in run.lives if life.outcome == "ok")
    everything_is_given_back(run)


@pytest.mark.parametrize(
    "name", ["little_kv", "starved_decode", "unclaimed", "never_filled", "long_documents"]
)
def test_no_worker_holds_more_than_it_has(name: str) -> None:
    run = planted(name).run
    for prefill in run.prefill:
        assert max(load.kv_used for load in prefill.log) <= prefill.spec.kv_tokens
        assert max(load.running for load in prefill.log) <= 1
    for decode in run.decode:
        assert max(load.kv_used for load in decode.log) <= decode.spec.kv_tokens
        assert max(load.running + load.waiting_kv for load in decode.log) <= decode.spec.slots


@pytest.mark.parametrize("mode", [Mode.SEQUENTIAL, Mode.PREALLOC, Mode.PARALLEL])
def test_phases_follow_each_other_and_add_up_to_ttft(mode: Mode) -> None:
    run = play(healthy(6, mode))
    handover = round(run.spec.router.handover_s * NS) if mode is Mode.SEQUENTIAL else 0
    for life in run.lives:
        if life.outcome != "ok":
            continue
        assert life.sent_first is not None
        chain = sorted((i.start, i.end) for i in life.intervals if i.phase not in ("decode", "decode_queue"))
        if mode is Mode.SEQUENTIAL:
            chain = sorted(chain + intervals(life, "decode_queue"))
        assert chain[0][0] == life.ask.arrival
        uncovered, reached = 0, life.ask.arrival
        for start, end in chain:
            uncovered += max(0, start - reached)
            assert start >= reached
            reached = end
        assert reached == life.sent_first
        covered = sum(end - start for start, end in chain)
        assert covered + uncovered == life.sent_first - life.ask.arrival
        if mode is Mode.PARALLEL:  # what decode still waited after the hand-off is in its queue
            (queue,) = intervals(life, "decode_queue")
            assert uncovered <= max(0, queue[1] - (life.published or 0))
        else:
            assert uncovered == handover


@pytest.mark.parametrize(
    "name", ["retries", "failed_loads", "little_kv", "never_filled", "work_for_the_gone"]
)
def test_intervals_lie_within_their_request_unless_nobody_told_the_worker(name: str) -> None:
    for life in planted(name).run.lives:
        assert life.ended is not None
        for interval in life.intervals:
            assert life.ask.arrival <= interval.start <= interval.end
            if life.outcome == "ok" and interval.attempt == life.attempt:
                assert interval.end <= life.ended


@pytest.mark.parametrize("kind", ["healthy", "one", "two"])
def test_the_same_seed_gives_the_same_bytes(kind: str) -> None:
    def bodies() -> list[bytes]:
        shown = scenario(11, 17, kind)
        return [export.body for export in exports(Stage(shown, 10**18, "same"))]

    assert bodies() == bodies()


def test_another_seed_gives_other_traffic() -> None:
    first, second = scenario(11, 17, "healthy"), scenario(12, 17, "healthy")
    assert [life.ask.arrival for life in first.run.lives] != [life.ask.arrival for life in second.run.lives]


@pytest.mark.parametrize("mode", MODES)
def test_littles_law_holds_for_decode(mode: Mode) -> None:
    """Time average of running requests from the log = arrivals per second × mean time each ran."""
    run = play(healthy(7, mode))
    area = 0
    for worker in run.decode:
        ends = [load.at for load in worker.log[1:]] + [run.end]
        area += sum(load.running * (end - load.at) for load, end in zip(worker.log, ends, strict=True))
    stayed = 0
    for life in run.lives:
        if life.outcome == "ok" and life.sampled_last is not None:
            began = life.joined if life.joined is not None else life.sampled_first
            stayed += life.sampled_last - (began or 0)
    assert area == pytest.approx(stayed, rel=0.01)


@pytest.mark.parametrize("seed", range(3))
def test_prefill_is_as_busy_as_its_traffic_asks_for(seed: int) -> None:
    spec = healthy(seed, Mode.SEQUENTIAL)
    spec = replace(spec, workload=replace(spec.workload, requests=1500, cancel_share=0.0))
    run = play(spec)
    busy = sum(worker.busy_ns for worker in run.prefill) / (run.end * len(run.prefill))
    assert busy == pytest.approx(deployment.prefill_utilisation(spec), rel=0.15)


@pytest.mark.parametrize("mode", MODES)
def test_a_healthy_deployment_meets_its_objective(mode: Mode) -> None:
    for seed in range(4):
        shown = scenario(seed, 0, "healthy")
        assert shown.truth.missed == []
        assert shown.truth.dominant == "none"
    run = play(healthy(8, mode))
    assert all(life.outcome in ("ok", "cancelled") for life in run.lives)


def test_a_model_that_does_not_end_is_an_error() -> None:
    from .loop import Loop

    loop = Loop()

    def again() -> None:
        loop.at(loop.now + 1, again)

    again()
    with pytest.raises(RuntimeError, match="still running after 1000 events"):
        loop.run(events_max=1000)
