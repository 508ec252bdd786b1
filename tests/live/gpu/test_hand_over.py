"""KV handed over between two processes of a real model: on a GPU if there is one, else in shared memory."""

import json
import subprocess

import pytest

from tests.integration.running import environment
from tests.live.client import Seen, Wish
from tests.live.figures import agreement
from tests.live.known import whole
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


def test_two_processes_hand_kv_over_and_every_phase_is_seen(server, known, report):
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
    seen = [Seen(Wish(one["input_tokens"], len(one["token_ns"])), one["trace_id"], "") for one in clients]

    rows = known.once(seen, lambda row: bool(row["outcome"]) and whole(row, PHASES))

    assert len(rows) == REQUESTS
    assert {row["outcome"] for row in rows.values()} == {"ok"}
    assert [trace for trace, row in rows.items() if not whole(row, PHASES)] == []
    report.line(f"{len(rows)} of {REQUESTS} requests have every phase")
    ttfts = [(one["token_ns"][0] - one["sent_ns"]) / 1e9 for one in clients]
    pairs = zip(clients, ttfts, strict=True)
    found = agreement([(rows[one["trace_id"]]["ttft"], ttft, 0) for one, ttft in pairs])
    report.line(found.line)
    assert found.faults(median_ms=10, p95_ms=60) == []
    (pair,) = server.get("/transfers", by="pair", **{"from": "0"})["groups"]
    assert pair["bytes"] == BYTES_PER_TOKEN * sum(client["input_tokens"] for client in clients)
    report.line(
        f"{pair['transfers']} transfers of {pair['key']}: {pair['bytes']:g} bytes, {pair['gb_s']} GB/s"
    )
    assert server.get("/kv/orphans", **{"from": "0"})["orphans_total"] == 0
