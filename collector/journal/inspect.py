"""Reading a journal without touching it, also while pdscope runs: for `pdscope journal`."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from collector.errors import StoreError
from collector.journal.format import Unreadable
from collector.journal.journal import POSITION_FILE
from collector.journal.position import Position, PositionFile
from collector.journal.segment import ASIDE, SUFFIX, Damage, Segment


@dataclass
class SegmentReport:
    """One segment: its size, when it was made, records and bytes by kind, and what cannot be read."""

    file: Path
    size: int
    made_at: str | None = None
    records: Counter[int] = field(default_factory=Counter)
    body_bytes: int = 0
    waiting: int = 0
    """Records that are not yet stored, as far as the position file says."""
    aside: bool = False
    torn_bytes: int = 0
    damages: list[Damage] = field(default_factory=list)


def read_journal(directory: Path) -> list[SegmentReport]:
    """Read every segment, those set aside last. Raises StoreError when there is no journal."""
    if not directory.is_dir():
        raise StoreError(f"no journal in {directory}; give --data the directory that pdscope serves from")
    position = None
    if (directory / POSITION_FILE).exists():
        file = PositionFile(directory / POSITION_FILE)
        position = file.read()
        file.close()
    active = [read_segment(path, position) for path in sorted(directory.glob(f"*{SUFFIX}"))]
    aside = [read_segment(path) for path in sorted((directory / ASIDE).glob(f"*{SUFFIX}"))]
    for report in aside:
        report.aside = True
    return active + aside


def read_segment(path: Path, position: Position | None = None) -> SegmentReport:
    """Read one segment to its end."""
    try:
        report = SegmentReport(path, path.stat().st_size)
        segment = Segment.open(path)
    except FileNotFoundError:
        # Stored and unlinked while we looked.
        return SegmentReport(path, 0)
    except ValueError as error:
        report.damages.append(Damage(path, 0, report.size, str(error)))
        return report
    header = segment.header
    made = datetime.fromtimestamp(header.made_ns // 10**9, UTC)
    report.made_at = made.isoformat().replace("+00:00", "Z")
    for item in segment.records():
        if isinstance(item, Unreadable):
            if item.torn:
                report.torn_bytes = item.end - item.start
            else:
                report.damages.append(Damage(path, item.start, item.end - item.start, item.problem))
            continue
        report.records[item.kind] += 1
        report.body_bytes += len(item.body)
        stored = position is not None and (
            header.number < position.number
            or (
                (header.number, header.seed) == (position.number, position.seed)
                and item.end <= position.offset
            )
        )
        report.waiting += not stored
    segment.close()
    return report
