"""Stores what a journal holds, without a receiver: after a crash, or from a file that was set aside."""

from dataclasses import dataclass
from pathlib import Path

from collector.errors import BadBody, CollectorError, StoreError
from collector.journal import Journal, Record
from collector.journal.segment import Segment
from collector.receive.commit import Sink, commit
from collector.receive.export import Kind
from collector.receive.inserter import Inserter
from collector.receive.metrics import ReceiveMetrics

_BATCH_BYTES = 8 << 20


@dataclass
class Replayed:
    """What a replay did: records stored and refused, and places that could not be read."""

    stored: int = 0
    refused: int = 0
    unreadable: int = 0


def replay_journal(journal: Journal, sink: Sink, metrics: ReceiveMetrics) -> int:
    """Store everything that waits; returns its size in bytes. Raises StoreError when the store fails."""
    waiting = journal.backlog_bytes
    Inserter(journal, sink, metrics).drain()
    return waiting


def replay_file(path: Path, sink: Sink) -> Replayed:
    """Store the records of one segment file, which stays. Raises StoreError; ValueError on a bad header."""
    done = Replayed()
    segment = Segment.open(path)
    batch: list[Record] = []
    size = 0
    for item in segment.records():
        if not isinstance(item, Record):
            done.unreadable += 1
            continue
        batch.append(item)
        size += len(item.body)
        if size >= _BATCH_BYTES:
            _store(batch, sink, done)
            batch, size = [], 0
    _store(batch, sink, done)
    segment.close()
    return done


def _store(batch: list[Record], sink: Sink, done: Replayed) -> None:
    for kind in Kind:
        bodies = [bytes(record.body) for record in batch if record.kind == kind]
        for result in commit(sink, bodies, kind == Kind.METRICS) if bodies else ():
            if isinstance(result, BadBody):
                done.refused += 1
            elif isinstance(result, CollectorError):
                raise StoreError(str(result)) from result
            else:
                done.stored += 1
