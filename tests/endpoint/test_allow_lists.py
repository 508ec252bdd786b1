"""The lists of what may be called, held against the engine's own."""

import pytest

from collector.endpoint.allow import check_resolved
from collector.endpoint.errors import Refused
from collector.endpoint.published import PARAMETERISED, VIEWS, callable_function
from collector.store import Store

DANGEROUS = {
    *("file", "joinGet", "dictGet", "dictHas", "hasColumnInTable", "catboostEvaluate", "evalMLMethod"),
    *("sleep", "sleepEachRow", "throwIf", "logTrace", "aiGenerate", "regionToName", "chdb", "demangle"),
    *("getSetting", "getMacro", "hostName", "FQDN", "showCertificate", "addressToLine", "serverUUID"),
    *("getClientHTTPHeader", "globalVariable", "filesystemAvailable", "getServerPort"),
    *("structureToProtobufSchema", "formatRow", "finalizeAggregation", "initializeAggregation"),
}


def test_no_dangerous_function_is_allowed_in_any_case_or_with_any_combinator() -> None:
    for name in DANGEROUS:
        for form in (name, name.upper(), f"{name}If", f"{name}OrNull", f"{name}StateIf"):
            assert not callable_function(form), form


def test_case_folding_lets_no_other_function_in(store: Store) -> None:
    """Names are compared without case; no function of the engine may slip in by differing in case alone."""
    rows = store.query("SELECT name, alias_to FROM system.functions")
    aliases = dict(rows)
    allowed = {name for name in aliases if callable_function(name)}
    targets = {aliases[name] or name for name in allowed}
    assert len(allowed) > 1000
    assert not targets & DANGEROUS


def test_no_published_view_has_the_name_of_a_table_function(store: Store) -> None:
    functions = {str(row[0]).lower() for row in store.query("SELECT name FROM system.table_functions")}
    assert not functions & {*VIEWS, *PARAMETERISED}


def test_every_published_view_exists_and_names_what_it_is(store: Store) -> None:
    present = {row[0] for row in store.query("SELECT name FROM system.tables WHERE engine = 'View'")}
    from_other_parts = {"pool_signals", "signal_histograms"}
    assert {*VIEWS, *PARAMETERISED} - present <= from_other_parts
    assert all({**VIEWS, **PARAMETERISED}.values())


def test_resolved_tables_are_the_last_word() -> None:
    lines = ["QUERY id: 0", "    TABLE id: 3, alias: __table1, table_name: default.request_log, final: 1"]
    check_resolved(lines)
    with pytest.raises(Refused, match=r"spans is not published"):
        check_resolved([*lines, "    TABLE id: 4, alias: __table2, table_name: default.spans"])
    with pytest.raises(Refused, match="table function url"):
        check_resolved(["  TABLE_FUNCTION id: 5, alias: __table3, table_function_name: url"])
