"""Two tenants use one id: each has its own request, whole, whatever the order in which spans come."""

from dataclasses import replace

import pytest

from analyzer.assemble.assembler import Assembler
from analyzer.assemble.crew import Duty
from analyzer.assemble.oracle_spans import Process, Span
from collector.store import Store
from tests.assemble.otlp import body, differences, expected, rows
from tests.assemble.test_arrival import MIDNIGHT, native
from tests.assemble.test_identity_in_store import in_every_order, leg
from tests.assemble.test_shared import ALL, analyzer, drain


def of(tenant: str, spans: list[Span]) -> list[Span]:
    """What a tenant's token stamps the spans as."""
    stamp = (("pd.tenant", tenant),) if tenant else ()
    return [replace(s, process=Process((*s.process.attributes, *stamp))) for s in spans]


def shapes(found: list[dict[str, object]]) -> list[tuple[object, object]]:
    return sorted((row["tenant"], row["spans"]) for row in found)


@pytest.mark.parametrize("trace_too", [False, True])
def test_a_tenant_that_uses_anothers_ids_has_a_request_of_its_own(store: Store, trace_too: bool) -> None:
    """The same request id, and the same trace and span ids."""

    def parts(trace: int, tag: str) -> list[list[Span]]:
        mine = native(trace, name="a" + tag)
        theirs = of("globex", native(trace if trace_too else trace + 1, name="a" + tag))
        mine = of("acme", mine)
        return [mine[:1], [*mine[1:], *theirs[:1]], theirs[1:]]

    for number, found in enumerate(in_every_order(store, parts)):
        trace = 100 + 100 * number
        made = parts(trace, f"-{number}")
        spans = [span for part in made for span in part]
        wanted = expected([[s for s in spans if s.process.get("pd.tenant") == t] for t in ("acme", "globex")])
        for row, want in zip(sorted(found, key=lambda row: str(row["tenant"])), wanted, strict=True):
            apart = differences(row, want)
            assert apart.keys() <= ({"joined_by"} if trace_too else set()), apart


def test_engines_that_name_no_tenant_stay_with_the_request_of_their_trace(store: Store) -> None:
    def parts(trace: int, tag: str) -> list[list[Span]]:
        mine, theirs = native(trace, name="a" + tag), native(trace + 1, name="a" + tag)
        return [of("acme", mine[:1]), [*mine[1:], *of("globex", theirs[:1])], theirs[1:]]

    for found in in_every_order(store, parts):
        assert shapes(found) == [("acme", 3), ("globex", 3)]


def test_legs_in_traces_of_their_own_go_to_the_request_that_ran_then(store: Store) -> None:
    """Engines behind one collector name no tenant; two tenants count their requests alike."""

    def parts(trace: int, tag: str) -> list[list[Span]]:
        mine = native(trace, name="a" + tag)
        theirs = native(trace + 1, MIDNIGHT + 3700 * 10**9, name="a" + tag)
        engines = [*(leg(span, 2) for span in mine[1:]), *(leg(span, 3) for span in theirs[1:])]
        return [of("acme", mine[:1]), engines, of("globex", theirs[:1])]

    for found in in_every_order(store, parts):
        assert shapes(found) == [("acme", 3), ("globex", 3)]


def test_engines_in_a_trace_that_two_tenants_use_go_with_the_spans_around_them(store: Store) -> None:
    def parts(trace: int, tag: str) -> list[list[Span]]:
        mine, theirs = native(trace, name="a" + tag), native(trace, name="a" + tag)
        theirs = [replace(span, span_id=bytes(reversed(span.span_id))) for span in theirs]
        made = [
            [spans[0], *(replace(span, parent_id=spans[0].span_id) for span in spans[1:])]
            for spans in (mine, theirs)
        ]
        return [of("acme", made[0][:1]), made[0][1:], [*of("globex", made[1][:1]), *made[1][1:]]]

    for found in in_every_order(store, parts):
        assert shapes(found) == [("acme", 3), ("globex", 3)]


def test_a_tenant_that_only_guessed_an_id_neither_adds_to_a_request_nor_sees_it(store: Store) -> None:
    """The router says on its span whose a request is; its own token is for every tenant."""

    def parts(trace: int, tag: str) -> list[list[Span]]:
        root, *legs = native(trace, name="a" + tag)
        told = replace(root, attributes={**root.attributes, "pd.tenant": "acme"})
        guessed = [replace(span, span_id=b"guessed!", name="pd.decode") for span in of("globex", legs[:1])]
        more = of("globex", [leg(replace(legs[1], span_id=b"and-more"), 2)])
        return [[told], legs, [*guessed, *more]]

    for found in in_every_order(store, parts):
        assert shapes(found) == [("acme", 3)]


def test_several_analyzers_keep_them_apart_as_well(store: Store) -> None:
    mine, theirs = of("acme", native(1, name="a")), of("globex", native(1, name="a"))
    with analyzer(store, Duty(True, ALL)) as assembler:
        for spans in (mine[:2], theirs, mine[2:]):
            store.insert_traces([body(spans)])
            drain(assembler)
    assert shapes(list(rows(store).values())) == [("acme", 3), ("globex", 3)]


def test_names_on_record_of_before_tenants_counted_join_none(store: Store) -> None:
    """A store of an earlier release knows ids, but not whose they are."""
    assembler = Assembler(store)
    store.insert_traces([body(of("acme", native(1, name="a")))])
    assembler.catch_up()
    store.command("ALTER TABLE identity UPDATE tenant = '' WHERE 1 SETTINGS mutations_sync = 2")
    store.insert_traces([body(of("globex", native(2, name="a")))])
    assembler.catch_up()
    assert shapes(list(rows(store).values())) == [("acme", 3), ("globex", 3)]
