"""Makes docs/verdicts.md of the rules and checks: `python -m analyzer.verdict.page docs/verdicts.md`."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from analyzer import baselines, robust_fit
from analyzer.pools import AT_CAP, FULL_KV
from analyzer.verdict import missing, page_text
from analyzer.verdict.causes import IN_ORDER
from analyzer.verdict.confidence import DERIVED, PREFILL_UNSEEN
from analyzer.verdict.findings import CHECKS
from analyzer.verdict.rule import Rule, everything
from analyzer.verdict.summary import SHORT
from analyzer.verdict.vocabulary import CAUSES, Cause
from collector.generated_page import main, table
from collector.phases import TTFT_PARTS

_QUOTING = {"median": 0, "count": 0, "number": 0, "part": 1}
"""Functions that make evidence, and which argument names the signal."""


def render() -> str:
    """Return the page."""
    return page_text.INTRODUCTION + _baselines() + _confidence() + _causes() + _findings() + _missing()


def _baselines() -> str:
    rates = ", ".join(f"{kind.name} {rate:g} GB/s" for kind, rate in baselines.SUPPLIED_GB_S.items())
    return page_text.BASELINES.format(
        estimator=robust_fit.ESTIMATOR,
        breakdown=robust_fit.BREAKDOWN_POINT,
        enough=baselines.ENOUGH_HEALTHY,
        handshake_ms=baselines.HANDSHAKE_S * 1e3,
        rates=rates,
        line_use=f"{baselines.LINK_USE:.0%}",
        full=f"{FULL_KV:.0%}",
        cap=f"{AT_CAP:.0%}",
    )


def _confidence() -> str:
    return page_text.CONFIDENCE.format(derived=DERIVED, unseen=PREFILL_UNSEEN)


def _causes() -> str:
    own = {cause: [rule for rule in IN_ORDER if rule.cause is cause] for cause in CAUSES}
    return "## Causes\n\n" + "".join(_cause(cause, rules) for cause, rules in own.items())


def _cause(cause: Cause, rules: list[Rule]) -> str:
    head = f"### `{cause}`\n\nRequests that {SHORT[cause]}.\n\n"
    if cause is Cause.INSUFFICIENT_EVIDENCE:
        return head + page_text.ABSTENTION
    rows = [
        (
            ", ".join(f"`{part}`" for part in rule.parts),
            _first_line(rule.claim),
            ", ".join(f"`{need}`" for need in rule.needs) or "–",
            rule.excludes or "–",
            f"{rule.confidence:g}",
        )
        for rule in rules
    ]
    quoted = dict.fromkeys(signal for rule in rules for signal in quotes(rule.explain))
    steps = dict.fromkeys(rule.next_step for rule in rules)
    return (
        head
        + table(("of", "claims", "needs", "does not claim", "confidence"), rows)
        + f"\nQuotes: {', '.join(f'`{signal}`' for signal in quoted)}.\n\n"
        + "".join(f"Next: {step}\n\n" for step in steps)
    )


def _findings() -> str:
    rows = [
        (f"`{check.__name__}`", _first_line(check), ", ".join(severities(check)), _listed(quotes(check)))
        for check in CHECKS
    ]
    return page_text.FINDINGS + table(("finding", "holds for", "severity", "quotes"), rows)


def _missing() -> str:
    rows = [(f"`{item.signal}`", item.why_it_matters, item.how_to_get_it) for item in missing.EVERYTHING]
    return page_text.MISSING + table(("signal", "why it matters", "how to get it"), rows)


def _listed(signals: Iterator[str]) -> str:
    return ", ".join(f"`{signal}`" for signal in dict.fromkeys(signals)) or "–"


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return _plain(function.func) if isinstance(function, partial) else function


def _first_line(function: Callable[..., Any]) -> str:
    """What a function says of itself first."""
    plain = _plain(function)
    if plain is everything:
        return "What is left."
    return (inspect.getdoc(plain) or "").split("\n\n")[0].replace("\n", " ")


def quotes(function: Callable[..., Any]) -> Iterator[str]:
    """Signals that an explanation names, in order, those of explanations that it includes too."""
    plain = _plain(function)
    tree = _tree(plain)
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or not call.args:
            continue
        if call.func.id in _QUOTING:
            yield from _names(call.args[_QUOTING[call.func.id]], tree)
        elif call.func.id.startswith("explain") and call.func.id in plain.__globals__:
            yield from quotes(plain.__globals__[call.func.id])


def severities(check: Callable[..., Any]) -> list[str]:
    """Severities a check reports with."""
    found = [
        call.args[1].value
        for call in ast.walk(_tree(check))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "Finding"
        and isinstance(call.args[1], ast.Constant)
    ]
    return list(dict.fromkeys(map(str, found)))


def _tree(function: Callable[..., Any]) -> ast.AST:
    return ast.parse(textwrap.dedent(inspect.getsource(function)))


def _names(node: ast.expr, tree: ast.AST) -> Iterator[str]:
    """A name as it is written; of one that varies, its fixed part, or the phases that the function lists."""
    if isinstance(node, ast.Constant):
        yield str(node.value)
    elif isinstance(node, ast.JoinedStr):
        parts = (str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        yield "".join(parts)
    else:
        constants = (item.value for item in ast.walk(tree) if isinstance(item, ast.Constant))
        yield from (str(value) for value in constants if value in TTFT_PARTS)


if __name__ == "__main__":
    sys.exit(main(render))
