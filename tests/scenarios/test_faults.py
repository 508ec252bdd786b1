"""Each fault does what its name says, and causes misses only through that."""

from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from tests.paths import SHARED

from . import deployment
from .faults import KINDS, Fault
from .life import Life
from .model import Run, play
from .scenario import Scenario, compatible, scenario
from .spec import NS, Decode, Mode, Objective, Prefill, Spec
from .truth import met

SEEDS = (21, 22, 23)
# what grows most when the fault is planted: a phase of TTFT, or of the time after it
MOVES = {
    "starved_prefill": {"prefill_queue"},
    "starved_decode": {"decode_queue", "prefill_queue"},  # prealloc: prefill is gated by decode's allocation
    "crowded_decode": {"decode"},
    "overload": {"prefill_queue", "decode_queue"},
    "hot_prefill": {"prefill_queue"},
    "hot_decode": {"decode_queue", "prefill_queue"},
    "long_prompts": {"prefill_compute"},
    "slow_steps": {"decode"},
    "slow_link": {"kv_transfer"},
    "slow_pairs": {"kv_transfer"},
    "contention": {"kv_transfer"},
    "small_blocks": {"kv_transfer"},
    "tcp_fallback": {"kv_transfer"},
    "redundant_prefix": {"kv_transfer"},
    "failed_loads": {"decode", "first_decode_step"},
    "slow_handover": {"kv_publish", "gap", "decode_queue"},  # parallel: decode waits meanwhile
    "unclaimed": {"prefill_queue"},
    "leaked": {"prefill_queue"},
    "short_lease": {"decode", "decode_queue", "first_decode_step", "failed"},
    "never_filled": {"decode_queue", "prefill_queue"},
    "little_kv": {"decode", "decode_queue"},  # whoever lost its blocks is served first
    "long_documents": {"decode"},
    "router_queue": {"router_queue"},
    "slow_tokenizer": {"tokenize"},
    "work_for_the_gone": {"prefill_queue"},
    "retries": {"prefill_queue", "attempts"},
    "cold_start": {"prefill_queue", "prefill_compute", "first_decode_step", "kv_transfer", "kv_import"},
    "slow_writer": {"network_streaming", "after_decode"},
    "slow_readers": {"after_decode", "network_streaming"},
}


AFTER_FIRST_TOKEN = ("decode", "after_decode", "network_streaming")


class Comparison(NamedTuple):
    """A scenario's run with its fault and the one without."""

    shown: Scenario
    fault: Fault
    faulty: Run
    clean: Run


@cache
def compare(name: str, seed: int) -> Comparison:
    shown = scenario(seed, 1, "one", (name,))
    return Comparison(shown, KINDS[name], shown.run, shown.truth.runs[frozenset()])


def seconds(life: Life) -> dict[str, float]:
    """Time by phase, and what no phase holds."""
    out: dict[str, float] = {}
    for interval in life.intervals:
        out[interval.phase] = out.get(interval.phase, 0.0) + (interval.end - interval.start) / NS
    if life.sent_last is not None and life.sampled_last is not None:
        out["after_decode"] = (life.sent_last - life.sampled_last) / NS
    if life.published is not None and life.decode_has_it is not None:
        out["gap"] = max(0, life.decode_has_it - life.published) / NS
    out["attempts"] = float(life.attempt - 1)
    out["failed"] = float(life.outcome == "error")
    return out


def grown(c: Comparison) -> str:
    """The phase whose mean over the misses grew most."""
    total: dict[str, float] = {}
    for faulty, clean in zip(c.faulty.lives, c.clean.lives, strict=True):
        if met(faulty, c.shown.truth.objective) is False:
            before, in_time = seconds(clean), (faulty.ttft_s() or 0.0) <= c.shown.truth.objective.ttft
            for phase, now in seconds(faulty).items():
                if phase in AFTER_FIRST_TOKEN or not (in_time and faulty.outcome == "ok"):
                    total[phase] = total.get(phase, 0.0) + now - before.get(phase, 0.0)
    return max(total, key=lambda phase: total[phase])


