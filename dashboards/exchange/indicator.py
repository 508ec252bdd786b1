"""What an objective counts, in PromQL over the metrics pdscope exports, and the names other tools allow."""

import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal

from analyzer.slo.objectives import Objective, Objectives
from dashboards.alerts.burn import REQUESTS, promql_text
from dashboards.yaml_text import number

SERVICE = "llm-serving"
"""What objectives without a model are said to be of."""
_MAX_NAME = 63


def good(objective: Objective) -> str:
    """Series of the requests that met both limits."""
    return f'{REQUESTS}{{slo={promql_text(objective.name)}, result="met"}}'


def bad(objective: Objective) -> str:
    """Series of the evaluated requests that missed."""
    return f'{REQUESTS}{{slo={promql_text(objective.name)}, result="missed"}}'


def evaluated(objective: Objective) -> str:
    """Series of all evaluated requests."""
    return f'{REQUESTS}{{slo={promql_text(objective.name)}, result=~"met|missed"}}'


def said(objective: Objective) -> str:
    """The promise in a sentence."""
    return (
        f"TTFT within {objective.ttft:g} s and TPOT within {objective.tpot:g} s, "
        f"for {number(percent(objective))}% of evaluated requests over {objective.period_days} days"
    )


def percent(objective: Objective) -> Decimal | int:
    """The target in per cent, exactly."""
    exact = Decimal(str(objective.target)) * 100
    return int(exact) if exact == int(exact) else exact


def configured(objectives: Objectives) -> list[Objective]:
    """The objectives somebody wrote down; the documented default when nobody did."""
    written = [item for item in objectives.items if item.source != "default"]
    return written or list(objectives.items)


def unique_names(texts: Iterable[str]) -> list[str]:
    """DNS labels (RFC 1123: a-z, 0-9 and -, at most 63) that resemble the texts, none twice."""
    taken: set[str] = set()
    out = []
    for text in texts:
        base = dns_label(text)
        name, number = base, 2
        while name in taken:
            ending = f"-{number}"
            name, number = base[: _MAX_NAME - len(ending)].rstrip("-") + ending, number + 1
        taken.add(name)
        out.append(name)
    return out


def dns_label(text: str) -> str:
    """A DNS label that resembles a text."""
    ascii_only = unicodedata.normalize("NFKD", text.lower()).encode("ascii", "ignore").decode()
    plain = re.sub(r"[^a-z0-9]+", "-", ascii_only).strip("-")
    return plain[:_MAX_NAME].rstrip("-") or "objective"
