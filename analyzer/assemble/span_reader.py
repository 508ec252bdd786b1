"""Reads a step's spans by the adapters' rules: finds each span's rule, then what spans of that rule mean."""

from collections.abc import Iterable

from analyzer.assemble.meaning import meanings
from analyzer.assemble.scratch import Scratch
from collector.engines.rules import Adapter, Fact, SpanRule
from collector.sql import read_sql


class SpanReader:
    """Fills `span_facts` from `spans`."""

    def __init__(self, scratch: Scratch, adapters: Iterable[Adapter]):
        self._scratch = scratch
        rules = [(adapter.name, rule) for adapter in adapters for rule in adapter.rules]
        self._rules = dict(enumerate(rules, start=1))
        names = {rule.span: number for number, (_, rule) in self._rules.items() if rule.span}
        prefixes = {rule.prefix: number for number, (_, rule) in self._rules.items() if rule.prefix}
        scopes = {
            f"{rule.scope}:{rule.kind}": number
            for number, (_, rule) in self._rules.items()
            if not rule.span and not rule.prefix
        }
        self._places = {
            "names": list(names),
            "by_name": list(names.values()),
            "prefixes": sorted(prefixes.items(), key=lambda one: -len(one[0])),
            "scopes": list(scopes),
            "by_scope": list(scopes.values()),
            "told": sorted({event for _, rule in rules for event in _told(rule)}),
        }

    def read(self, after: int, upto: int) -> None:
        """Read the spans with ingest sequences over `after` and up to `upto`. Raises StoreError."""
        window = {"after": after, "upto": upto}
        self._scratch.command(read_sql(__file__, "sql/batch_read"), {**window, **self._places})
        found = self._scratch.query("SELECT DISTINCT rule FROM {scratch:Identifier}.batch_read")
        if numbers := sorted(int(row[0]) for row in found):
            said = meanings({number: self._rules[number] for number in numbers})
            statement = read_sql(__file__, "sql/span_facts").replace("(MEANINGS)", f"({said})")
            self._scratch.command(statement)


def _told(rule: SpanRule) -> Iterable[str]:
    """Events whose attributes a rule reads."""
    outputs = (*rule.intervals, *rule.marks, *rule.facts, *rule.kv)
    wheres = [*rule.when, *(where for where, _ in (*rule.calls, *rule.plays))]
    wheres += [output.where for output in outputs]
    names = [name for where in wheres for name, _ in where]
    names += [fact.key for fact in outputs if isinstance(fact, Fact)]
    return (name.split(":")[1] for name in names if name.startswith("event:"))
