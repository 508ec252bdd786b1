"""Writes the adapters' metric rules where the SQL reads them."""

from collections.abc import Iterable

from collector.engines.rules import Adapter, told_by_metrics
from collector.engines.signals import SignalRule
from collector.store import Store, keep_rows

_COLUMNS = (
    "metric", "dialect", "signal", "counter", "as_rate", "reads", "scale", "conditions", "part", "part_label",
    "value_labels", "worker_labels", "model_label", "pool_label", "pool", "repeated_by", "rank", "moves",
)  # fmt: skip


def write_signal_rules(store: Store, adapters: Iterable[Adapter]) -> None:
    """Replace the metric rules in the store by those of `adapters`."""
    adapters = list(adapters)
    rows = [
        _row(adapter, rule, name) for adapter in adapters for rule in adapter.signals for name in rule.names
    ]
    keep_rows(store, "signal_rules", rows, _COLUMNS)
    keep_rows(store, "info_rules", told_by_metrics(adapters), ("metric", "label", "name"))


def _row(adapter: Adapter, rule: SignalRule, name: str) -> list[object]:
    return [
        name, adapter.name, rule.signal, int(rule.counter), int(rule.as_rate), str(rule.reads), rule.scale,
        list(rule.where), rule.part, rule.part_label, list(rule.value_labels), list(rule.worker_labels),
        rule.model_label, rule.pool_label, rule.pool, list(rule.repeated_by), rule.rank, int(rule.moves),
    ]  # fmt: skip
