"""KV handed over between two processes of a real model: on a GPU if there is one, else in shared memory."""

import json
import subprocess

import pytest

from tests.integration.running import environment
from tests.live.figures import Lag, agreement, missing_phases
from tests.live.set_up import VLLM
from tests.paths import PROJECT

pytestmark = [pytest.mark.live, pytest.mark.timeout(900)]

REQUESTS = 40
PHASES = (
    *("router_queue", "prefill_queue", "prefill_compute", "kv_publish", "decode_queue", "kv_transfer"),
    *("kv_import", "first_decode_step", "decode"),
)
# keys and values of 4 layers with 2 heads of 64, in float32
BYTES_PER_TOKEN = 2 * 4 * 2 * 64 * 4


def test_two_processes_hand_kv_over_and_every_phase_is_seen(server, folder, report):
    if why := VLLM.why_skipped():
        pytest.skip(f"torch and transformers lie in its environment: {why}")
    report.heading("Two processes of a torch model, timed with PhaseTracer")
    command = [
        *(str(VLLM.python), "-m", "tests.live.gpu.hand_over", "--model", str(VLLM.model)),
        *("--otlp", f"http://{server.otlp_grpc}", "--requests", str(REQUESTS)),
    ]
    done = subprocess.run(
        command, cwd=PROJECT, env=environment(), capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    machine, *clients = [json.loads(line) for line in done.stdout.splitlines()]
    report.line(f"GPU: {machine['gpu']}; torch {machine['torch']}; KV over {machine['transport']}")
    server.settle()

    rows = [server.get(f"/requests/{client['trace_id']}") for client in clients]

    assert len(rows) == REQUESTS
    assert {row["outcome"] for row in rows} == {"ok"}
    assert [row["trace_id"] for row in rows if missing_phases(row, PHASES)] == []
    seen = [(client["token_ns"][0] - client["sent_ns"]) / 1e9 for client in clients]
    found = agreement([(row["ttft"], ttft, Lag().of()) for row, ttft in zip(rows, seen, strict=True)])
    report.line(found.line)
    assert found.faults(median_ms=10, p95_ms=60) == []
    (pair,) = server.get("/transfers", by="pair", **{"from": "0"})["groups"]
    assert pair["bytes"] == BYTES_PER_TOKEN * sum(client["input_tokens"] for client in clients)
    report.line(
        f"{pair['transfers']} transfers of {pair['key']}: {pair['bytes']:g} bytes, {pair['gb_s']} GB/s"
    )
    assert server.get("/kv/orphans", **{"from": "0"})["orphans_total"] == 0
