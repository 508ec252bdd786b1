"""Prompts in the steps of running streams, and how much longer those steps are for it.

Measured against streams of the same window that shared their steps with none, at the same batch and context;
where hardly any ran alone, against what a fit says of no overlap.
"""

import numpy as np

from analyzer.baselines import ENOUGH_HEALTHY, decode_step
from analyzer.occupancy import Occupancy
from analyzer.robust_fit import fit
from analyzer.verdict.situation import Situation, once
from analyzer.verdict.tables import DECODE_PART, Floats

ALONE = 0.02
"""Up to this share of its time beside prompts a stream ran alone."""
BESIDE_STEPS = ("preempted", "recompute", "handoff", "blocked")
"""Parts of the decode interval that are no step."""


@once
def prompts_on_decode(s: Situation) -> Occupancy:
    """Prompts computed by workers that decode: colocated ones, and follow-up turns appended there."""
    r = s.requests
    shared = np.isin(s.pools.prompt_worker, s.pools.decode_workers)
    codes = np.where(shared, s.pools.prompt_worker, 0).astype(np.uint64)
    appended = r.appended & (r.local_prompt_tokens > 0)
    return Occupancy(
        np.concatenate([codes, np.where(appended, r.decode_worker, 0).astype(np.uint64)]),
        np.concatenate([r.began("prefill_compute"), r.began("first_decode_step")]),
        np.concatenate([r.ended("prefill_compute"), r.ended("first_decode_step")]),
    )


@once
def slower(s: Situation) -> Floats:
    """Part of each missed stream's time over the TPOT objective that prompts in its steps explain; 0 to 1."""
    tokens = np.maximum(s.of(s.requests.output_tokens) - 1, 1.0)
    parts = np.nan_to_num(s.of(s.requests.exposed_decode))
    elsewhere = parts[:, [DECODE_PART[part] for part in BESIDE_STEPS]].sum(axis=1) / tokens
    running = s.of(s.requests.tpot) - elsewhere
    over = np.where(s.over_tpot > 0, s.over_tpot, np.inf)
    found = np.clip((running - _without_prompts(s)) / over, 0.0, 1.0)
    return np.where(np.isfinite(found), found, 1.0)


def _without_prompts(s: Situation) -> Floats:
    """Seconds per token of each missed stream had no prompt shared its steps."""
    r, batch = s.requests, s.batch
    since, until = (np.nan_to_num(edge) for edge in (r.began("decode"), r.ended("decode")))
    shared = prompts_on_decode(s).mean(r.decode_worker, since, until)
    shared = shared + s.pools.decode_local_prompts.mean(r.decode_worker, since, until)
    usable = np.isfinite(r.tpot) & np.isfinite(batch) & np.isfinite(r.began("decode"))
    for among in (usable & r.inside, usable):
        alone = among & (shared <= ALONE)
        if alone.sum() >= ENOUGH_HEALTHY:
            return s.of(decode_step(r, batch, alone).expected)
    context = r.input_tokens + np.nan_to_num(r.output_tokens) / 2
    x = np.column_stack([np.ones(len(r)), batch, batch * context, shared])
    found = fit(x[usable], r.tpot[usable])
    x[:, 3] = 0.0
    return s.of(found.predict(x)) if found is not None else np.full(len(s.rows), np.nan)
