"""llm-d in the shape of its source: EPP, sidecar, decode nested under prefill, vLLM legs below."""

import pytest
from opentelemetry.trace import SpanContext, SpanKind

from collector.store import Store
from tests.engines.assembled import assemble, plausible, unexplained
from tests.engines.emitter import MS, Emitter, caller, exposed

PROXY = "llm_d.pd_proxy."


@pytest.fixture
def store(open_store: Store) -> Store:
    return open_store


def engine(out: Emitter, leg: str, start: float, parent: SpanContext, ttft: float, prefill: float) -> None:
    attributes = {
        "gen_ai.request.id": f"cmpl-{'u' * 8}-0", "gen_ai.latency.time_to_first_token": ttft / 1e3,
        "gen_ai.latency.time_in_model_prefill": prefill / 1e3, "gen_ai.latency.time_in_model_decode": 0.03,
        "gen_ai.usage.completion_tokens": 1 if leg == "p" else 8, "gen_ai.usage.prompt_tokens": 700,
    }  # fmt: skip
    # Both engines under one service name: only the sidecar's spans tell the role.
    out.span(
        "vllm",
        "llm_request",
        start,
        start + ttft + 31,
        attributes,
        parent=parent,
        kind=SpanKind.SERVER,
        instance=leg,
    )


def epp(out: Emitter, refused: bool = False) -> SpanContext:
    about = {"gen_ai.request.model": "llama", "request_id": "client-7"}
    root = out.span(
        "llm-d-epp", "gateway.request", 0, 200, about, parent=caller(7), kind=SpanKind.SERVER, error=refused
    )
    told = {"target_model": "llama", "request_prio": 0}
    orchestration = out.span(
        "llm-d-epp", "gateway.request_orchestration", 1, 9, told, parent=root, error=refused
    )
    profile = out.span("llm-d-epp", "run_scheduler_profile", 4, 8, parent=orchestration)
    for name in ("filter_endpoints", "llm_d.epp.scoring", "llm_d.epp.scorer.kv-cache", "pick_endpoints"):
        out.span("llm-d-epp", name, 5, 6, parent=profile)
    decision = {
        "llm_d.epp.pd.disaggregation_used": True, "llm_d.epp.pd.prefill_pod_address": "10.0.0.4",
        "llm_d.epp.pd.prefill_pod_port": "8000", "llm_d.epp.pd.reason": "prefix miss",
    }  # fmt: skip
    if not refused:
        out.span("llm-d-epp", "prepare_disaggregation", 8, 9, decision, parent=orchestration)
    return root


def sidecar(out: Emitter, parent: SpanContext, prefill_end: float, names: tuple[str, str]) -> None:
    service = "llm-d-disagg-sidecar"
    server = out.span(
        service, f"{PROXY}POST /v1/completions", 12, 199, {"http.response.status_code": 200}, parent=parent
    )
    about = {
        f"{PROXY}connector": "nixlv2",
        f"{PROXY}prefill_target": "10.0.0.4:8000",
        f"{PROXY}disaggregation_used": True,
    }
    forward = out.span(service, "forward_request", 13, 198, about, parent=server)
    told = {
        f"{PROXY}request_id": "u" * 8, f"{PROXY}prefill_target": "10.0.0.4:8000",
        f"{PROXY}prefill.status_code": 200, f"{PROXY}prefill.duration_ms": 60.0,
    }  # fmt: skip
    prefill = out.span(service, names[0], 14, prefill_end, told, parent=forward)
    engine(out, "p", 16, prefill, 50, 40)
    said = {
        f"{PROXY}decode.streaming": True, f"{PROXY}decode.duration_ms": 120.0, f"{PROXY}true_ttft_ms": 64.0,
        f"{PROXY}decode.target": "10.0.0.9:8000",
    }  # fmt: skip
    decode = out.span(service, names[1], 76, 197, said, parent=prefill)
    engine(out, "d", 80, decode, 20, 5)


@pytest.mark.parametrize("names", [("prefill", "decode"), (f"{PROXY}prefill", f"{PROXY}decode")])
@pytest.mark.parametrize("prefill_end", [74, 198])
def test_decode_nested_under_prefill_is_not_taken_for_prefill(store, names, prefill_end):
    """Whether the prefill span ends with the call or holds the whole answer, the parts are the same."""
    out = Emitter()
    sidecar(out, epp(out), prefill_end, names)

    (row,) = assemble(store, [out.body()])

    assert unexplained([out.body()]) == {}
    assert plausible(row)
    assert (row["outcome"], row["ttft_ns"], row["complete"]) == ("ok", 100 * MS, 1)
    assert exposed(row) == {
        "router_queue": 14,
        "prefill_queue": 10,
        "prefill_compute": 40,
        "unattributed": 31,
        "first_decode_step": 5,
    }
    held = {covers: ns / MS for covers, ns, _ in row["composites"]}
    assert held[("kv_transfer", "decode_queue", "kv_import")] == 15
    assert (row["prefill_worker"], row["decode_worker"]) == ("10.0.0.4:8000", "10.0.0.9:8000")
    assert row["decode_process"] == "d"


def test_true_ttft_is_no_first_token(store):
    """It is the time to decode's start: without engine traces there is no TTFT, not a wrong one."""
    out = Emitter()
    root = epp(out)
    out.span("llm-d-disagg-sidecar", "decode", 76, 197, {f"{PROXY}true_ttft_ms": 64.0}, parent=root)

    (row,) = assemble(store, [out.body()])

    assert row["ttft_ns"] is None
    assert "no_first_token" in row["notes"]


def test_a_request_refused_by_admission_is_a_rejection(store):
    out = Emitter()
    epp(out, refused=True)

    (row,) = assemble(store, [out.body()])

    assert row["outcome"] == "rejected"


def test_a_sidecar_alone_is_a_request_and_its_health_checks_are_none(store):
    out = Emitter()
    out.span("llm-d-disagg-sidecar", f"{PROXY}GET /health", 0, 1)
    server = out.span(
        "llm-d-disagg-sidecar", f"{PROXY}POST /v1/completions", 12, 199, {"http.response.status_code": 200}
    )
    out.span("llm-d-disagg-sidecar", "decode", 20, 197, {f"{PROXY}decode.streaming": True}, parent=server)

    rows = assemble(store, [out.body()])

    assert [(row["outcome"], row["notes"]) for row in rows] == [("ok", ("no_request_span",))]
    assert unexplained([out.body()]) == {}


def test_spans_of_others_named_prefill_and_decode_stay_unexplained():
    out = Emitter()
    out.span("app", "prefill", 0, 1)
    out.span("app", "decode", 1, 2)

    assert set(unexplained([out.body()])) == {("app", "prefill"), ("app", "decode")}
