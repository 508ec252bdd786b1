"""docs/verdicts.md is made from the rules, and says of each what it is."""

from analyzer.verdict.causes import IN_ORDER, decode_pool, handover_overhead, orphaned_kv
from analyzer.verdict.findings import CHECKS, hand_offs
from analyzer.verdict.page import quotes, render, severities
from analyzer.verdict.vocabulary import Cause
from tests.paths import PROJECT


def test_the_page_is_in_step_with_the_rules() -> None:
    assert (PROJECT / "docs" / "verdicts.md").read_text() == render()


def test_every_cause_and_every_finding_is_on_it() -> None:
    page = render()
    assert all(f"### `{cause}`" in page for cause in Cause if cause is not Cause.NONE)
    assert all(f"| `{check.__name__}` |" in page for check in CHECKS)


def test_every_rule_says_what_it_claims_what_it_quotes_and_what_to_do() -> None:
    for rule in IN_ORDER:
        assert list(quotes(rule.explain)), rule.cause
        assert rule.next_step.endswith("."), rule.cause
    assert "|  |" not in render()


def test_signals_are_found_in_explanations_as_written() -> None:
    assert next(iter(quotes(decode_pool.STARVED.explain))) == "decode_queue"
    assert "kv_publish" in set(quotes(handover_overhead.RULE.explain))
    assert "….kv_used_fraction" in set(quotes(orphaned_kv.LEAKED.explain))


def test_severities_are_those_of_the_findings() -> None:
    assert severities(hand_offs.stale_kv_read_risk) == ["critical"]
