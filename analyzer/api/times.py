"""Instants in and out: RFC 3339 or Unix seconds in, RFC 3339 with nanoseconds out."""

import re
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation

from analyzer.api.errors import BadParameter
from analyzer.slo.scope import MAX_NS

_RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?([Zz]|[+\- ]\d\d:\d\d)?", re.ASCII
)


def parse_instant(text: str, field: str) -> int:
    """Return Unix nanoseconds. A time without offset is UTC. Raises BadParameter (bad_time_range)."""
    matched = _RFC3339.fullmatch(text)
    ns = _from_rfc3339(matched) if matched else _from_seconds(text)
    if ns is None or not 0 <= ns <= MAX_NS:
        raise BadParameter(
            f"{field}: {text[:64]!r} is not a time between 1970 and 2100; "
            "give RFC 3339 (2026-01-31T12:00:00Z) or Unix seconds",
            field,
            "bad_time_range",
        )
    return ns


def _from_rfc3339(matched: re.Match[str]) -> int | None:
    date, clock, fraction, offset = matched.groups()
    # A '+' that was not percent-encoded arrives as a space.
    zone = (offset or "Z").upper().replace(" ", "+").replace("Z", "+00:00")
    try:
        seconds = int(datetime.fromisoformat(f"{date}T{clock}{zone}").timestamp())
    except (ValueError, OverflowError):
        return None
    return seconds * 1_000_000_000 + int((fraction or "0").ljust(9, "0"))


def _from_seconds(text: str) -> int | None:
    try:
        value = Decimal(text) if len(text) <= 40 else None
    except InvalidOperation:
        return None
    if value is None or not value.is_finite() or not -1 < value < 10**11:
        return None
    return int(value * 1_000_000_000)


def rfc3339(ns: int) -> str:
    """Unix nanoseconds as RFC 3339 in UTC, to the nanosecond."""
    seconds, rest = divmod(ns, 1_000_000_000)
    moment = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{moment}.{rest:09d}Z"


def seconds(ns: float | None) -> float | None:
    """Nanoseconds as seconds; None stays None."""
    return None if ns is None else round(ns / 1e9, 9)
