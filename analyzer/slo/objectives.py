"""Objectives of TTFT and TPOT, from `slo.yaml`: the first whose selector matches a request counts.

objectives:
  - name: chat-short
    selector: {model: llama-70b, route: chat, tenant: acme, input_bucket: 0-1K}   # each member optional
    ttft: 1.5          # seconds to the first token
    tpot: 0.04         # seconds per output token after the first
    target: 0.99       # fraction of evaluated requests that must meet both
    period_days: 30    # the error budget's period
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from collector.config_file import Node, read_config
from collector.errors import ConfigError

INPUT_BUCKETS = ("0-1K", "1-4K", "4-16K", "16K+")
"""Prompt length buckets; 1K is 1,024 tokens, the lower edge belongs to the bucket."""

_SELECTOR = ("model", "route", "tenant", "input_bucket")
_FIELDS = ("name", "selector", "ttft", "tpot", "target", "period_days")
_MAX_OBJECTIVES = 500


@dataclass(frozen=True)
class Selector:
    """Which requests an objective is for; an empty member matches every request."""

    model: str = ""
    route: str = ""
    tenant: str = ""
    input_bucket: str = ""

    def matches(self, model: str, route: str, tenant: str, input_bucket: str) -> bool:
        """Say whether a request with these labels falls under the objective."""
        pairs = (
            (self.model, model),
            (self.route, route),
            (self.tenant, tenant),
            (self.input_bucket, input_bucket),
        )
        return all(wanted in ("", given) for wanted, given in pairs)


@dataclass(frozen=True)
class Objective:
    """One objective: TTFT and TPOT in seconds, target as a fraction, the budget's period in days."""

    name: str
    ttft: float
    tpot: float
    target: float = 0.99
    period_days: int = 30
    selector: Selector = Selector()
    source: str = "configured"
    """`configured`, `default` (no file, or no selector matched), or `override` (asked for in the call)."""
    target_asked: bool = True
    """False when latencies were asked for without a target: then every miss counts, not the share of them."""


DEFAULT = Objective("default", ttft=2.0, tpot=0.1, target=0.99, period_days=30, source="default")
"""For requests no configured objective is for: first token within 2 s, then 10 tokens per second."""


@dataclass(frozen=True)
class Objectives:
    """An ordered list that ends with a catch-all, so that every request has exactly one objective."""

    items: tuple[Objective, ...] = (DEFAULT,)

    def override(
        self, ttft: float | None = None, tpot: float | None = None, target: float | None = None
    ) -> "Objectives":
        """Replace the given values in every objective; None keeps the configured value."""
        given = {"ttft": ttft, "tpot": tpot, "target": target}
        changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if not changes:
            return self
        asked = target is not None
        return Objectives(
            tuple(replace(item, source="override", target_asked=asked, **changes) for item in self.items)
        )

    def of_tenant(self, tenant: str) -> "Objectives":
        """Those that a tenant's requests can fall under: the others are promises made to someone else."""
        return Objectives(tuple(item for item in self.items if item.selector.tenant in ("", tenant)))

    def params(self) -> dict[str, list[Any]]:
        """Bound parameters of the view `judged_requests`: one array a field, in matching order."""
        return {
            "objective_models": [item.selector.model for item in self.items],
            "objective_routes": [item.selector.route for item in self.items],
            "objective_tenants": [item.selector.tenant for item in self.items],
            "objective_buckets": [item.selector.input_bucket for item in self.items],
            "objective_ttft_ns": [round(item.ttft * 1e9) for item in self.items],
            "objective_tpot_ns": [item.tpot * 1e9 for item in self.items],
        }


def load_objectives(path: Path | None) -> Objectives:
    """Read `slo.yaml`; without a path, the documented default alone.

    Raises ConfigError naming file, line and field.
    """
    if path is None:
        return Objectives()
    root = read_config(path)
    if root.value is None:
        raise ConfigError(f"{path}: empty; expected `objectives:` with at least one entry")
    entries = root.fields("slo file", ("objectives",)).get("objectives")
    if entries is None:
        raise root.error("missing key 'objectives'")
    nodes = entries.items("objectives")
    if not nodes:
        raise entries.error(
            "objectives: expected at least one entry; without the file, the default one applies"
        )
    if len(nodes) > _MAX_OBJECTIVES:
        raise entries.error(f"{len(nodes)} objectives; at most {_MAX_OBJECTIVES} are supported")
    read: list[Objective] = []
    for node in nodes:
        objective = _objective(node)
        if any(objective.name == other.name for other in read):
            raise node.error(f"objective {objective.name!r} is named twice; names must differ")
        read.append(objective)
    if not any(item.selector == Selector() for item in read):
        read.append(DEFAULT)
    return Objectives(tuple(read))


def _objective(node: Node) -> Objective:
    fields = node.fields("objective", _FIELDS)
    for required in ("name", "ttft", "tpot"):
        if required not in fields:
            raise node.error(f"objective: missing field {required!r}")
    name = _text(fields["name"], "name")
    selector = _selector(fields["selector"]) if "selector" in fields else Selector()
    return Objective(
        name=name,
        ttft=_number(fields["ttft"], "ttft", "seconds", 0, 86400),
        tpot=_number(fields["tpot"], "tpot", "seconds", 0, 86400),
        target=_number(fields["target"], "target", "a fraction", 0, 1) if "target" in fields else 0.99,
        period_days=_days(fields["period_days"]) if "period_days" in fields else 30,
        selector=selector,
    )


def _selector(node: Node) -> Selector:
    fields = node.fields("selector", _SELECTOR)
    values = {key: _text(value, f"selector.{key}") for key, value in fields.items()}
    bucket = values.get("input_bucket", "")
    if bucket and bucket not in INPUT_BUCKETS:
        message = f"selector.input_bucket: {bucket!r} is not one of {', '.join(INPUT_BUCKETS)}"
        raise fields["input_bucket"].error(message)
    return Selector(**values)


def _text(node: Node, field: str) -> str:
    if not isinstance(node.value, str) or not node.value or "\0" in node.value:
        raise node.error(f"{field}: expected text, not {node.value!r} (quote it if it looks like a number)")
    return node.value


def _number(node: Node, field: str, unit: str, above: float, below: float) -> float:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not above < value < below:
        raise node.error(f"{field}: expected {unit} above {above:g} and below {below:g}, not {value!r}")
    return float(value)


def _days(node: Node) -> int:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 366:
        raise node.error(f"period_days: expected whole days from 1 to 366, not {value!r}")
    return value
