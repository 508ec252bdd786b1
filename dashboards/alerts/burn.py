"""Recording and alerting rules that tell how fast each objective's error budget burns."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from analyzer.slo.objectives import Objective, Objectives
from dashboards.alerts.places import Places
from dashboards.alerts.windows import Pair, duration, pairs, spoken
from dashboards.boards.parts import OVERVIEW_UID, WHY_UID
from dashboards.yaml_text import number

Rule = dict[str, Any]
REQUESTS = "pdscope_slo_requests_total"


@dataclass(frozen=True)
class _Indicator:
    """What counts as bad for one kind of objective; `bad` selects by slo."""

    name: str
    bad: str
    words: str


_INDICATORS = (
    _Indicator("joint", REQUESTS + '{{slo={slo}, result="missed"}}', "TTFT or TPOT, or failed"),
    _Indicator("ttft", "pdscope_slo_ttft_misses_total{{slo={slo}}}", "TTFT"),
    _Indicator("tpot", "pdscope_slo_tpot_misses_total{{slo={slo}}}", "TPOT"),
)


def burn_groups(objectives: Objectives, places: Places, shorten: int = 1) -> Iterator[Rule]:
    """Two groups per objective: what is recorded, and what alerts on it."""
    for objective in objectives.items:
        windows = pairs(objective.period_days, shorten)
        recorded = [rule for pair in windows for rule in _recorded(objective, pair)]
        alerts = [
            _alert(objective, indicator, pair, places, shorten)
            for indicator in _INDICATORS
            for pair in windows
        ]
        yield {"name": f"pdscope_burn_{objective.name}", "rules": [*recorded, *alerts]}


def _recorded(objective: Objective, pair: Pair) -> Iterator[Rule]:
    for indicator in _INDICATORS:
        for length, seconds in (("long", pair.long_s), ("short", pair.short_s)):
            yield {
                "record": f"pdscope:slo_burn_rate:{length}",
                "expr": _burn_rate(objective, indicator, duration(seconds)),
                "labels": _labels(objective, indicator, pair) | {"window": duration(seconds)},
            }


def _burn_rate(objective: Objective, indicator: _Indicator, window: str) -> str:
    """Bad part of evaluated requests ÷ the part that the target allows."""
    slo = promql_text(objective.name)
    bad = indicator.bad.format(slo=slo)
    good_or_bad = f'{REQUESTS}{{slo={slo}, result=~"met|missed"}}'
    allowed = number(allowed_part(objective))
    return f"sum(rate({bad}[{window}])) / sum(rate({good_or_bad}[{window}])) / {allowed}"


def allowed_part(objective: Objective) -> Decimal:
    """The part of evaluated requests that may miss: 1 - target, exactly."""
    return 1 - Decimal(str(objective.target))


def promql_text(text: str) -> str:
    """A PromQL string literal."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _labels(objective: Objective, indicator: _Indicator, pair: Pair) -> dict[str, str]:
    return {
        "slo": objective.name,
        "model": objective.selector.model or "all",
        "sli": indicator.name,
        "pair": str(pair.number),
    }


def _alert(objective: Objective, indicator: _Indicator, pair: Pair, places: Places, shorten: int) -> Rule:
    slo = promql_text(objective.name)
    chosen = f'slo={slo}, sli="{indicator.name}", pair="{pair.number}"'
    factor = number(pair.factor)
    long, short = spoken(pair.long_s), spoken(pair.short_s)
    top = f"topk(1, sum by (cause) (pdscope_missed_requests_by_cause{{slo={slo}}}))"
    limits = f"TTFT {number(objective.ttft)} s, TPOT {number(objective.tpot)} s"
    return {
        "alert": "PdscopeBudgetBurn",
        "expr": f"pdscope:slo_burn_rate:long{{{chosen}}} > {factor}\n"
        f"and ignoring (window)\npdscope:slo_burn_rate:short{{{chosen}}} > {factor}",
        "for": duration(max(1, (120 if pair.severity == "page" else 900) // shorten)),
        "labels": {"severity": pair.severity} | _labels(objective, indicator, pair),
        "annotations": {
            "summary": f"{objective.name}: the error budget burns "
            f'{{{{ printf "%.1f" $value }}}} times too fast ({indicator.words})',
            "description": f"Over {long} and {short}, more than {factor} times the "
            f"{number(allowed_part(objective) * 100)}% that may miss ({limits}) did. "
            f"At that pace {number(pair.spends * 100)}% of the {objective.period_days}-day budget "
            f"go in {long}. "
            f"Most misses of the last 10 minutes: {{{{ with query {_template_text(top)} }}}}"
            "{{ with first . }}{{ .Labels.cause }} ({{ .Value | humanize }} requests){{ end }}"
            "{{ else }}no cause known{{ end }}.",
            "dashboard": places.dashboard(OVERVIEW_UID, "now-6h", objective=objective.name),
            "why": places.dashboard(WHY_UID, objective=objective.name),
            "runbook_url": places.runbook("slo_burn"),
        },
    }


def _template_text(expression: str) -> str:
    """A Go template's string literal."""
    return '"' + expression.replace("\\", "\\\\").replace('"', '\\"') + '"'