def test_every_kind_of_fault_is_checked_for_what_it_moves() -> None:
    assert set(MOVES) == set(KINDS)


def test_every_cause_is_in_the_vocabulary() -> None:
    import json

    vocabulary = json.loads((SHARED / "design" / "vocabulary.json").read_text())
    assert {fault.cause for fault in KINDS.values()} <= set(vocabulary["causes"])


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_fault_causes_misses_and_only_through_itself(name: str) -> None:
    for seed in SEEDS:
        c = compare(name, seed)
        truth = c.shown.truth
        assert len(truth.missed) >= 0.04 * truth.evaluated, (name, seed)
        assert not [life for life in c.clean.lives if met(life, truth.objective) is False]
        assert truth.dominant == c.fault.cause
        assert truth.shares[c.fault.cause] > 0.5


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_fault_moves_what_it_should(name: str) -> None:
    for seed in SEEDS:
        assert grown(compare(name, seed)) in MOVES[name], (name, seed)


@pytest.mark.parametrize("name", sorted(set(KINDS) - {"long_prompts", "long_documents", "overload"}))
def test_a_fault_of_the_system_leaves_what_clients_ask_for_alone(name: str) -> None:
    c = compare(name, SEEDS[0])
    assert [life.ask for life in c.faulty.lives] == [life.ask for life in c.clean.lives]


UPSTREAM = ("router_queue", "tokenize", "prefill_queue", "prefill_compute", "kv_publish")


@pytest.mark.parametrize(
    "name",
    ["slow_link", "slow_pairs", "contention", "small_blocks", "tcp_fallback", "slow_steps", "starved_decode"],
)
@pytest.mark.parametrize("mode", [Mode.SEQUENTIAL, Mode.PARALLEL])
def test_without_the_fault_everything_upstream_of_it_is_the_same_to_the_byte(name: str, mode: Mode) -> None:
    rng, fault = np.random.default_rng(31), KINDS[name]
    spec = fault.prepare(deployment.healthy(rng, 31, mode), rng)
    roomy = replace(spec.prefill, kv_tokens=10**9)  # no feedback through prefill's cache
    endless = replace(spec.router, deadline_s=10**5)  # and none through requests that give up
    spec = replace(spec, prefill=roomy, router=endless)
    objective = Objective(ttft=1.0, tpot=0.03)
    faulty = play(fault.plant(spec, objective, rng, 1.0)(spec))
    clean = play(spec)
    assert upstream(faulty) == upstream(clean)
    assert repr([life.intervals for life in faulty.lives]) != repr([life.intervals for life in clean.lives])


def upstream(run: Run) -> bytes:
    kept = [
        [(i.phase, i.start, i.end, i.worker) for i in life.intervals if i.phase in UPSTREAM]
        for life in run.lives
    ]
    return repr(kept).encode()


@pytest.mark.parametrize("name", ["slow_writer", "slow_readers"])
def test_what_happens_after_decode_changes_nothing_before_it(name: str) -> None:
    c = compare(name, SEEDS[1])
    inside = [
        [[i for i in life.intervals if i.phase != "network_streaming"] for life in run.lives]
        for run in (c.faulty, c.clean)
    ]
    assert inside[0] == inside[1]


def missing_share(spec: Spec, objective: Objective) -> float:
    judged = [met(life, objective) for life in play(spec).lives]
    return judged.count(False) / (len(judged) - judged.count(None))


def more_prefill(spec: Spec) -> Spec:
    prefill: Prefill = replace(spec.prefill, workers=spec.prefill.workers * 4)
    return replace(spec, prefill=prefill)


def more_decode(spec: Spec) -> Spec:
    old: Decode = spec.decode
    return replace(spec, decode=replace(old, workers=old.workers * 4))


