"""A scenario: a deployment, its faults, their magnitudes and the truth, all from one number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import deployment
from .faults import KINDS, Change, Fault
from .life import Life
from .model import Run, play
from .spec import Mode, Objective, Spec
from .truth import Truth, met

HEALTHY, DECOY, ONE, TWO = "healthy", "decoy", "one", "two"
MIX = (HEALTHY, ONE, ONE, TWO, ONE, DECOY, ONE, TWO, ONE, ONE)  # in turn
WANTED_MISSES = 0.08  # share of requests a planted fault alone should make miss
TRIES = 5
GROWTH = 1.35
EXCLUDES = {"pools": {"prefill", "decode", "transfer", "handover"}}


@dataclass(frozen=True)
class Clock:
    """How far a process's clock is ahead, ns at the start, and how fast it gains, parts per million."""

    offset: int
    drift_ppm: float


@dataclass(frozen=True)
class Scenario:
    """One scenario to be shown. `kind`: healthy, decoy, one or two. `clocks` that are off, by process."""

    index: int
    seed: int
    kind: str
    truth: Truth
    clocks: dict[str, Clock]
    fresh: frozenset[str]  # pools whose workers were started shortly before the window
    history: int  # requests of a healthy time before the window that are shown too
    scrape_s: int

    @property
    def run(self) -> Run:
        """What happened."""
        return self.truth.played

    @property
    def names(self) -> str:
        """The planted faults."""
        return "+".join(fault.name for fault in self.truth.faults) or "-"


def scenario(
    seed: int, index: int, kind: str | None = None, names: tuple[str, ...] | None = None
) -> Scenario:
    """The index-th scenario of a seed; `kind` and `names` override what would be drawn."""
    rng = np.random.default_rng([seed, index])
    kind = kind or MIX[index % len(MIX)]
    mode, kinds = _choose(rng, index, kind, names)
    base = deployment.healthy(rng, seed * 100_003 + index, mode)
    for fault in sorted(kinds, key=lambda fault: not fault.reshapes):
        base = fault.prepare(base, rng)
    runs: dict[frozenset[str], Run] = {frozenset(): play(base)}
    objective = _objective(base, runs[frozenset()])
    changes: dict[str, Change] = {}
    for fault in kinds:
        changes[fault.name], runs[frozenset({fault.name})] = _planted(fault, base, objective, rng, kind)
    if len(kinds) == 2:
        both = base
        for fault in kinds:
            both = changes[fault.name](both)
        runs[frozenset(changes)] = play(both)
    truth = Truth(objective, kinds, runs)
    if truth.attained and kinds:
        kind = DECOY  # harmless, as a decoy should be and a fault may turn out to be
    elif kind == DECOY:
        kind = ONE  # harmful however weak
    clocks = _clocks(rng, truth.played)
    fresh = _fresh(rng, truth.played.spec)
    history = 80 if rng.random() < 0.6 else 0
    return Scenario(index, seed, kind, truth, clocks, fresh, history, int(rng.choice([1, 2, 5])))


def _choose(
    rng: np.random.Generator, index: int, kind: str, names: tuple[str, ...] | None
) -> tuple[Mode, tuple[Fault, ...]]:
    """Which faults, and a way of dispatching that can have them. Kinds of fault take turns."""
    if names is None:
        names = _names(rng, index, kind)
    if not names:
        return list(Mode)[int(rng.integers(len(Mode)))], ()
    kinds: tuple[Fault, ...] = tuple(KINDS[name] for name in names)
    modes = [mode for mode in Mode if all(mode in fault.modes for fault in kinds)]
    return modes[int(rng.integers(len(modes)))], kinds


def _names(rng: np.random.Generator, index: int, kind: str) -> tuple[str, ...]:
    if kind == HEALTHY:
        return ()
    every = sorted(KINDS)
    first = KINDS[every[(index * 7 + index // 10) % len(every)]]
    if kind != TWO:
        return (first.name,)
    others = [other for other in KINDS.values() if compatible(first, other)]
    return first.name, others[int(rng.integers(len(others)))].name


def names_of(seed: int, index: int) -> tuple[str, ...]:
    """The faults of a scenario, without playing it."""
    return _names(np.random.default_rng([seed, index]), index, MIX[index % len(MIX)])


def compatible(a: Fault, b: Fault) -> bool:
    """Whether two faults can be told apart when planted together, and some deployment can have both."""
    if a.stage == b.stage or b.stage in EXCLUDES.get(a.stage, ()) or a.stage in EXCLUDES.get(b.stage, ()):
        return False
    return bool(a.modes & b.modes)


def _objective(base: Spec, run: Run) -> Objective:
    """What the deployment keeps without faults, with some slack; a full batch is allowed for."""
    ttft = max(life.ttft_s() or 0.0 for life in run.lives) * base.ttft_slack
    tpot = max(life.tpot_s() or 0.0 for life in run.lives) * base.tpot_slack
    if base.mode is not Mode.COLOCATED:
        tpot = max(tpot, 1.1 * deployment.full_step_s(base))
    return Objective(ttft=round(ttft, 3), tpot=round(tpot, 5))


def _planted(
    fault: Fault, base: Spec, objective: Objective, rng: np.random.Generator, kind: str
) -> tuple[Change, Run]:
    """The fault at a strength at which it makes requests miss (a decoy: at which it should not)."""
    drawn = int(rng.integers(2**32))
    strength = 0.3 if kind == DECOY else 1.0
    for _ in range(TRIES):
        change = fault.plant(base, objective, np.random.default_rng(drawn), strength)
        run = play(change(base))
        share = _missed(run.lives, objective)
        if share == 0.0 if kind == DECOY else share >= WANTED_MISSES:
            break
        strength *= 0.5 if kind == DECOY else GROWTH
    return change, run


def _missed(lives: list[Life], objective: Objective) -> float:
    judged = [met(life, objective) for life in lives]
    return judged.count(False) / max(1, len(judged) - judged.count(None))


def _clocks(rng: np.random.Generator, run: Run) -> dict[str, Clock]:
    """One scenario in five has a worker, or several, whose clock is off by 5–400 ms."""
    workers = [worker.name for worker in run.prefill] + [worker.name for worker in run.decode]
    if rng.random() >= 0.2:
        return {}
    count = int(rng.integers(1, len(workers) + 1))
    chosen = [workers[i] for i in sorted(rng.choice(len(workers), count, replace=False).tolist())]
    sizes = np.exp(rng.uniform(np.log(5e6), np.log(4e8), count)) * rng.choice([-1, 1], count)
    drifts = rng.uniform(-30, 30, count) * (rng.random(count) < 0.4)
    return {
        name: Clock(round(size), float(drift))
        for name, size, drift in zip(chosen, sizes.tolist(), drifts.tolist(), strict=True)
    }


def _fresh(rng: np.random.Generator, spec: Spec) -> frozenset[str]:
    """Pools that have just started: those that are cold, and now and then one that is not."""
    cold = {"prefill": spec.prefill.cold_workers > 0, "decode": spec.decode.cold_workers > 0}
    if spec.links.connect_s > 0:
        cold = dict.fromkeys(cold, True)
    warm = {str(rng.choice(["prefill", "decode"]))} if rng.random() < 0.05 else set()
    return frozenset({pool for pool, is_cold in cold.items() if is_cold} | warm)
