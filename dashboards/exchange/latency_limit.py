"""Which latency an OpenSLO indicator limits, and to what: told by the metric's name in its query."""

import re
from dataclasses import dataclass
from typing import Any, Literal

from analyzer.slo.objectives import Selector
from dashboards.exchange.label_matchers import selector_of
from dashboards.exchange.openslo_reading import Unfit, mapping

_TTFT = re.compile(r"time_to_first_token|(?<![a-z])ttft(?![a-z])", re.IGNORECASE)
_TPOT = re.compile(r"time_per_output_token|(?<![a-z])tpot(?![a-z])", re.IGNORECASE)
_MILLISECONDS = re.compile(r"_(?:ms|milliseconds)(?:_bucket)?(?![a-z])", re.IGNORECASE)
_BUCKET = re.compile(r'\ble\s*=\s*"([0-9.eE+-]+)"')


@dataclass(frozen=True)
class Limit:
    """A limit in seconds, the requests it is for, and what of its query is not carried over."""

    latency: Literal["ttft", "tpot"]
    seconds: float
    selector: Selector
    notes: tuple[str, ...] = ()


def latency_limit(indicator: dict[str, Any], objective: dict[str, Any]) -> Limit:
    """The limit that an indicator's spec and its objective set. Raises Unfit when they set none."""
    threshold, ratio = mapping(indicator, "thresholdMetric"), mapping(indicator, "ratioMetric")
    query = _query(threshold) if threshold else _query(mapping(ratio, "good"))
    if not query:
        raise Unfit("its indicator has no query of good events or of a threshold")
    latency: Literal["ttft", "tpot"] | None = (
        "ttft" if _TTFT.search(query) else "tpot" if _TPOT.search(query) else None
    )
    if latency is None:
        raise Unfit("its query names no TTFT or TPOT: only limits of these two are objectives of pdscope")
    value = _threshold(objective) if threshold else _bucket(query)
    seconds = value / 1000 if _MILLISECONDS.search(query) else value
    if not 0 < seconds < 86_400:
        raise Unfit(f"a limit of {seconds:g} s is not above 0 and below a day")
    selector, notes = selector_of(query)
    return Limit(latency, seconds, selector, tuple(notes))


def _query(metric: dict[str, Any]) -> str:
    """All text of a metric source's spec; sources name their query differently."""
    spec = mapping(mapping(metric, "metricSource"), "spec")
    return " ".join(str(value) for value in spec.values() if isinstance(value, str))


def _threshold(objective: dict[str, Any]) -> float:
    operator, value = objective.get("op"), objective.get("value")
    if operator not in ("lte", "lt"):
        raise Unfit(f"op {operator!r}: a latency is limited from above (lte)")
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < 1e12:
        raise Unfit(f"value {value!r} is no number that a latency can have")
    return float(value)


def _bucket(query: str) -> float:
    found = _BUCKET.search(query)
    if not found:
        raise Unfit('its good events name no bucket (le="…"), so that no limit can be told')
    try:
        return float(found[1])
    except ValueError as error:
        raise Unfit(f'le="{found[1]}" is no number') from error