@pytest.mark.parametrize("seed", SEEDS)
def test_overload_needs_more_of_both_pools(seed: int) -> None:
    c = compare("overload", seed)
    spec, objective = c.faulty.spec, c.shown.truth.objective
    before = missing_share(spec, objective)
    assert missing_share(more_prefill(spec), objective) > 0.5 * before
    assert missing_share(more_decode(spec), objective) > 0.5 * before
    assert missing_share(more_decode(more_prefill(spec)), objective) < 0.1 * before


@pytest.mark.parametrize("seed", SEEDS)
def test_a_starved_pool_needs_more_of_that_pool_only(seed: int) -> None:
    prefill, decode = compare("starved_prefill", seed), compare("starved_decode", seed)
    objective = prefill.shown.truth.objective
    assert missing_share(more_prefill(prefill.faulty.spec), objective) < 0.1
    assert missing_share(more_decode(prefill.faulty.spec), objective) > 0.3
    objective = decode.shown.truth.objective
    assert missing_share(more_decode(decode.faulty.spec), objective) < 0.1
    assert missing_share(more_prefill(decode.faulty.spec), objective) > 0.3


@pytest.mark.parametrize("seed", SEEDS)
def test_a_pool_with_a_hot_worker_is_large_enough(seed: int) -> None:
    c = compare("hot_prefill", seed)
    busy = sorted(worker.busy_ns / c.faulty.end for worker in c.faulty.prefill)
    assert np.mean(busy) < 0.6
    assert busy[-1] > 1.5 * np.median(busy)


@pytest.mark.parametrize("seed", SEEDS)
def test_contention_is_at_line_rate_and_a_slow_link_is_not(seed: int) -> None:
    def used(run: Run) -> float:
        """Of the line rate, the share that one transfer got, largest of all."""
        rates = [nbytes / (end - start) for start, end, nbytes, _ in run.handover.nic]
        return max(rates) / run.spec.links.line_gb_s

    def aggregate(run: Run) -> float:
        busy = np.zeros(run.end // 10_000_000 + 2)
        for start, end, _, _ in run.handover.nic:
            busy[start // 10_000_000 : end // 10_000_000 + 1] = 1
        total = sum(nbytes for _, _, nbytes, _ in run.handover.nic)
        return float(total / (busy.sum() * 1e7) / run.spec.links.line_gb_s)

    contended, slow = compare("contention", seed).faulty, compare("slow_link", seed).faulty
    assert aggregate(contended) > 0.85
    assert used(slow) < 0.3
    assert aggregate(slow) < 0.5


def test_orphans_below_capacity_cause_nothing() -> None:
    shown = scenario(5, 3, "decoy", ("unclaimed",))
    orphans = [life for life in shown.run.lives if life.orphan == "unclaimed"]
    assert orphans
    assert all(life.releases[-1].reason == "expired" for life in orphans)
    assert shown.truth.dominant == "none"


def test_late_reads_that_succeed_cause_nothing() -> None:
    shown = scenario(5, 3, "decoy", ("short_lease",))
    assert any(life.late_read for life in shown.run.lives)
    assert shown.truth.dominant == "none"


def test_leaked_kv_is_never_given_back_and_unclaimed_kv_at_the_end_of_its_lease() -> None:
    leaked, unclaimed = compare("leaked", SEEDS[0]).faulty, compare("unclaimed", SEEDS[0]).faulty
    assert not any(life.releases for life in leaked.lives if life.orphan)
    for life in unclaimed.lives:
        if life.orphan:
            assert life.published is not None
            assert life.releases[-1].at == life.lease_expires


def test_faults_that_hide_each_other_are_not_planted_together() -> None:
    assert not compatible(KINDS["slow_link"], KINDS["contention"])
    assert not compatible(KINDS["overload"], KINDS["starved_decode"])
    assert compatible(KINDS["slow_link"], KINDS["starved_prefill"])
