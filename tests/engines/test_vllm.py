"""vLLM's traps: clocks that mix, ids that change, late span ends, what the router drops."""

import pytest
from opentelemetry.trace import SpanContext, SpanKind

from collector.store import Store
from tests.engines.assembled import assemble, bodies, plausible, unexplained
from tests.engines.emitter import MS, Emitter, caller, exposed
from tests.paths import CAPTURES

RUNS = CAPTURES / "vllm-0.32.0"
PAIR = "___prefill_addr_127.0.0.1:8100___decode_addr_127.0.0.1:8200_9906c8aa0155"


@pytest.fixture
def store(open_store: Store) -> Store:
    return open_store


def llm_request(out: Emitter, leg: str, start: float, end: float, **said: object) -> SpanContext:
    attributes = {
        "gen_ai.latency.time_to_first_token": 0.04, "gen_ai.latency.time_in_model_prefill": 0.03,
        "gen_ai.latency.time_in_model_decode": 0.05, "gen_ai.usage.completion_tokens": 9,
        "gen_ai.request.id": f"cmpl-{PAIR}-0",
    }  # fmt: skip
    parent = said.pop("parent", None)
    named = {name.replace("__", "."): value for name, value in said.items()}
    return out.span(
        f"vllm-{leg}", "llm_request", start, end, {**attributes, **named}, parent=parent,
        kind=SpanKind.SERVER, instance=f"{leg}:1", scope="vllm.llm_engine",
    )  # fmt: skip


def router(out: Emitter, end: float = 130, status: str = "200", late: float = 0) -> tuple[SpanContext, ...]:
    """The server span and its two client spans, whose ends may come late."""
    about = {"request_id": "client-1", "http.route": "/v1/completions"}
    if status:
        about["http.response.status_code"] = status
    server = out.span(
        "vllm-router",
        "POST /v1/completions",
        0,
        end,
        about,
        parent=caller(1),
        kind=SpanKind.SERVER,
        scope="vllm-router",
    )
    legs = [server]
    for phase, start, stop, port in (("prefill", 1, 42, "8100"), ("decode", 45, 128, "8200")):
        said = {"vllm.request_phase": phase, "server.address": "127.0.0.1", "server.port": port}
        legs.append(
            out.span(
                "vllm-router",
                "POST /v1/completions",
                start,
                stop + late,
                said,
                parent=server,
                kind=SpanKind.CLIENT,
                scope="vllm-router",
            )
        )
    return tuple(legs)


def test_start_up_spans_are_left_out_with_a_reason(store):
    exports = bodies(RUNS / "smoke" / "otlp_raw.tar.gz")

    rows = assemble(store, exports)

    assert unexplained(exports) == {}
    assert len(rows) == 5


def test_late_ends_of_client_spans_change_nothing(store):
    rows = []
    for late in (0, 26_000):
        out = Emitter()
        _, prefill, decode = router(out, late=late)
        llm_request(out, "prefill", 2, 42, parent=prefill, gen_ai__usage__completion_tokens=1)
        llm_request(out, "decode", 46, 136, parent=decode)
        rows += assemble(store, [out.body()])

    assert exposed(rows[0]) == exposed(rows[1])
    assert rows[0]["e2e_ns"] == rows[1]["e2e_ns"] == 130 * MS


def test_a_failed_kv_load_leaves_impossible_times_that_are_dropped_and_named(store):
    out = Emitter()
    _, prefill, decode = router(out)
    llm_request(out, "prefill", 2, 42, parent=prefill, gen_ai__usage__completion_tokens=1)
    llm_request(
        out, "decode", 46, 128, parent=decode, gen_ai__latency__time_in_model_prefill=2882.5,
        gen_ai__usage__completion_tokens=0,
    )  # fmt: skip

    (row,) = assemble(store, [out.body()])

    assert plausible(row)
    assert "impossible_duration" in row["notes"]
    assert (row["outcome"], "success_status_masks_failure" in row["notes"]) == ("error", True)


def test_both_legs_carry_the_routers_rewritten_id_and_the_clients_own_stays_on_its_span(store):
    out = Emitter()
    _, prefill, decode = router(out)
    llm_request(out, "prefill", 2, 42, parent=prefill, gen_ai__usage__completion_tokens=1)
    llm_request(out, "decode", 46, 128, parent=decode)

    (row,) = assemble(store, [out.body()])

    assert (row["client_request_id"], row["request_id"]) == ("client-1", f"cmpl-{PAIR}-0")
    assert (row["prefill_worker"], row["decode_worker"]) == ("127.0.0.1:8100", "127.0.0.1:8200")


def test_legs_without_a_shared_trace_are_joined_by_the_id_they_share(store):
    out = Emitter()
    llm_request(out, "prefill", 2, 42, gen_ai__usage__completion_tokens=1)
    llm_request(out, "decode", 46, 128)

    (row,) = assemble(store, [out.body()])

    assert row["joined_by"] == ("request_id", "trace_id")
    assert exposed(row)["prefill_compute"] == 30


