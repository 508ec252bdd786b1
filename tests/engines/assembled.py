"""Spans of a capture or of a fixture, assembled as the product does it, and what no rule explains of them."""

from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from analyzer.assemble.assembler import Assembler
from analyzer.assemble.oracle_rules import Rules
from analyzer.assemble.oracle_spans import Span, read_spans
from collector.engines import ADAPTERS
from collector.engines.rules import Role
from collector.receive.formats import FileReport, read_path
from collector.receive.formats.read import files_under
from collector.store import Store
from tests.assemble.otlp import body, clear, rows

Row = dict[str, object]


def bodies(path: Path) -> list[bytes]:
    """The OTLP bodies that importing a file or directory stores."""
    return [
        record.body
        for file in files_under(path)
        for record in read_path(file, FileReport(str(file)), lambda size: None)
    ]


def assemble(
    store: Store,
    exports: Iterable[bytes],
    roles: Iterable[tuple[str, Role]] = (),
    stepwise: bool = False,
) -> list[Row]:
    """The requests of these exports alone, oldest first, legs without a request span included.

    stepwise: each export comes when those before it are assembled.
    """
    clear(store)
    store.command("TRUNCATE TABLE transfers")
    exports = list(exports)
    for start in range(0, len(exports), 1 if stepwise else 400):
        store.insert_traces(exports[start : start + (1 if stepwise else 400)])
        if stepwise:
            _assembler(store, tuple(roles)).catch_up()
    _assembler(store, tuple(roles)).catch_up()
    return sorted(rows(store).values(), key=lambda row: int(str(row["started_at"])))


@cache
def _assembler(store: Store, roles: tuple[tuple[str, Role], ...]) -> Assembler:
    """One for all tests: it writes the rules down when it is made."""
    return Assembler(store, roles=roles, grace_s=0.0)


def requests_of(store: Store, spans: Iterable[Span]) -> list[Row]:
    """The requests of these spans, sent in one export."""
    return assemble(store, [body(spans)])


def unexplained(exports: Iterable[bytes]) -> Counter[tuple[str, str]]:
    """Scope and name of spans that no rule reads and none leaves out with a reason."""
    rules = Rules(ADAPTERS)
    found: Counter[tuple[str, str]] = Counter()
    for span in set(read_spans(exports)):
        named = rules.named(span)
        if named is None or (rules.of(span) is None and not named[1].otherwise):
            found[span.scope, span.name] += 1
    return found


def plausible(row: Row) -> bool:
    """No duration is negative, or longer than the capture could have run; exposed time adds up."""
    hour = 3600 * 10**9
    durations = [
        *row["exposed_ns"], *row["exposed_decode_ns"], *row["phase_ns"], row["preempted_ns"],
        *(row[name] or 0 for name in ("ttft_ns", "e2e_ns", "tpot_ns", "stalled_ns", "ttft_uncertainty_ns")),
        *(interval[3] - interval[2] for interval in row["intervals"]),
    ]  # fmt: skip
    return all(0 <= ns < hour for ns in durations) and sum(row["exposed_ns"]) == (row["ttft_ns"] or 0)


__all__ = ["assemble", "bodies", "plausible", "requests_of", "unexplained"]
