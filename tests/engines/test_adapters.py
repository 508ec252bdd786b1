"""What every adapter must tell, and how a span finds its rule."""

from collections import Counter

import pytest

from analyzer.assemble.oracle_rules import Rules
from analyzer.assemble.oracle_spans import Process, Span
from collector.engines import ADAPTERS
from collector.engines.rules import Adapter, SpanRule

ALL_RULES = [(adapter, rule) for adapter in ADAPTERS for rule in adapter.rules]


def span(name: str, scope: str = "", **attributes: str) -> Span:
    return Span(b"t" * 16, b"s" * 8, b"", Process(()), scope, name, 1, 0, 1, 2, attributes)


def test_no_two_rules_are_found_by_the_same_key():
    keys = Counter(rule.key for _, rule in ALL_RULES)

    assert [key for key, count in keys.items() if count > 1] == []


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.name)
def test_every_adapter_says_how_to_switch_it_on_and_what_it_was_checked_against(adapter):
    assert adapter.title
    assert adapter.switch_on
    assert adapter.checked_against
    assert adapter.name in ("native", "infrastructure") or adapter.known_lies


def test_a_rule_that_reads_nothing_says_why():
    silent = [
        rule.key
        for _, rule in ALL_RULES
        if not (rule.intervals or rule.marks or rule.facts or rule.kv or rule.calls or rule.plays or rule.ids)
    ]

    assert [key for key in silent if not _reason(key)] == []


def _reason(key: str) -> str:
    return next(rule.ignored for _, rule in ALL_RULES if rule.key == key)


def found(rules: list[SpanRule], one: Span) -> str:
    named = Rules([Adapter("a", "A", tuple(rules))]).named(one)
    return named[1].key if named else ""


def test_a_name_goes_before_a_prefix_the_longest_prefix_before_a_scope():
    rules = [
        SpanRule(scope="s", kind=1),
        SpanRule(prefix="route "),
        SpanRule(prefix="route to "),
        SpanRule(span="route to me"),
    ]

    assert found(rules, span("route to me", "s")) == "name:route to me"
    assert found(rules, span("route to you", "s")) == "prefix:route to "
    assert found(rules, span("route back", "s")) == "prefix:route "
    assert found(rules, span("other", "s")) == "scope:s:1"
    assert found(rules, span("other")) == ""


def test_a_rule_reads_spans_for_which_one_of_its_conditions_holds():
    rule = SpanRule(span="n", when=((("a", "1"), ("b", "*")), (("c", ""), ("d", "2"))))
    rules = Rules([Adapter("a", "A", (rule,))])

    assert rules.of(span("n", a="1", b="x"))
    assert rules.of(span("n", d="2"))
    assert not rules.of(span("n", a="1"))
    assert not rules.of(span("n", c="", d="2"))


def test_mooncake_is_metrics_only():
    (mooncake,) = [adapter for adapter in ADAPTERS if adapter.name == "mooncake"]

    assert not mooncake.rules
    assert {rule.metric for rule in mooncake.signals} >= {"master_put_start_alloc_failures_total"}
