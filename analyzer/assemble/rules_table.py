"""Writes what the adapters and the settings say where the SQL reads it."""

from collections.abc import Iterable

from analyzer.assemble.codes import PHASE_CODE, PREEMPTED_CODE, SOURCE_CODE, covers_mask
from analyzer.assemble.scratch import RULES, Scratch
from collector.engines.rules import Adapter, Between, Role
from collector.store import Store, keep_rows

_ROLE_COLUMNS = ("pattern", "role", "configured")


def write_rules(
    store: Store, scratch: Scratch, adapters: Iterable[Adapter], roles: Iterable[tuple[str, Role, bool]]
) -> None:
    """Replace the rules by those of `adapters`; roles: (pattern, role, whether it was configured).

    Which spans are read, and the roles, are looked up by the store's own views and answers as well.
    """
    adapters = tuple(adapters)
    read = [[rule.key, rule.prefix] for adapter in adapters for rule in adapter.rules]
    between = [_between(rule) for adapter in adapters for rule in adapter.between]
    processes = [[pattern, int(role), int(configured)] for pattern, role, configured in roles]
    # where the store's own views and answers look for them
    keep_rows(store, "span_rules", read, ("key", "prefix"))
    keep_rows(store, "process_roles", processes, _ROLE_COLUMNS)
    for table in RULES:
        scratch.command(f"TRUNCATE TABLE {{scratch:Identifier}}.{table}")
    scratch.insert("mark_rules", between, ("start", "end", "phase", "covers", "source", "reason"))
    # last: that they are there says that all are
    scratch.insert("process_roles", processes, _ROLE_COLUMNS)


def _between(rule: Between) -> list[object]:
    if rule.composite:
        phase, covers = 0, covers_mask(rule.covers)
    else:
        phase, covers = (PHASE_CODE[rule.covers[0]] if rule.covers else PREEMPTED_CODE), 0
    return [rule.start, rule.end, phase, covers, SOURCE_CODE[rule.source], rule.reason]
