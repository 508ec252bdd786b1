"""Stores telemetry files and says what became of every record in them."""

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from collector.errors import BadBody, CollectorError
from collector.receive.commit import Sink, commit
from collector.receive.formats import FileReport, Record, read_path, read_stream
from collector.receive.formats.bytes_in import Counted
from collector.receive.formats.read import files_under

_BATCH_BYTES = 8 << 20
_BATCH_SPANS = 20_000


@dataclass
class ImportReport:
    """What an import did, file by file."""

    files: list[FileReport] = field(default_factory=list)

    @property
    def spans(self) -> int:
        """Spans stored."""
        return sum(file.spans for file in self.files)


def import_files(
    paths: Iterable[Path], sink: Sink, on_read: Callable[[int], object] = lambda size: None
) -> ImportReport:
    """Read files and directories and store their spans, telling `on_read` the bytes as they are read.

    Raises ConfigError when a path does not exist, StoreError when storing fails: what was stored before
    stays, and importing the same files again adds nothing twice to any answer.
    """
    files = [file for path in paths for file in files_under(path)]
    report = ImportReport([FileReport(str(file)) for file in files])
    pairs = zip(files, report.files, strict=True)
    _store(
        (
            (file_report, record)
            for file, file_report in pairs
            for record in read_path(file, file_report, on_read)
        ),
        sink,
    )
    return report


def import_stream(
    stream: BinaryIO, name: str, sink: Sink, on_read: Callable[[int], object] = lambda size: None
) -> FileReport:
    """Store what one open stream holds. Raises StoreError."""
    report = FileReport(name)
    plain = io.BufferedReader(Counted(stream, on_read))
    _store(((report, record) for record in read_stream(plain, name, report)), sink)
    return report


_Read = tuple[FileReport, Record]


def _store(records: Iterable[_Read], sink: Sink) -> None:
    for batch in _batches(records):
        results = commit(sink, [record.body for _, record in batch])
        for (report, record), result in zip(batch, results, strict=True):
            if isinstance(result, BadBody):
                report.skip(record.place, "refused by the store", str(result))
            elif isinstance(result, CollectorError):
                raise result
            else:
                report.bodies += 1
                report.spans += record.spans - sum(result.values())
                report.refused.update(result)


def _batches(records: Iterable[_Read]) -> Iterator[list[_Read]]:
    batch: list[_Read] = []
    size = spans = 0
    for report, record in records:
        batch.append((report, record))
        size += len(record.body)
        spans += record.spans
        if size >= _BATCH_BYTES or spans >= _BATCH_SPANS:
            yield batch
            batch, size, spans = [], 0, 0
    if batch:
        yield batch
