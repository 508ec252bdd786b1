"""Reads requests: pages by keyset, one by any of its ids, whole rows by key."""

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analyzer.api.errors import BadParameter
from analyzer.beside import beside
from analyzer.slo.objectives import Objectives
from analyzer.slo.rows import Rows
from analyzer.slo.scope import EVERYTHING, Scope
from collector.sql import read_sql

Row = Mapping[str, Any]
MAX_MATCHES = 100
_MAX_INT64 = 2**63 - 1
FIRST = (_MAX_INT64, "f" * 32)
_HEX_ID = re.compile(r"[0-9a-f]{32}", re.ASCII)
_NO_ID = "0" * 32
_ANSWER_ID = re.compile(r"(chatcmpl|cmpl|resp|msg)[-_](?P<id>.+)")


@dataclass(frozen=True)
class Filter:
    """Which requests of a scope, in which order; an empty text means any."""

    outcome: str = ""
    account: str = ""
    cause: str = ""
    order: str = "newest"

    def params(self) -> dict[str, str]:
        """Bound parameters of the page and count statements."""
        return {"outcome": self.outcome, "account": self.account, "cause": self.cause, "order": self.order}


@dataclass(frozen=True)
class Page:
    """One page of rows, where the next one starts, and how many rows there are on all."""

    rows: list[Row]
    next_cursor: str | None
    total: int


def page(
    store: Rows, scope: Scope, objectives: Objectives, filter_: Filter, cursor: str | None, limit: int
) -> Page:
    """Read up to `limit` requests after `cursor`. Raises BadParameter for a cursor not of this order."""
    after_value, after_key = read_cursor(cursor, filter_.order) if cursor else FIRST
    params = {**scope.params(), **objectives.params(), **filter_.params()}
    of_page = {"after_value": after_value, "after_key": after_key, "limit": limit + 1}
    with beside() as reads:
        counted = reads(store.rows, read_sql(__file__, "requests_count"), params)
        found = store.rows(read_sql(__file__, "requests_page"), params | of_page)
    more = len(found) > limit
    shown = found[:limit]
    next_cursor = write_cursor(filter_.order, shown[-1]["position"], shown[-1]["key"]) if more else None
    return Page(facts(store, shown), next_cursor, counted.result()[0]["total"])


def matching(store: Rows, objectives: Objectives, request_id: str, tenant: str = "") -> list[Row]:
    """Requests that bear the id as key, request id, client request id or trace id; a key matches alone.

    What no request bears itself may be the trace or the request id of one of its legs, or the id of its
    answer as clients read it, of which some systems tell only what follows the prefix.

    tenant: whose requests alone; empty: everyone's.
    """
    found = _bearing(store, request_id, tenant)
    if not found and (answer := _ANSWER_ID.fullmatch(request_id)):
        found = _bearing(store, answer["id"], tenant)
    if not found:
        return []
    params = {**EVERYTHING.params(), **objectives.params(), **_keys(found)}
    with beside() as reads:
        told = reads(store.rows, read_sql(__file__, "requests_by_key"), _keys(found))
        judged = store.rows(read_sql(__file__, "requests_judged"), params)
    return _joined(judged, told.result())


def _bearing(store: Rows, request_id: str, tenant: str) -> list[Row]:
    hex_id = request_id.lower() if _HEX_ID.fullmatch(request_id.lower()) else _NO_ID
    params: dict[str, Any] = {"id": request_id, "hex_id": hex_id, "tenant": tenant, "limit": MAX_MATCHES}
    found = store.rows(read_sql(__file__, "requests_match"), params)
    found = [row for row in found if row["by_key"]] or found
    return list(found or store.rows(read_sql(__file__, "requests_of_leg"), params))


def timeline(store: Rows, row: Row) -> Row:
    """Add to a request what only its own page shows."""
    params = {"key": row["key"], "bucket": row["bucket"]}
    return {**row, **store.rows(read_sql(__file__, "request_timeline"), params)[0]}


def facts(store: Rows, judged: Sequence[Row]) -> list[Row]:
    """Join judged rows, in their order, with what the table says of them."""
    if not judged:
        return []
    return _joined(judged, store.rows(read_sql(__file__, "requests_by_key"), _keys(judged)))


def _joined(judged: Sequence[Row], told: Sequence[Row]) -> list[Row]:
    facts = {row["key"]: row for row in told}
    return [{**row, **facts[row["key"]]} for row in judged if row["key"] in facts]


def _keys(rows: Sequence[Row]) -> dict[str, Any]:
    return {"keys": [row["key"] for row in rows], "buckets": sorted({row["bucket"] for row in rows})}


def write_cursor(order: str, position: int, key: str) -> str:
    """Text that names the place after a row, for the next page to go on from."""
    return base64.urlsafe_b64encode(json.dumps([order, position, key]).encode()).decode().rstrip("=")


def read_cursor(cursor: str, order: str) -> tuple[int, str]:
    """(position, key) that a cursor names. Raises BadParameter for one not written for this order."""
    try:
        data = base64.urlsafe_b64decode(cursor[:200] + "=" * (-len(cursor) % 4))
        written_for, position, key = json.loads(data)
        if type(position) is int and abs(position) <= _MAX_INT64 and _HEX_ID.fullmatch(key):
            if written_for != order:
                raise BadParameter(
                    f"cursor: made for order={written_for!s:.20}, not {order}", "cursor", "bad_cursor"
                )
            return position, key
    except (ValueError, TypeError, RecursionError, binascii.Error, UnicodeError):
        pass
    raise BadParameter("cursor: not one that /requests returned", "cursor", "bad_cursor")
