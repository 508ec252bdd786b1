"""Random healthy deployments: sized for their traffic, as somebody who measured would size them.

Ranges are those of small real deployments: prompts of 0.6–3k tokens computed in 80–250 ms, steps of 8–20
ms, KV of 64–192 KiB a token over 12.5–50 GB/s, pools used to a quarter to half of what they can do.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from .spec import Cache, Decode, Links, Mode, Prefill, Router, Spec, Workload

FULL_CONTEXT_COSTS = 0.3  # of the step's base


def healthy(rng: np.random.Generator, seed: int, mode: Mode) -> Spec:
    """A deployment with head-room in both pools."""
    prompt, output = float(np.exp(rng.uniform(np.log(600), np.log(3000)))), float(rng.uniform(50, 120))
    compute_s = float(rng.uniform(0.08, 0.25))
    prefill_workers, decode_workers = int(rng.integers(2, 5)), int(rng.integers(2, 5))
    utilisation = float(rng.uniform(0.25, 0.42))
    if mode is Mode.COLOCATED:
        utilisation, prefill_workers, compute_s = (
            float(rng.uniform(0.06, 0.12)),
            decode_workers,
            compute_s * 0.6,
        )
    sigma = float(rng.uniform(0.2, 0.45))
    rate = utilisation * prefill_workers / (compute_s * math.exp(sigma**2 / 2))
    workload = Workload(
        requests=int(rng.integers(180, 320)),
        rate=rate,
        burst_cv=float(rng.uniform(0.9, 1.25)),
        prompt_median=prompt,
        prompt_sigma=sigma,
        output_median=output,
        output_sigma=float(rng.uniform(0.25, 0.5)),
        cached_fraction=float(rng.choice([0.0, 0.0, 0.15, 0.3])),
        cancel_share=float(rng.choice([0.0, 0.0, 0.01, 0.03])),
        cancel_after_s=compute_s,
    )
    spec = Spec(
        seed=seed,
        mode=mode,
        workload=workload,
        router=_router(rng),
        prefill=_prefill(rng, prompt, compute_s, prefill_workers),
        cache=_cache(rng),
        links=_links(rng),
        ttft_slack=float(rng.uniform(1.12, 1.4)),
        tpot_slack=float(rng.uniform(1.12, 1.4)),
    )
    return replace(spec, decode=_decode(rng, spec, decode_workers))


def _router(rng: np.random.Generator) -> Router:
    return Router(
        service_s=float(rng.uniform(0.0004, 0.0015)),
        tokenize_token_s=float(rng.uniform(1e-6, 4e-6)),
        tokenize_at_router=bool(rng.random() < 0.4),
        handover_s=float(rng.uniform(0.001, 0.006)),
        deadline_s=float(rng.uniform(25, 40)),
        network_s=float(rng.uniform(0.0005, 0.002)),
    )


def _prefill(rng: np.random.Generator, prompt: float, compute_s: float, workers: int) -> Prefill:
    quadratic = float(rng.uniform(0.03, 0.12))
    return Prefill(
        workers=workers,
        base_s=0.06 * compute_s,
        token_s=(0.94 - quadratic) * compute_s / prompt,
        quad_s=quadratic * compute_s / prompt**2,
        chunk=int(rng.choice([512, 1024, 2048])),
        kv_tokens=round(prompt * float(rng.uniform(16, 40))),
    )


def _cache(rng: np.random.Generator) -> Cache:
    return Cache(
        bytes_per_token=int(rng.choice([65_536, 131_072, 196_608])),
        offer_s=float(rng.uniform(0.0008, 0.003)),
        lease_s=float(rng.uniform(15, 30)),
        reservation_s=float(rng.uniform(15, 30)),
    )


def _links(rng: np.random.Generator) -> Links:
    line = float(rng.choice([12.5, 25.0, 50.0]))
    return Links(
        line_gb_s=line,
        flow_gb_s=line * float(rng.uniform(0.75, 0.95)),
        latency_s=float(rng.uniform(5e-5, 4e-4)),
        descriptors_per_token=float(rng.choice([2.0, 4.0])),
        descriptor_s=float(rng.uniform(2e-7, 6e-7)),
        line_known=bool(rng.random() < 0.85),
    )


def _decode(rng: np.random.Generator, spec: Spec, workers: int) -> Decode:
    base, load = float(rng.uniform(0.008, 0.02)), spec.workload
    output, prompt = load.output_median * 1.08, mean_prompt(spec)
    busy = load.rate * output * base * 1.25 / workers  # mean running requests on each worker
    slots = max(8, math.ceil(busy / float(rng.uniform(0.25, 0.4))))
    return Decode(
        workers=workers,
        slots=slots,
        kv_tokens=round(slots * (prompt + output) * float(rng.uniform(1.25, 1.6))),
        base_s=base,
        seq_s=0.015 * base * min(1.0, 16 / slots),
        ctx_s=FULL_CONTEXT_COSTS * base / (slots * prompt),
        chunk=int(rng.choice([256, 512])),
        local_token_s=(spec.prefill.token_s if spec.mode is Mode.COLOCATED else spec.prefill.token_s * 1.5),
        restore_token_s=float(rng.uniform(2e-6, 1e-5)),
        import_s=float(rng.uniform(0.0005, 0.002)),
    )


def full_step_s(spec: Spec) -> float:
    """Seconds of a step with every slot taken and ordinary context: what slots are chosen by."""
    decode, load = spec.decode, spec.workload
    context = decode.slots * (mean_prompt(spec) + load.output_median)
    return decode.base_s + decode.seq_s * decode.slots + decode.ctx_s * min(context, decode.kv_tokens)


def holding_s(spec: Spec, batch: float) -> float:
    """Mean seconds a request holds a decode slot when `batch` of them run."""
    decode, load = spec.decode, spec.workload
    step = decode.base_s + decode.seq_s * batch + decode.ctx_s * batch * mean_prompt(spec)
    return load.output_median * 1.08 * step


def prefill_utilisation(spec: Spec) -> float:
    """Offered prompt work over what the pool can compute."""
    load, prefill = spec.workload, spec.prefill
    prompt = mean_prompt(spec)
    uncached = prompt * (1 - load.cached_fraction)
    service = prefill.base_s + prefill.token_s * uncached + prefill.quad_s * uncached * prompt * 1.15
    return load.rate * service / prefill.workers


def with_prefill(spec: Spec, workers: int, utilisation: float) -> Spec:
    """The same traffic on this many prefill workers, each as fast as that utilisation asks for."""
    old = spec.prefill
    factor = utilisation * workers / (prefill_utilisation(spec) * old.workers)
    prefill = replace(
        old,
        workers=workers,
        base_s=old.base_s * factor,
        token_s=old.token_s * factor,
        quad_s=old.quad_s * factor,
    )
    return replace(spec, prefill=prefill, decode=replace(spec.decode, local_token_s=prefill.token_s * 1.5))


def with_decode(spec: Spec, workers: int, utilisation: float) -> Spec:
    """The same traffic on this many decode workers, with slots for that utilisation and KV for the slots."""
    old, load = spec.decode, spec.workload
    busy = load.rate * holding_s(spec, old.slots * 0.4) / workers
    slots = max(4, round(busy / utilisation))
    kv_tokens = round(old.kv_tokens * slots / old.slots)
    per_slot = FULL_CONTEXT_COSTS * old.base_s / (slots * mean_prompt(spec))
    seq_s = 0.015 * old.base_s * min(1.0, 16 / slots)
    return replace(
        spec,
        decode=replace(old, workers=workers, slots=slots, kv_tokens=kv_tokens, ctx_s=per_slot, seq_s=seq_s),
    )


def mean_prompt(spec: Spec) -> float:
    """Mean prompt tokens of an ordinary request."""
    return spec.workload.prompt_median * math.exp(spec.workload.prompt_sigma**2 / 2)


def mean_transfer_bytes(spec: Spec) -> float:
    """Mean KV bytes of a hand-off."""
    return mean_prompt(spec) * spec.cache.bytes_per_token
