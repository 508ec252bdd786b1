"""OTLP/gRPC in, REST out: the answers are what the clients saw."""

import gzip
import json
from pathlib import Path
from statistics import median, quantiles

from tests.integration.running import Json, Server
from tests.paths import CAPTURES


def _clients(path: Path) -> list[Json]:
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file]


def _errors(pairs: list[tuple[Json, Json]], first_token: str) -> list[tuple[float, float]]:
    """(|TTFT - the client's|, the client's) in seconds."""
    found = []
    for client, request in pairs:
        token = client[first_token]
        seen = (token[0] if isinstance(token, list) else token) - client["send_ns"]
        found.append((abs(request["ttft"] - seen / 1e9), seen / 1e9))
    return found


def test_dynamo_requests_equal_the_clients(captured: Server) -> None:
    clients = _clients(CAPTURES / "dynamo-1.6.1/baseline-sync/client.jsonl.gz")
    requests = captured.requests()
    by_id = {request["request_id"]: request for request in requests}
    pairs = [(client, by_id[client["response_id"].removeprefix("chatcmpl-")]) for client in clients]
    assert len(pairs) == len({request["key"] for _, request in pairs}) == 165
    for client, request in pairs:
        usage = client["usage"]
        assert request["outcome"] == "ok"
        assert request["complete"]
        assert (request["input_tokens"], request["output_tokens"]) == (
            usage["prompt_tokens"],
            usage["completion_tokens"],
        )
    errors = [error for error, _ in _errors(pairs, "first_token_ns")]
    assert median(errors) < 0.005
    assert quantiles(errors, n=20)[-1] < 0.060


def test_vllm_requests_equal_the_clients(captured: Server) -> None:
    folder = CAPTURES / "vllm-0.32.0/baseline"
    clients = _clients(folder / "client.jsonl.gz")
    requests = captured.requests()
    by_trace = {request["trace_id"]: request for request in requests}
    assert len(by_trace) == len(requests), "a trace of these captures is one request"
    pairs = [(client, by_trace[client["trace_id"]]) for client in clients]
    assert len({request["key"] for _, request in pairs}) == 260
    for client, request in pairs:
        assert request["outcome"] == "ok"
        assert request["input_tokens"] == client["usage"]["prompt_tokens"]
        assert request["output_tokens"] == client["usage"]["completion_tokens"]
        assert request["ttft_source"] == "engine_first_token"
        assert request["ttft_uncertainty"] is not None
    errors = _errors(pairs, "token_ns")
    assert median(error / seen for error, seen in errors) < 0.07
    for client in _clients(folder / "client_warmup.jsonl.gz"):
        assert client["trace_id"] in by_trace


def test_exposed_time_adds_up_to_ttft_and_the_decode_interval(captured: Server) -> None:
    checked = 0
    for request in captured.requests():
        if request["ttft"] is None:
            assert request["exposed"] is None
            continue
        nanoseconds = sum(round(seconds * 1e9) for seconds in request["exposed"].values())
        assert nanoseconds == round(request["ttft"] * 1e9)
        checked += 1
    assert checked > 400


def test_clients_that_left_are_not_successes(captured: Server) -> None:
    fault = CAPTURES / "dynamo-1.6.1/fault-client-cancel/client.jsonl.gz"
    left = {
        client["response_id"].removeprefix("chatcmpl-")
        for client in _clients(fault)
        if client.get("cancelled_by_client_ns") and client.get("response_id")
    }
    outcomes = {request["request_id"]: request["outcome"] for request in captured.requests()}
    assert left
    assert {outcomes[name] for name in left} == {"cancelled"}
    orphans = [
        request for request in captured.requests() if (request["request_id"] or "").startswith("cmpl-orphan-")
    ]
    assert len(orphans) == 14
    assert {request["outcome"] for request in orphans} == {None}
    assert {request["met"]["joint"] for request in orphans} == {None}