def test_the_connectors_spans_bear_ids_with_a_suffix_that_differs_between_the_legs(store):
    out = Emitter()
    llm_request(out, "decode", 46, 128)
    said = {"gen_ai.request.id": f"cmpl-{PAIR}-0-8a902907", "kv.bytes": 4096}
    out.span("vllm-decode", "kv.transfer", 50, 60, said, instance="d:1")
    said = {"gen_ai.request.id": f"cmpl-{PAIR}-0-11bb22cc"}
    out.span("vllm-prefill", "kv.publish", 20, 42, said, instance="p:1")

    (row,) = assemble(store, [out.body()])

    assert row["spans"] == 3
    assert store.query("SELECT bytes FROM transfers FINAL") == [(4096.0,)]


def test_spans_of_two_instances_with_one_id_stay_two_spans(store):
    """Workers that seed alike draw the same span ids: the instance is part of a span's identity."""
    from dataclasses import replace

    from analyzer.assemble.oracle_spans import read_spans
    from tests.engines.assembled import requests_of

    out = Emitter()
    _, prefill, decode = router(out)
    llm_request(out, "prefill", 2, 42, parent=prefill, gen_ai__usage__completion_tokens=1)
    llm_request(out, "decode", 46, 128, parent=decode)
    spans = read_spans([out.body()])
    alike = [replace(s, span_id=b"samesame") if s.name == "llm_request" else s for s in spans]

    (row,) = requests_of(store, alike)

    assert (row["spans"], row["duplicate_spans"], row["ttft_ns"]) == (5, 0, 86 * MS)


@pytest.mark.parametrize(("status", "outcome"), [("", "cancelled"), ("500", "error"), ("404", "invalid")])
def test_a_router_span_without_a_status_is_a_client_that_left(store, status, outcome):
    out = Emitter()
    router(out, status=status)

    (row,) = assemble(store, [out.body()])

    assert row["outcome"] == outcome


def test_a_stream_that_a_living_decode_worker_never_reported_was_left_by_its_client(store):
    rows = assemble(store, bodies(RUNS / "fault-a1-client-disconnect-midstream" / "otlp_raw.tar.gz"))

    left = [row for row in rows if "client_left_without_engine_span" in row["notes"]]
    assert (len(left), {row["outcome"] for row in left}) == (15, {"cancelled"})


def test_what_an_engine_says_it_must_agree_on_is_kept(store):
    """The compatibility fingerprint that a process puts on its resource stays with that process."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    out = Emitter()
    llm_request(out, "decode", 46, 128)
    export = ExportTraceServiceRequest.FromString(out.body())
    for name, value in (("pd.compat.block_size", "32"), ("pd.compat.connector", "NixlConnector")):
        attribute = export.resource_spans[0].resource.attributes.add(key=name)
        attribute.value.string_value = value

    assemble(store, [export.SerializeToString()])

    ((block, connector),) = store.query(
        "SELECT attrs['pd.compat.block_size'], attrs['pd.compat.connector'] FROM resources FINAL"
    )
    assert (block, connector) == ("32", "NixlConnector")


def traced_hand_off(out: Emitter, decode: SpanContext, **at: tuple[float, float]) -> None:
    """The traced connector's spans on decode, by phase."""
    for phase, (start, end) in at.items():
        about = {"pd.phase": phase, "pd.request.id": PAIR, "pd.kv.transfer_id": "e:1"}
        out.span("vllm-decode", f"pd.{phase}", start, end, about, parent=decode, instance="decode:1")


def test_a_wait_for_a_slot_once_the_kv_is_there_is_decodes_queue(store):
    """Seen live with two slots: the KV was there 8 s before the request was scheduled."""
    out = Emitter()
    _, prefill, decode = router(out)
    llm_request(out, "prefill", 2, 42, parent=prefill, gen_ai__usage__completion_tokens=1)
    said = {"gen_ai__latency__time_to_first_token": 0.08, "gen_ai__latency__time_in_model_prefill": 0.01}
    llm_request(out, "decode", 46, 180, parent=decode, **said)
    traced_hand_off(out, decode, decode_queue=(50, 55), kv_transfer=(55, 60), kv_import=(60, 62))

    (row,) = assemble(store, [out.body()])

    assert exposed(row)["decode_queue"] == pytest.approx(5 + 54)
    assert exposed(row)["kv_transfer"] == pytest.approx(5)


def test_what_was_sent_to_an_engine_that_has_yet_to_take_it_is_bounded_and_no_gap(store):
    """Seen live: a process that was stopped took what was sent to it seconds later."""
    out = Emitter()
    _, prefill, decode = router(out)
    taken = {"gen_ai__latency__time_to_first_token": 0.02, "gen_ai__latency__time_in_model_prefill": 0.02}
    llm_request(out, "prefill", 22, 42, parent=prefill, gen_ai__usage__completion_tokens=1, **taken)
    llm_request(out, "decode", 86, 128, parent=decode)

    (row,) = assemble(store, [out.body()])

    told = {tuple(covers): ns for covers, ns, _ in row["composites"]}
    assert told["tokenize", "prefill_queue"] == pytest.approx(21 * MS)
    assert told["tokenize", "decode_queue"] == pytest.approx(41 * MS)
