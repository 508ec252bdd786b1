"""Every panel's SQL runs on the embedded engine as the plugin sends it, and gives what its panel needs."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from collector.store import Store
from dashboards.boards import BOARDS
from dashboards.grafana.queries import SQL, Sql, sql_text
from dashboards.grafana.variables import FILTERS, OBJECTIVES
from tests.dashboards.grafana import KINDS, Window

QUERIES = {
    query.name: query
    for board in BOARDS
    for query in [
        *(q for panel in board.panels for q in panel.queries if isinstance(q, Sql)),
        *(annotation.query for annotation in board.annotations),
    ]
}
CHOSEN = {
    "model": ["tiny", "o'x"],
    "tenant": ["acme"],
    "route": ["/v1/completions"],
    "cohort": ["a"],
    "pool": ["prefill"],
    "worker": ["w"],
    "input_bucket": ["0-1K"],
    "objective": ["o'short"],
}
NOT_IN_CAPTURES = (
    "annotations/",
    "pools/",
    "handoff/late_reads",
    "handoff/orphan",
    "telemetry/clock_offsets",
    "telemetry/signals",
    "why/notes",
)
"""The captures hold spans only, of one clock, no late read and nothing to remark; their processes are new."""


@pytest.fixture(scope="module")
def window(store: Store) -> Window:
    """The time of the captures with the variables as a freshly opened dashboard has them."""
    first, last = store.query(
        "SELECT toUnixTimestamp(min(started_at)), toUnixTimestamp(max(started_at)) + 1 FROM requests"
    )[0]
    key = store.query(
        "SELECT key FROM kv_transfers INNER JOIN request_log USING key ORDER BY ttft_seconds DESC LIMIT 1"
    )[0][0]
    window = Window(first, last + 86400, 5)
    hidden = {
        item.name: [store.query(window.expand(sql_text(f"variables/{item.name}")))[0][0]]
        for item in OBJECTIVES
    }
    return Window(first, last, 5, {**hidden, "percentile": ["0.95"], "request": [key]})


def columns(store: Store, sql: str) -> dict[str, str]:
    return {row["name"]: row["type"] for row in store.rows(f"DESCRIBE ({sql})")}


@pytest.mark.parametrize("name", QUERIES)
def test_a_panel_gets_the_columns_it_needs(store: Store, window: Window, name: str) -> None:
    sql = window.expand(sql_text(name))
    types = columns(store, sql)
    for column, kind in QUERIES[name].columns.items():
        assert column in types, f"{column} is missing: {types}"
        assert KINDS[kind].match(types[column]), f"{column}: {types[column]} is not a {kind}"
    rows = store.query(sql)
    if not name.startswith(NOT_IN_CAPTURES):
        assert rows


@pytest.mark.parametrize("name", QUERIES)
def test_a_panel_is_empty_where_there_is_nothing(store: Store, window: Window, name: str) -> None:
    nothing = Window(0, 60, 5, {**window.variables, "request": ["nobody's"]})
    rows = store.query(nothing.expand(sql_text(name)))
    if name not in ("overview/attainment", "overview/accounting", "telemetry/processes"):
        assert rows == []


@pytest.mark.parametrize("name", QUERIES)
def test_a_panel_takes_every_filter(store: Store, window: Window, name: str) -> None:
    chosen = Window(window.start, window.end, 5, {**window.variables, **CHOSEN})
    store.query(chosen.expand(sql_text(name)))


@pytest.mark.parametrize("name", [item.name for item in FILTERS])
def test_a_variable_lists_its_values(store: Store, window: Window, name: str) -> None:
    found = [row[0] for row in store.query(window.expand(sql_text(f"variables/{name}")))]
    assert "" not in found
    expected = {"model": ["tiny"], "objective": ["o'short", "rest"], "tenant": [], "cohort": []}
    assert found == expected.get(name, found)
    assert found or name in ("tenant", "cohort")


def test_objectives_reach_panels_as_arguments_even_with_quotes(window: Window) -> None:
    assert window.variables["objective_names"] == ["'o\\'short','rest'"] or window.variables[
        "objective_names"
    ] == ["'o''short','rest'"]
    assert "objective_ttft_ns = [50000000,500000000" in window.variables["objectives"][0]


def test_every_sql_file_is_used() -> None:
    files = {str(path.relative_to(SQL).with_suffix("")) for path in SQL.rglob("*.sql")}
    used = set(QUERIES) | {f"variables/{item.name}" for item in (*FILTERS, *OBJECTIVES)}
    units = {
        f"units/{column.unit}"
        for board in BOARDS
        for panel in board.panels
        for column in panel.columns.values()
    }
    alerts = {f"alerts/{name}" for name in ("burn_rate", "cause_burn", "late_reads", "orphans")}
    assert files == used | (units - {"units/"}) | alerts


def test_a_hand_off_that_nobody_read_is_an_orphan_once_it_is_old(store: Store, window: Window) -> None:
    later = Window(window.start, window.end + 3600, 60, window.variables)
    (row,) = store.rows(later.expand(sql_text("handoff/orphans")))
    assert (row["side"], row["state"]) == ("prefill", "held")
    assert row["held_seconds"] > 3600
    (read,) = store.query(
        "SELECT count() FROM transfers FINAL WHERE lower(hex(request_key)) = {k:String} AND imported_ns > 0",
        {"k": row["key"]},
    )[0]
    assert read == 0


def test_new_processes_are_marked_when_they_are_first_seen(store: Store) -> None:
    first, last = store.query(
        "SELECT toUnixTimestamp(min(first_seen)), toUnixTimestamp(now()) FROM processes"
    )[0]
    rows = store.rows(Window(first, last, 5).expand(sql_text("annotations/processes")))
    assert any("vllm-prefill" in row["text"] for row in rows)


LONG_AGO = datetime(2020, 1, 1, 12, 0, tzinfo=UTC)
"""Of no window of the captures."""


def marks(store: Store, name: str) -> list[dict[str, Any]]:
    start = int(LONG_AGO.timestamp())
    return store.rows(Window(start - 600, start + 3600, 60).expand(sql_text(f"annotations/{name}")))


def test_a_worker_that_comes_back_as_another_version_is_marked_as_changed(store: Store) -> None:
    columns = ["resource_id", "service", "instance", "pool", "attrs", "seen_at"]
    started = [
        (91, {"service.version": "1", "pd.gpus": "4"}),
        (92, {"service.version": "1", "pd.gpus": "4"}),
        (93, {"service.version": "2", "pd.gpus": "8"}),
    ]
    rows = [
        [number, "vllm", "decode-x", "decode", attrs | {"process.creation.time": f"2020-01-01T12:{number}"},
         LONG_AGO + timedelta(minutes=number - 90)]
        for number, attrs in started
    ]  # fmt: skip
    store.insert("resources", rows, columns)

    (mark,) = marks(store, "configuration")

    assert mark["title"] == "configuration change"
    assert mark["text"] == "decode-x: version 1 to 2, accelerators 4 to 8"
    assert mark["time"].replace(tzinfo=UTC) == LONG_AGO + timedelta(minutes=3)


def test_a_crash_that_the_diagnosis_found_is_marked(store: Store) -> None:
    columns = ["started", "model", "finding", "severity", "detail", "requests", "version"]
    crash = [LONG_AGO, "m", "decode_crash", "critical", "decode worker d-0 went away", 3, 1]
    other = [LONG_AGO, "m", "clock_skew", "warning", "off by 2 ms", None, 1]
    store.insert("findings_kept", [crash, other], columns)

    (mark,) = marks(store, "crashes")

    assert (mark["title"], mark["text"]) == ("crash", "decode worker d-0 went away")


def test_a_clock_that_is_off_is_shown_with_its_bounds(store: Store, window: Window) -> None:
    columns = ["slice", "worker", "version", "offset_ns", "low_ns", "high_ns", "contradictory"]
    at = datetime.fromtimestamp(window.start + 300, UTC)
    unbounded = (1 << 63) - 1
    store.insert("clock_offsets", [[at, "nobody's", 1, -5_000_000, -7_000_000, unbounded, 0]], columns)
    rows = store.rows(window.expand(sql_text("telemetry/clock_offsets")))
    assert rows == [
        {"worker": "nobody's", "newest": -0.005, "largest": 0.005, "low": -0.007, "high": None, "torn": 0}
    ]
