"""Makes docs/engines.md of the adapters: `python -m collector.engines.table docs/engines.md`."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

from collector.engines import ADAPTERS
from collector.engines.rules import Adapter, Composite, Interval, Role, Source, SpanRule, Where
from collector.engines.signals import SignalRule
from collector.generated_page import main, table
from collector.phases import Phase

_HEAD = """\
# What each engine tells

<!-- Made from the adapters in collector/engines/ by `make docs`; edit there. -->

| word | means |
|---|---|
| observed | a span covers this phase and nothing else |
| derived | worked out from times and durations that spans carry |
| bounded | lies within a longer time that phases share; is part of `unattributed`, shown as "within …" |
| – | nothing tells; the time counts as `unattributed`, or lies within a neighbour |

What an engine does not tell, the [instruments](instrumenting.md) can: the tap, the traced KV connector,
PhaseTracer. They speak pdscope's own convention, the first column.

Metrics decide between causes that look alike in one request. pdscope asks the engines for them itself
([Scraping](operating.md#scraping)), or takes them over OTLP from whoever asks.

"""

_ORDER = (Source.OBSERVED, Source.DERIVED, Source.BOUNDED)


@dataclass(frozen=True)
class Sighting:
    """How a phase is known, by what, and what must be added to the system first."""

    source: Source
    by: str
    needs: str = ""


_TRACED = "a KV connector that emits spans"


def render() -> str:
    """Return the page."""
    return _HEAD + _overview() + "".join(map(_section, ADAPTERS))


def sightings(adapter: Adapter, phase: Phase) -> list[Sighting]:
    """Every way in which an adapter's spans tell of a phase, the best first."""
    found = [*_from_spans(adapter, phase), *_from_marks(adapter, phase)]
    return sorted(dict.fromkeys(found), key=lambda seen: (_ORDER.index(seen.source), seen.needs))


def _from_spans(adapter: Adapter, phase: Phase) -> Iterator[Sighting]:
    for rule in adapter.rules:
        if rule.dispatches and phase is Phase.ROUTER_QUEUE:
            by = f"event `{rule.dispatches}` of span {_named(rule)}, one an attempt"
            yield Sighting(Source.OBSERVED, by, rule.needs)
        for output in rule.intervals:
            if isinstance(output, Interval) and output.phase is phase:
                yield Sighting(output.source, _span(rule, output), rule.needs)
            if isinstance(output, Composite) and phase in output.covers:
                yield Sighting(Source.BOUNDED, f"{_span(rule, output)}: {output.reason}", rule.needs)


def _from_marks(adapter: Adapter, phase: Phase) -> Iterator[Sighting]:
    for between in adapter.between:
        if phase in between.covers:
            source = Source.BOUNDED if between.composite else between.source
            needs = _mark_needs(adapter, between.start) or _mark_needs(adapter, between.end)
            yield Sighting(source, f"from `{between.start}` to `{between.end}`: {between.reason}", needs)


def _mark_needs(adapter: Adapter, mark: str) -> str:
    """Return what must be added before any span gives this mark; '' when the system gives it by itself.

    What no span of its own gives comes of the connector that speaks the convention beside it.
    """
    needs = [rule.needs for rule in adapter.rules for given in rule.marks if given.name == mark]
    if not needs:
        return _TRACED
    return "" if "" in needs else needs[0]


def _span(rule: SpanRule, output: Interval | Composite) -> str:
    where = f" ({_conditions(output.where)})" if output.where else ""
    role = "" if output.role is Role.ANY else f" of a {output.role.name.lower()} worker"
    return f"span {_named(rule)}{where}{role}"


def _named(rule: SpanRule) -> str:
    """Return how a rule's spans are named."""
    return f"`{rule.prefix.strip()} …`" if rule.prefix else f"`{rule.span or rule.scope}`"


def _conditions(where: Where) -> str:
    return ", ".join(_condition(name, value) for name, value in where)


def _condition(name: str, value: str) -> str:
    if value in ("", "*"):
        return f"with `{name}`" if value else f"without `{name}`"
    return f"`{name}` is not `{value[1:]}`" if value.startswith("!") else f"`{name}` = `{value}`"


def _overview() -> str:
    spoken = [adapter for adapter in ADAPTERS if adapter.rules]
    rows = []
    for phase in Phase:
        found = [sightings(adapter, phase) for adapter in spoken]
        rows.append((f"`{phase}`", *map(_best, found)))
    silent = ", ".join(adapter.title for adapter in ADAPTERS if not adapter.rules)
    heads = ("phase", *(adapter.title for adapter in spoken))
    return table(heads, rows) + f"\nRead by their metrics alone, no spans: {silent}.\n"


def _best(found: list[Sighting]) -> str:
    """Return what the system tells by itself, then what it would with an addition."""
    plain = [seen.source for seen in found if not seen.needs]
    more = [seen for seen in found if seen.needs and (not plain or _better(seen.source, plain[0]))]
    word = plain[0].value if plain else "–"
    return f"{word}; {more[0].source} with {more[0].needs}" if more else word


def _better(one: Source, other: Source) -> bool:
    return _ORDER.index(one) < _ORDER.index(other)


def _section(adapter: Adapter) -> str:
    lease = "" if adapter.kv_lease_s is None else f"\n- KV lease by default: {adapter.kv_lease_s:g} s"
    metrics = f"- Metrics page: {adapter.metrics_on}\n" if adapter.metrics_on else ""
    parts = [
        f"\n## {adapter.title}\n\n- Switch on: {adapter.switch_on}\n{metrics}"
        f"- Checked against: {adapter.checked_against}{lease}\n",
        _phases(adapter) if adapter.rules else "",
        _fingerprint(adapter),
        _lies(adapter),
        _signals(adapter),
        _unmapped(adapter),
    ]
    return "".join(parts)


def _phases(adapter: Adapter) -> str:
    phases: dict[Sighting, list[Phase]] = {}
    unseen = []
    for phase in Phase:
        found = sightings(adapter, phase)
        for seen in found:
            phases.setdefault(seen, []).append(phase)
        unseen += [] if found else [phase]
    rows = [(_names(told), seen.source.value, _by(seen)) for seen, told in phases.items()]
    rows += [(_names(unseen), "–", "")] if unseen else []
    skipped = [
        f"- Span {_named(rule)} is not read: {rule.ignored}\n" for rule in adapter.rules if rule.ignored
    ]
    skipped += [
        f"- Span {_named(rule)} is read for requests alone; else: {rule.otherwise}\n"
        for rule in adapter.rules
        if rule.otherwise
    ]
    return "\n" + table(("phases", "known", "by"), rows) + ("\n" + "".join(skipped) if skipped else "")


def _names(phases: list[Phase]) -> str:
    return ", ".join(f"`{phase}`" for phase in phases)


def _by(seen: Sighting) -> str:
    return f"{seen.by}; needs {seen.needs}" if seen.needs else seen.by


def _fingerprint(adapter: Adapter) -> str:
    """Return where the system tells what both sides of a hand-off must agree on."""
    told = [
        f"- label `{label}` of `{info.metric}`: `pd.compat.{part}`\n"
        for info in adapter.info
        for label, part in info.labels
    ]
    told += [
        f"- `{name}` of `GET {' or '.join(page.paths)}`, asked when it is scraped: `{attribute}`\n"
        for page in adapter.pages
        for name, attribute in page.fields
    ]
    return "\nWhat it says of itself:\n" + "".join(told) if told else ""


def _lies(adapter: Adapter) -> str:
    if not adapter.known_lies:
        return ""
    return "\nWhat it says that is not so:\n" + "".join(f"- {lie}\n" for lie in adapter.known_lies)


def _signals(adapter: Adapter) -> str:
    rows = ((f"`{rule.signal}`", f"`{rule.metric}`", _reading(rule)) for rule in adapter.signals)
    return "\n" + table(("pool signal", "metric", "how it is read"), rows) if adapter.signals else ""


def _reading(rule: SignalRule) -> str:
    said = [
        f"its {rule.reads.value}" if rule.reads.value != "value" else "",
        "as a rate per second" if rule.as_rate else "",
        f"times {rule.scale:g}" if rule.scale != 1 else "",
        f"only {_conditions(rule.where)}" if rule.where else "",
        "part " + " of ".join(_part(rule)) if rule.part or rule.part_label else "",
        rule.note,
    ]
    return "; ".join(filter(None, said))


def _part(rule: SignalRule) -> Iterator[str]:
    if rule.part:
        yield f"`{rule.part}`"
    if rule.part_label:
        yield f"label `{rule.part_label}`"


def _unmapped(adapter: Adapter) -> str:
    rows = ((f"`{metric.metric}`", metric.reason) for metric in adapter.unmapped)
    return "\n" + table(("kept, but no signal", "why"), rows) if adapter.unmapped else ""


if __name__ == "__main__":
    sys.exit(main(render))
