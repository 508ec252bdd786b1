"""Which families of a page are kept: those that an adapter names, and of them the series it reads."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain

from collector.engines.rules import Adapter
from collector.engines.signals import Labels, matches

START_TIME = "process_start_time_seconds"
"""Since when a process accumulates, where its page says so."""

_HEX = re.compile("[0-9a-fA-F]{1,16}")

Only = tuple[tuple[str, tuple[str, ...]], ...]
"""Labels and the values one of which they must have, where a series has the label at all."""


@dataclass(frozen=True)
class Family:
    """What is kept of one family; `where` is empty when all of it is."""

    system: str
    where: tuple[Labels, ...] = ()
    hex_worker: str = ""
    """Label that holds, in hexadecimal, the name of the worker whose page it is."""


@dataclass(frozen=True)
class Wanted:
    """Families by the name their TYPE line has. A target may want more by name, or less by label."""

    families: Mapping[str, Family]
    only: Only = ()

    def keeps(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether a series of a kept family is read by anyone."""
        if any(labels.get(key) and labels[key] not in values for key, values in self.only):
            return False
        where = self.families[name].where
        return not where or any(matches(conditions, labels) for conditions in where)

    def own_name(self, name: str, labels: Mapping[str, str]) -> str:
        """How requests name the worker whose page holds this series, where that says so; else ''."""
        told = labels.get(self.families[name].hex_worker, "")
        return str(int(told, 16)) if _HEX.fullmatch(told) else ""

    def system(self, names: Iterable[str]) -> str:
        """The system whose families are the most on a page; '' when none is."""
        found = Counter(self.families[name].system for name in names if name in self.families)
        for shared in ("infrastructure", ""):
            found.pop(shared, None)
        return found.most_common(1)[0][0] if found else ""

    def narrowed(self, also: Iterable[str], only: Only) -> "Wanted":
        """The same for a target that wants other families too, or only some series."""
        return Wanted({**self.families, **{name: Family("") for name in also}}, only)


@dataclass
class _Collected:
    system: str
    whole: bool = False
    where: list[Labels] = field(default_factory=list)
    hex_worker: str = ""


def wanted(adapters: Iterable[Adapter]) -> Wanted:
    """What the adapters name: metrics of signals, known ones without a signal, and start-up information."""
    found: dict[str, _Collected] = {}
    for adapter in adapters:
        for rule in adapter.signals:
            for name in rule.names:
                entry = found.setdefault(name, _Collected(adapter.name))
                entry.where.append(rule.where)
                entry.whole |= not rule.where
                entry.hex_worker = entry.hex_worker or _hex_label(rule.worker_labels)
        spelled = [metric.names for metric in adapter.unmapped] + [info.names for info in adapter.info]
        for name in chain.from_iterable(spelled):
            found.setdefault(name, _Collected(adapter.name)).whole = True
    families = {
        name: Family(entry.system, () if entry.whole else tuple(entry.where), entry.hex_worker)
        for name, entry in found.items()
    }
    return Wanted({**families, START_TIME: families.get(START_TIME, Family("infrastructure"))})


def _hex_label(labels: Iterable[str]) -> str:
    return next((label.removeprefix("hex:") for label in labels if label.startswith("hex:")), "")
