"""Ray Serve as run, and its deployments under ray.llm's own names."""

import pytest
from opentelemetry.trace import SpanKind

from collector.store import Store
from tests.engines.assembled import assemble, bodies, unexplained
from tests.engines.emitter import MS, Emitter, exposed
from tests.paths import CAPTURES

CAPTURE = CAPTURES / "ray-serve-2.60.0-pd-shape" / "traces.otlp.pb.gz"


@pytest.fixture(scope="module")
def captured(open_store: Store) -> list[dict[str, object]]:
    return assemble(open_store, bodies(CAPTURE))


def test_each_client_request_is_one_request_under_its_own_trace(captured):
    assert [row["client_request_id"] for row in captured] == [f"client-req-{n}" for n in range(6)]
    assert {row["outcome"] for row in captured} == {"ok"}


def test_the_prefill_call_is_kept_as_one_and_no_first_token_is_made_up(captured):
    for row in captured:
        covers = [covers for _, covers, *_ in row["intervals"] if covers]
        assert covers == [("prefill_queue", "prefill_compute", "kv_publish")]
        assert (row["ttft_ns"], row["notes"]) == (None, ("no_first_token",))


def test_routing_between_deployments_is_router_queue(captured):
    queued = captured[0]["phase_ns"][0] / MS

    assert 5 < queued < 40


def test_replicas_are_the_workers(captured):
    assert {(row["prefill_worker"], row["decode_worker"]) for row in captured} == {("g7iy8kdr", "t38iigk2")}


def serve(out: Emitter, left: bool = False) -> None:
    about = {"request_id": "r-1", "http.method": "POST", "http.status_code": "200", "http.route": "/v1"}
    proxy = out.span(
        "ray-serve", "proxy_http_request OpenAiIngress POST /v1/completions", 0, 60 if left else 120, about,
        kind=SpanKind.SERVER,
    )  # fmt: skip
    said = {"request_id": "r-1", "replica_id": "d0"}
    out.span("ray-serve", "route_to_replica Decode:llama chat", 1, 4, said, parent=proxy)
    decode = out.span("ray-serve", "replica_handle_request Decode:llama chat", 4, 118, said, parent=proxy)
    out.span("ray-serve", "route_to_replica Prefill:llama chat", 5, 9, said, parent=decode)
    prefill = out.span(
        "ray-serve",
        "replica_handle_request Prefill:llama chat",
        9,
        50,
        {**said, "replica_id": "p0"},
        parent=decode,
    )
    for leg, start, parent in (("p", 10, prefill), ("d", 52, decode)):
        latencies = {
            "gen_ai.latency.time_to_first_token": 0.03, "gen_ai.latency.time_in_model_prefill": 0.02,
            "gen_ai.latency.time_in_model_decode": 0.03, "gen_ai.usage.completion_tokens": 9,
        }  # fmt: skip
        out.span("ray-serve", "llm_request", start, start + 62, latencies, parent=parent, instance=leg)


def test_the_engines_of_rays_own_deployments_take_their_role_from_the_replica(open_store):
    out = Emitter()
    serve(out)

    (row,) = assemble(open_store, [out.body()])

    assert unexplained([out.body()]) == {}
    assert (row["outcome"], row["ttft_ns"]) == ("ok", 82 * MS)
    assert exposed(row)["prefill_compute"] == 20
    assert (row["prefill_worker"], row["decode_worker"]) == ("p0", "d0")


def test_a_client_that_left_ends_the_proxys_span_before_decodes(open_store):
    out = Emitter()
    serve(out, left=True)

    (row,) = assemble(open_store, [out.body()])

    assert row["outcome"] == "cancelled"
