"""Stores a batch of bodies so that a bad one fails alone."""

import logging
from collections.abc import Mapping, Sequence
from typing import Protocol

from google.protobuf.message import DecodeError

from collector.errors import BadBody, CollectorError, StoreError
from collector.receive.check import refused_spans
from collector.store.store import InsertResult

_log = logging.getLogger(__name__)

Refused = Mapping[str, int]
"""Spans or points of one body that were kept out, by reason."""


class TraceSink(Protocol):
    """Where trace exports are stored."""

    def insert_traces(self, bodies: Sequence[bytes]) -> InsertResult:
        """Store all of `bodies`, or raise BadBody or StoreError and store none."""
        ...


class Sink(TraceSink, Protocol):
    """Where exports of every kind are stored: the store."""

    def insert_metrics(self, bodies: Sequence[bytes]) -> InsertResult:
        """As `insert_traces`, for metrics."""
        ...


def commit(sink: Sink, bodies: Sequence[bytes], metrics: bool = False) -> list[Refused | CollectorError]:
    """Store `bodies` with as few inserts as possible and say, body by body, what became of it.

    A batch that cannot be parsed is halved until the body at fault is alone. When the store fails,
    every body of the batch gets that error. Of metrics the store alone counts what it keeps out.
    """
    try:
        result = sink.insert_metrics(bodies) if metrics else sink.insert_traces(bodies)
    except BadBody as error:
        if len(bodies) == 1:
            return [error]
        half = len(bodies) // 2
        return commit(sink, bodies[:half], metrics) + commit(sink, bodies[half:], metrics)
    except CollectorError as error:
        return [error] * len(bodies)
    except Exception as error:
        # Whatever it was: the bodies are kept for another try, and their neighbours are not stored twice.
        _log.exception("storing %d bodies failed", len(bodies))
        return [StoreError(f"storing failed: {type(error).__name__}: {error}")] * len(bodies)
    if not result.refused:
        return [{}] * len(bodies)
    if metrics:
        return [result.refused if len(bodies) == 1 else {}] * len(bodies)
    return [_refused(body) for body in bodies]


def _refused(body: bytes) -> Refused:
    """What the store kept out of a body; nothing is told of one that only the store can read."""
    try:
        return refused_spans(body)
    except DecodeError:
        return {}
