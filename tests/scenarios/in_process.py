"""Scenarios through pdscope's own store, assembly and verdicts, all in this process: the one module here that
imports the product.

What verdicts read of a scenario is the same whatever the rules say: it can be kept in a directory, so that
changed rules are judged again in seconds.
"""

from __future__ import annotations

import gzip
import pickle
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from analyzer.assemble.assembler import Assembler
from analyzer.assemble.names import NameLimits
from analyzer.slo.objectives import Objectives
from analyzer.slo.scope import Scope
from analyzer.verdict.attribution import CAUSES
from analyzer.verdict.diagnosis import Diagnosis, diagnose_loaded
from analyzer.verdict.load import Loaded, load
from collector.store import Store

from .ablate import ablated
from .otlp import Export
from .processes import Stage
from .scenario import Scenario
from .score import ABSTAINED, Judged, judge
from .spec import NS
from .telemetry import exports, request_id, window

AGO_S = 3.0  # windows end this long before they are sent
INSERTS = 64
NO_LIMIT = 10**6


@dataclass(frozen=True)
class Seen:
    """What the store gave of one scenario, shown whole or less one signal (`removed`)."""

    removed: str
    loaded: Loaded
    objectives: Objectives
    asked_ns: int
    numbers: Mapping[int, int]
    """Number of each request of the scenario by the hash of its id."""


@dataclass(frozen=True)
class Shown:
    """One scenario seen whole, and where asked for seen less one signal."""

    whole: Seen
    less: Seen | None


def show(scenarios: Sequence[Scenario], ablate: bool) -> list[Shown]:
    """Send scenarios to a new store, assemble them, and read what verdicts are made from."""
    store = Store.open(":memory:")
    try:
        assembler = Assembler(store, names=NameLimits(NO_LIMIT, NO_LIMIT, NO_LIMIT, NO_LIMIT))
        sent = [[_staged(one, less) for less in (False, True)[: 1 + ablate]] for one in scenarios]
        bodies = [export for pair in sent for _, _, shown in pair for export in shown]
        _insert(store.insert_traces, [export.body for export in bodies if export.kind == "traces"])
        _insert(store.insert_metrics, [export.body for export in bodies if export.kind == "metrics"])
        assembler.catch_up()
        seen = [[_read(store, stage, removed) for stage, removed, _ in pair] for pair in sent]
    finally:
        store.close()
    return [Shown(pair[0], pair[1] if ablate else None) for pair in seen]


def _staged(shown: Scenario, less: bool) -> tuple[Stage, str, list[Export]]:
    base = time.time_ns() - shown.run.end - round(AGO_S * NS)
    stage = Stage(shown, base, uuid.uuid4().hex[:8])
    found, removed = exports(stage), ""
    if less:
        found, removed = ablated(found, shown.seed, shown.index)
    return stage, removed, found


def _insert(insert: Callable[[Sequence[bytes]], object], bodies: Sequence[bytes]) -> None:
    """A few megabytes at once: an insert costs about as much as the spans of a scenario."""
    for first in range(0, len(bodies), INSERTS):
        insert(bodies[first : first + INSERTS])


def _read(store: Store, stage: Stage, removed: str) -> Seen:
    since, until = window(stage)
    objective = stage.scenario.truth.objective
    objectives = Objectives().override(objective.ttft, objective.tpot, objective.target)
    asked_ns = time.time_ns()
    loaded = load(store, Scope(since, until, model=stage.model), objectives)
    return Seen(removed, loaded, objectives, asked_ns, _numbers(store, stage))


def _numbers(store: Store, stage: Stage) -> dict[int, int]:
    ids = {request_id(stage, v.index): v.index for v in stage.scenario.truth.verdicts}
    sql = "SELECT cityHash64(arrayJoin({ids:Array(String)})) AS code"
    codes = store.columns(sql, {"ids": list(ids)})["code"]
    return dict(zip((int(code) for code in codes), ids.values(), strict=True))


def answer(scenario: Scenario, seen: Seen) -> Judged:
    """Diagnose what was seen, and judge the answer and every missed request in it."""
    found = diagnose_loaded(seen.loaded, seen.objectives, seen.asked_ns)
    document = {
        "dominant_cause": str(found.dominant),
        "confidence": found.confidence,
        "settled": True,
        "requests": {"missed": found.counts.missed},
        "causes": [
            {"cause": str(item.cause), "would_have_met_without_it": item.would_have_met_without_it}
            for item in found.causes
        ],
    }
    return judge(scenario, document, removed=seen.removed, **_requests(scenario, seen, found))


def _requests(scenario: Scenario, seen: Seen, found: Diagnosis) -> dict[str, int]:
    """Cause and counterfactual of every request that missed in truth and by the product."""
    counts = dict.fromkeys(
        ("requests_right", "requests_judged", "counterfactuals_right", "counterfactuals_judged"), 0
    )
    truths = {verdict.index: verdict for verdict in scenario.truth.missed}
    ids = found.situation.of(found.situation.requests.request_id)
    for row, (code, column) in enumerate(zip(ids.tolist(), found.attribution.primary.tolist(), strict=True)):
        truth = truths.get(seen.numbers.get(int(code), -1))
        if truth is None:
            continue
        cause = str(CAUSES[column])
        counts["requests_judged"] += 1
        counts["requests_right"] += truth.caused_by(cause)
        meets = scenario.truth.meets_without(cause, truth)
        if cause != ABSTAINED and meets is not None:
            said = bool(found.attribution.would_have_met[row, column])
            counts["counterfactuals_judged"] += 1
            counts["counterfactuals_right"] += said == meets
    return counts


def kept(directory: Path, scenario: Scenario) -> Shown | None:
    """What an earlier run kept of a scenario; None when there is nothing."""
    path = _path(directory, scenario)
    if not path.exists():
        return None
    found: Shown = pickle.loads(gzip.decompress(path.read_bytes()))
    return found


def keep(directory: Path, scenario: Scenario, shown: Shown) -> None:
    """Keep what was seen of a scenario for a later run of the same code."""
    directory.mkdir(parents=True, exist_ok=True)
    path = _path(directory, scenario)
    whole = path.with_suffix(".part")
    whole.write_bytes(gzip.compress(pickle.dumps(shown), 1))
    whole.rename(path)


def _path(directory: Path, scenario: Scenario) -> Path:
    return directory / f"{scenario.seed}-{scenario.index}-{scenario.names}.gz"
