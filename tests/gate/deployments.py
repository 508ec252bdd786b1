"""Deployments played into a running pdscope: a colocated baseline, a candidate, and one with a slow link."""

import time
from dataclasses import replace
from typing import Any

from analyzer.demo.scenarios.deployment import play
from analyzer.demo.scenarios.setup import Cache, Decode, Link, Mode, Prefill, Setup, Traffic
from analyzer.demo.scenarios.spans import Stage
from analyzer.plan.deployment import Deployment
from analyzer.plan.evaluate import Contract
from analyzer.plan.layout import parse_layout
from analyzer.plan.outcome import Objective, Window
from analyzer.plan.receipt import Source, build_receipt
from analyzer.plan.sweep import sweep
from analyzer.plan.workload import Synthetic
from tests.demo.telling import tell as told
from tests.integration.running import Server

TTFT, TPOT = 3.0, 0.016
TRAFFIC = Traffic(rate=4.0, prompt=800.0, long_share=0.2, long_factor=6.0)
BASELINE = Setup(Mode.COLOCATED, TRAFFIC, decode=Decode(workers=4, kv_tokens=200_000, chunk=512))
CANDIDATE = Setup(
    Mode.SEQUENTIAL,
    TRAFFIC,
    prefill=Prefill(workers=2, kv_tokens=120_000),
    decode=Decode(workers=2, slots=32, kv_tokens=200_000),
)
DELAYED = replace(CANDIDATE, link=Link(flow_gb_s=0.3))
LEAKING = replace(
    CANDIDATE,
    prefill=Prefill(workers=3, kv_tokens=60_000),
    cache=Cache(abandoned_share=0.3, leaks=True, lease_s=5.0),
)
"""One more accelerator, clients that leave between the pools, and KV that does not come back."""
SECONDS = 60.0

PLANNED = Deployment(
    weight_bytes=12e9,
    parameters=5e9,
    layers=32,
    kv_bytes_per_token=131_072,
    accelerators=1,
    memory_bytes=80e9,
    memory_bytes_per_s=1e12,
    flop_per_s=1e14,
    step_overhead_s=0.0,
    runtime_bytes=4e9,
    nics=1,
    nic_bytes_per_s=12.5e9,
    link_efficiency=0.8,
    overlap=False,
)
"""What the simulated workers are made of, in the planner's words: 12 ms a step, 0.1 ms a prompt token."""


def tell(server: Server, setup: Setup, cohort: str, seed: int = 3) -> tuple[float, float]:
    """Play a deployment into a server; the window it lies in, Unix seconds."""
    take = play(setup, setup, 0.0, SECONDS, seed)
    base = time.time_ns() - round((take.ended_s + 3) * 1e9)
    return told(server, Stage(take, "m", base, cohort, f"-{cohort}", cohort))


def receipt(prompt: float = 1500.0, rate: float = 4.0) -> tuple[dict[str, Any], str]:
    """A planning receipt of colocated and disaggregated layouts of four accelerators for such traffic."""
    spec = Synthetic(
        rate,
        seed=1,
        until_s=240.0,
        prompt_median=prompt,
        prompt_sigma=0.6,
        output_median=60.0,
        output_sigma=0.3,
    )
    contract = Contract(Objective(TTFT, TPOT), 0.95, 0.85, Window(30, 210))
    workload, settings = spec.draw(), PLANNED.settings()
    found = sweep([workload], [parse_layout("4x512"), parse_layout("2P+2D")], settings, contract)
    inputs = PLANNED.inputs("a test")
    return build_receipt(
        found, [(workload, Source.synthetic(spec))], settings, contract, inputs, "2026-01-31"
    )
