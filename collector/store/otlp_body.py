"""How OTLP bodies become one insert: concatenated, stamped with the ingest sequence, parsed by ClickHouse."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_SEQUENCE_TAG = b"\xc0\x3e"
"""Wire tag of `Export.ingest_sequence` (field 1000, varint)."""


@dataclass(frozen=True)
class OtlpKind:
    """One kind of OTLP export: where it enters, how it is parsed, where its insert is accounted for."""

    name: str
    table: str
    proto: Path
    """The file that says how its messages look."""
    log: str
    """A file beside the store: the row of one insert's log."""
    items: str
    """The log's column that counts what was offered."""
    reasons: tuple[str, ...]
    """The log's columns that count what was kept out."""

    @property
    def settings(self) -> Mapping[str, object]:
        """How ClickHouse parses the bodies.

        The schema is named by its file: ClickHouse would write one given as text into `__cache__/` of the
        working directory, which need not be writable.
        """
        return {
            "format_schema": str(self.proto),
            "format_schema_message_name": "Export",
            "max_threads": 1,
            "max_insert_threads": 1,
            # what these find in the views' queries is not worth the 11 ms they look for it, in every insert
            "query_plan_enable_optimizations": 0,
            "optimize_and_compare_chain": 0,
        }


_HERE = Path(__file__).resolve().parent

TRACES = OtlpKind(
    name="trace",
    table="otlp_in",
    proto=_HERE / "otlp.proto",
    log="ingest_row",
    items="spans",
    reasons=("bad_trace_id", "bad_span_id", "bad_start", "bad_end"),
)
METRICS = OtlpKind(
    name="metrics",
    table="otlp_metrics_in",
    proto=_HERE / "otlp_metrics.proto",
    log="metric_ingest_row",
    items="points",
    reasons=("no_name", "no_value", "bad_time", "not_finite", "no_temporality", "bad_buckets"),
)


def one_message(bodies: Sequence[bytes], sequence: int) -> list[bytes]:
    """One protobuf message in pieces: bodies put behind each other are valid; the sequence is appended."""
    return [*bodies, _SEQUENCE_TAG + _varint(sequence)]


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
