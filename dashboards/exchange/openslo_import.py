"""Objectives from OpenSLO documents: pdscope's own exactly, others' where a TTFT or a TPOT is limited."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from analyzer.slo.objectives import INPUT_BUCKETS, Objective, Selector
from collector.errors import ConfigError
from dashboards.exchange.latency_limit import Limit, latency_limit
from dashboards.exchange.openslo import NAME, SELECTOR, TPOT, TTFT
from dashboards.exchange.openslo_reading import (
    Document,
    Unfit,
    mapping,
    objective_of,
    period_of,
    read_documents,
    target_of,
)


@dataclass
class Imported:
    """Objectives in the files' order, and what did not fit or was read otherwise than it was written."""

    objectives: list[Objective] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Half:
    """An SLO that limits one of the two latencies."""

    document: Document
    service: str
    limit: Limit
    target: float
    period_days: int


def import_openslo(paths: Sequence[Path], ttft: float | None = None, tpot: float | None = None) -> Imported:
    """Read files; ttft, tpot: limits (seconds) for SLOs that set only the other.

    Two SLOs of one service, target and period that limit TTFT and TPOT become one objective.
    Raises ConfigError.
    """
    documents = [document for path in paths for document in read_documents(path)]
    indicators = {item.name: mapping(item.body, "spec") for item in documents if item.kind == "SLI"}
    out, halves = Imported(), list[_Half]()
    for document in documents:
        if document.kind == "SLO":
            try:
                _read(document, indicators, out, halves)
            except Unfit as error:
                out.notes.append(f"{document.name} ({document.where}) is left out: {error}")
        elif document.kind not in ("SLI", "Service"):
            out.notes.append(f"{document.name} ({document.where}): {document.kind} has no place in slo.yaml")
    _join(halves, {"ttft": ttft, "tpot": tpot}, out)
    out.objectives = _distinct(out.objectives)
    return out


def _read(
    document: Document, indicators: dict[str, dict[str, Any]], out: Imported, halves: list[_Half]
) -> None:
    spec = mapping(document.body, "spec")
    objective, said = objective_of(spec)
    target = target_of(objective)
    days, more = period_of(spec)
    annotations = mapping(mapping(document.body, "metadata"), "annotations")
    if TTFT in annotations or TPOT in annotations:
        out.objectives.append(_own(document, annotations, target, days))
    else:
        service = str(spec.get("service") or "")
        limit = latency_limit(_indicator(spec, indicators), objective)
        halves.append(_Half(document, service, limit, target, days))
        said += limit.notes
    out.notes += [f"{document.name} ({document.where}): {note}" for note in (*said, *more)]


def _own(document: Document, annotations: dict[str, Any], target: float, days: int) -> Objective:
    members = {name: str(annotations[key]) for name, key in SELECTOR.items() if annotations.get(key)}
    if members.get("input_bucket", INPUT_BUCKETS[0]) not in INPUT_BUCKETS:
        raise Unfit(f"input bucket {members['input_bucket']!r} is not one of {', '.join(INPUT_BUCKETS)}")
    name = str(annotations.get(NAME) or document.name)
    return Objective(
        name, _seconds(annotations, TTFT), _seconds(annotations, TPOT), target, days, Selector(**members)
    )


def _seconds(annotations: dict[str, Any], key: str) -> float:
    try:
        value = float(annotations[key])
    except (KeyError, TypeError, ValueError) as error:
        raise Unfit(f"annotation {key} is missing or no number") from error
    if not 0 < value < 86_400:
        raise Unfit(f"annotation {key}: {value:g} s is not above 0 and below a day")
    return value


def _indicator(spec: dict[str, Any], indicators: dict[str, dict[str, Any]]) -> dict[str, Any]:
    reference = spec.get("indicatorRef")
    if reference is None:
        return mapping(mapping(spec, "indicator"), "spec")
    if not isinstance(reference, str) or reference not in indicators:
        raise Unfit(f"indicatorRef {reference!r} is not among the given files")
    return indicators[reference]


def _join(halves: list[_Half], defaults: dict[str, float | None], out: Imported) -> None:
    """Make one objective of the two limits of a service; fill a missing one from the defaults."""
    groups: dict[tuple[Any, ...], dict[str, _Half]] = {}
    for half in halves:
        members = groups.setdefault((half.service, half.limit.selector, half.target, half.period_days), {})
        if half.limit.latency in members:
            out.notes.append(
                f"{half.document.name} ({half.document.where}) is left out: "
                f"{members[half.limit.latency].document.name} limits the same already"
            )
        members.setdefault(half.limit.latency, half)
    for (service, selector, target, days), members in groups.items():
        limits = {name: half.limit.seconds for name, half in members.items()}
        names = [half.document.name for half in members.values()]
        missing = [name for name in ("ttft", "tpot") if name not in limits]
        if missing:
            filled = defaults[missing[0]]
            if filled is None:
                out.notes.append(
                    f"{names[0]} is left out: it limits no {missing[0].upper()}; give --{missing[0]}"
                )
                continue
            limits[missing[0]] = filled
        else:
            both = " and ".join(names)
            out.notes.append(f"{both} become one objective: a request must keep both limits to meet it")
        name = service if len(names) > 1 and service else names[0]
        out.objectives.append(Objective(name, limits["ttft"], limits["tpot"], target, days, selector))


def _distinct(objectives: list[Objective]) -> list[Objective]:
    """Objectives with names of their own: those that share one are numbered."""
    seen: dict[str, int] = {}
    out = []
    for item in objectives:
        seen[item.name] = seen.get(item.name, 0) + 1
        again = seen[item.name]
        out.append(item if again == 1 else replace(item, name=f"{item.name} {again}"))
    return out


def check_not_empty(found: Imported) -> None:
    """Raise ConfigError, with the reasons, when nothing could be made of the files."""
    if not found.objectives:
        reasons = "; ".join(found.notes) or "they hold no SLO"
        raise ConfigError(f"no objective could be made of these files: {reasons}")
