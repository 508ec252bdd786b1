"""Which rule reads a span, plainly: by name, by the start of it, by scope and kind."""

from collections.abc import Iterable, Sequence

from analyzer.assemble.oracle_spans import Span
from collector.engines.rules import Adapter, Role, SpanRule, Where


class Rules:
    """The rules of all adapters, found by span."""

    def __init__(self, adapters: Sequence[Adapter]):
        self._by_key = {rule.key: (adapter, rule) for adapter in adapters for rule in adapter.rules}
        prefixes = {rule.prefix for adapter in adapters for rule in adapter.rules if rule.prefix}
        self._prefixes = sorted(prefixes, key=len, reverse=True)

    def named(self, span: Span) -> tuple[Adapter, SpanRule] | None:
        """The rule for spans of this name or scope, whether or not it reads this one."""
        if found := self._by_key.get(f"name:{span.name}"):
            return found
        prefix = next((prefix for prefix in self._prefixes if span.name.startswith(prefix)), None)
        return self._by_key.get(f"scope:{span.scope}:{span.kind}" if prefix is None else f"prefix:{prefix}")

    def of(self, span: Span) -> tuple[Adapter, SpanRule] | None:
        """The rule that reads this span."""
        found = self.named(span)
        wanted = found is not None and (
            not found[1].when or any(holds(where, span) for where in found[1].when)
        )
        return found if wanted else None


def first_role(span: Span, choices: Iterable[tuple[Where, Role]]) -> Role:
    """The role of the first choice whose conditions hold."""
    return next((role for where, role in choices if holds(where, span)), Role.ANY)


def holds(where: Where, span: Span) -> bool:
    """Whether all of the conditions hold for a span."""

    def one(name: str, value: str) -> bool:
        if name == "@status":
            return str(span.status) == value
        if value in ("*", ""):
            there = (
                any(f"@event:{event}" == name for event, _ in span.events)
                if name.startswith("@event:")
                else name in span.attributes
            )
            return there == (value == "*")
        return said(span, name) == value

    return all(one(name, value) for name, value in where)


def said(span: Span, name: str) -> str:
    """Value of an attribute, or of 'event:NAME:ATTRIBUTE' as in `Fact.key`; '' where the span says none."""
    return (span.told if name.startswith("event:") else span.attributes).get(name, "")
