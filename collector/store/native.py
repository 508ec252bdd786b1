"""Reads ClickHouse's Native format into numpy arrays as it comes, without a Python loop over rows of numbers.

Native is column by column: per block the number of columns and rows, then for each column its name, type and
values (ClickHouse docs, Formats, Native). Read here: fixed-size numbers, Enum8, DateTime, fixed-length arrays
of numbers, and text. What is Nullable or LowCardinality is to be cast away in the statement.
"""

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Column = NDArray[np.generic]

_NUMBERS: Mapping[str, str] = {
    "UInt8": "<u1", "UInt16": "<u2", "UInt32": "<u4", "UInt64": "<u8", "Bool": "<u1",
    "Int8": "<i1", "Int16": "<i2", "Int32": "<i4", "Int64": "<i8",
    "Float32": "<f4", "Float64": "<f8",
}  # fmt: skip


class Answer(Protocol):
    """Bytes as they come."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""
        ...


class _OpenToItsEnd(io.RawIOBase):
    """An answer over HTTP closes itself with its last byte, which a buffered reader takes for an error."""

    def __init__(self, answer: Answer):
        self._answer: Answer | None = answer

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        room = memoryview(buffer)
        found = self._answer.read(len(room)) if self._answer else b""
        if not found:
            self._answer = None
        room[: len(found)] = found
        return len(found)


class NativeReader:
    """Reads a Native answer to its end; the answer is never held as a whole."""

    def __init__(self, answer: Answer):
        self._stream = io.BufferedReader(_OpenToItsEnd(answer), 1 << 16)

    def columns(self) -> dict[str, Column]:
        """Return all blocks joined, by column name; empty when the answer had no block at all.

        Raises ValueError for a type that is not read here, EOFError for an answer that breaks off.
        """
        parts: dict[str, list[Column]] = {}
        while self._stream.peek(1):
            columns, rows = self._varint(), self._varint()
            for _ in range(columns):
                name, type_ = self._text(), self._text()
                parts.setdefault(name, []).append(self._column(name, type_, rows))
        return {name: _joined(parts.pop(name)) for name in list(parts)}

    def _column(self, name: str, type_: str, rows: int) -> Column:
        if type_ in _NUMBERS:
            return self._numbers(_NUMBERS[type_], rows)
        if type_ == "String":
            return np.array([self._text() for _ in range(rows)], dtype=object)
        if type_.startswith("Array(") and type_[6:-1] in _NUMBERS:
            return self._arrays(_NUMBERS[type_[6:-1]], rows)
        raise ValueError(f"column {name}: type {type_} is not read as an array; cast it in the statement")

    def _arrays(self, dtype: str, rows: int) -> Column:
        """Arrays of one length become a matrix (rows, length).

        Where some are empty it is one of floats, and nan in their rows.
        """
        ends = self._numbers("<u8", rows).astype(np.int64)
        flat = self._numbers(dtype, int(ends[-1]) if rows else 0)
        lengths = np.diff(ends, prepend=0)
        width = int(lengths.max(initial=0))
        filled = lengths == width
        if filled.all():
            return flat.reshape(rows, width)
        if lengths[~filled].any():
            raise ValueError("arrays of different lengths cannot be read as a matrix")
        out = np.full((rows, width), np.nan)
        out[filled] = flat.reshape(-1, width)
        return out

    def _numbers(self, dtype: str, count: int) -> Column:
        return np.frombuffer(self._bytes(np.dtype(dtype).itemsize * count), dtype, count)

    def _text(self) -> str:
        return self._bytes(self._varint()).decode("utf-8", "replace")

    def _bytes(self, size: int) -> bytes:
        found = self._stream.read(size)
        if len(found) < size:
            raise EOFError(f"the answer breaks off {size - len(found)} bytes early")
        return found

    def _varint(self) -> int:
        number = shift = 0
        while True:
            byte = self._bytes(1)[0]
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
            shift += 7


def _joined(parts: list[Column]) -> Column:
    filled = [part for part in parts if len(part)]
    if not filled:
        return parts[0]
    width = max((part.shape[1] for part in filled if part.ndim > 1), default=0)
    filled = [
        np.full((len(part), width), np.nan) if part.ndim > 1 and not part.shape[1] else part
        for part in filled
    ]
    return filled[0] if len(filled) == 1 else np.concatenate(filled)
