"""What can go wrong, as changes of a deployment whose cause is known by construction.

A kind of fault first shapes the deployment so that it could suffer from it (`prepare`: part of every
run), then plants the fault (`plant`: the change that a counterfactual run leaves out). Magnitudes are
drawn at random around what it takes to miss the objective; `strength` scales them. `cause` is the
vocabulary's name for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import deployment as d
from .life import Life
from .spec import NS, Mode, Objective, Spec

Rng = np.random.Generator
Change = Callable[[Spec], Spec]
Prepare = Callable[[Spec, Rng], Spec]
Plant = Callable[[Spec, Objective, Rng, float], Change]
Label = Callable[[Life, Objective], str]

ENOUGH_SLOTS = 8
WEAK = 0.5  # strengths below are those of decoys
SPLIT = frozenset({Mode.SEQUENTIAL, Mode.PARALLEL, Mode.PREALLOC})
ANY = frozenset(Mode)


@dataclass(frozen=True)
class Fault:
    """One kind of fault. Faults of one stage hide each other and are not planted together."""

    name: str
    cause: str
    stage: str
    modes: frozenset[Mode]
    prepare: Prepare
    plant: Plant
    label: Label
    reshapes: bool  # prepares other traffic: what is sized for the traffic has to be prepared after it


KINDS: dict[str, Fault] = {}


def fault(
    name: str,
    cause: str,
    stage: str,
    modes: frozenset[Mode] = SPLIT,
    prepare: Prepare = lambda spec, rng: spec,
    label: Label | None = None,
    reshapes: bool = False,
) -> Callable[[Plant], Plant]:
    """Register a kind by the function that plants it."""

    def register(plant: Plant) -> Plant:
        named = label or (lambda life, objective: cause)
        KINDS[name] = Fault(name, cause, stage, modes, prepare, plant, named, reshapes)
        return plant

    return register


def _with(group: str, **values: Any) -> Change:
    return lambda spec: replace(spec, **{group: replace(getattr(spec, group), **values)})


def _u(rng: Rng, low: float, high: float) -> float:
    return float(rng.uniform(low, high))


def _extra_s(objective: Objective, rng: Rng, strength: float) -> float:
    """Seconds that push an ordinary request past the objective, or nearly."""
    return objective.ttft * _u(rng, 0.7, 1.4) * strength


# pools


def _many_prefill(spec: Spec, rng: Rng) -> Spec:
    return d.with_prefill(spec, int(rng.integers(3, 6)), _u(rng, 0.4, 0.46))


@fault("starved_prefill", "pool_imbalance.prefill_starved", "prefill", prepare=_many_prefill)
def _starved_prefill(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """Workers are missing: those left are offered more than they can compute."""
    offered = d.prefill_utilisation(spec) * spec.prefill.workers
    left = max(1, int(offered / (_u(rng, 1.1, 1.5) * strength)))
    return _with("prefill", workers=left)


@fault("starved_decode", "pool_imbalance.decode_starved", "decode")
def _starved_decode(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """Too few slots, or too little KV, for the streams that arrive."""
    old, load = spec.decode, spec.workload
    workers = max(1, old.workers // 2)
    offered = load.rate * d.holding_s(spec, old.slots) / workers
    slots = max(1, int(offered / (_u(rng, 1.15, 1.5) * strength)))
    kv_tokens = round(slots * (d.mean_prompt(spec) + load.output_median * 1.1))
    longest = 3 * round(load.prompt_median + load.output_median)
    if rng.random() < 0.5 and kv_tokens > 2 * longest:
        return _with("decode", workers=workers, kv_tokens=kv_tokens)
    return _with("decode", workers=workers, slots=slots, kv_tokens=max(old.kv_tokens, longest))


def _roomy_decode(spec: Spec, rng: Rng) -> Spec:
    return d.with_decode(spec, 4, _u(rng, 0.2, 0.3))


@fault("crowded_decode", "pool_imbalance.decode_starved", "decode", prepare=_roomy_decode)
def _crowded_decode(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """Workers are missing and nothing limits the batch: steps grow with it until streams are too slow."""
    old = spec.decode
    many = round(8 * strength)
    return _with("decode", workers=1, slots=old.slots * many, kv_tokens=old.kv_tokens * many)


def _balanced(spec: Spec, rng: Rng) -> Spec:
    at = _u(rng, 0.4, 0.45)
    spec = d.with_prefill(spec, int(rng.integers(2, 5)), at)
    at *= _u(rng, 1.05, 1.2)
    # whole slots: with few on a worker decode would get more than it is meant to have
    slots = spec.workload.rate * d.holding_s(spec, spec.decode.slots * 0.4) / at
    return d.with_decode(spec, max(1, min(spec.decode.workers, int(slots / ENOUGH_SLOTS))), at)


@fault("overload", "overload", "pools", prepare=_balanced)
def _overload(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """Traffic beyond either pool: what prefill can compute at most is still too much for decode."""
    surge = _u(rng, 1.25, 1.6) * strength / d.prefill_utilisation(spec)
    return _with("workload", rate=spec.workload.rate * surge)


@fault("hot_prefill", "pool_imbalance.intra_pool_skew", "prefill", prepare=_many_prefill)
def _hot_prefill(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """The router sends one worker more than it can compute while its siblings idle."""
    offered = d.prefill_utilisation(spec) * spec.prefill.workers
    return _with("prefill", hot_share=min(0.95, _u(rng, 1.1, 1.3) * strength / offered))


def _four_decode(spec: Spec, rng: Rng) -> Spec:
    return d.with_decode(spec, 4, _u(rng, 0.38, 0.45))


@fault("hot_decode", "pool_imbalance.intra_pool_skew", "decode", prepare=_four_decode)
def _hot_decode(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """One decode worker is sent more streams than it has slots for while its siblings idle."""
    offered = spec.workload.rate * d.holding_s(spec, spec.decode.slots) / spec.decode.slots
    return _with("decode", hot_share=min(0.95, _u(rng, 1.1, 1.35) * strength / offered))


def _idle_prefill(spec: Spec, rng: Rng) -> Spec:
    spec = _with_kv(d.with_prefill(spec, 4, _u(rng, 0.12, 0.16)), 3, 5)
    return _with("decode", ctx_s=spec.decode.ctx_s / 6)(
        spec
    )  # long contexts are not to show in steps as well


def _with_kv(spec: Spec, prefill: int, decode: int) -> Spec:
    spec = _with("prefill", kv_tokens=spec.prefill.kv_tokens * prefill)(spec)
    return _with("decode", kv_tokens=spec.decode.kv_tokens * decode)(spec)


def _own_prompt(life: Life, objective: Objective) -> str:
    compute = sum(i.end - i.start for i in life.intervals if i.phase == "prefill_compute") / NS
    return "prefill_bound" if compute > 0.7 * objective.ttft else "pool_imbalance.prefill_starved"


@fault("long_prompts", "prefill_bound", "prefill", prepare=_idle_prefill, label=_own_prompt)
def _long_prompts(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """Some prompts take longer to compute than the objective allows, with workers free for them."""
    usual = d.prefill_utilisation(spec) * spec.prefill.workers / spec.workload.rate
    factor = objective.ttft / usual * _u(rng, 1.0, 1.5) * strength
    return _with("workload", long_share=_u(rng, 0.08, 0.16), long_factor=min(12.0, factor))


def _light_decode(spec: Spec, rng: Rng) -> Spec:
    return d.with_decode(spec, spec.decode.workers, _u(rng, 0.15, 0.2))


@fault("slow_steps", "decode_bound", "decode", prepare=_light_decode)
def _slow_steps(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """A step at an ordinary batch takes longer than the objective for a token."""
    return _with("decode", base_s=objective.tpot * _u(rng, 0.95, 1.3) * strength)


# on the way between the pools


@fault("slow_link", "transfer_delay.slow_link", "transfer")
def _slow_link(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """Every transfer runs at a fraction of the line rate, however few there are."""
    return _with("links", flow_gb_s=_rate_for(spec, _extra_s(objective, rng, strength)))


def _rate_for(spec: Spec, seconds: float) -> float:
    return d.mean_transfer_bytes(spec) / seconds / 1e9


@fault("slow_pairs", "transfer_delay.slow_link", "transfer")
def _slow_pairs(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """Some pairs use the wrong path; the others are as fast as ever."""
    pairs = [(p, q) for p in range(spec.prefill.workers) for q in range(spec.decode.workers)]
    count = max(1, round(len(pairs) * _u(rng, 0.15, 0.35)))
    slow = tuple(pairs[i] for i in sorted(rng.choice(len(pairs), count, replace=False).tolist()))
    return _with(
        "links", slow_pairs=slow, slow_gb_s=_rate_for(spec, 1.3 * _extra_s(objective, rng, strength))
    )


def _large_kv(spec: Spec, rng: Rng) -> Spec:
    return _with("cache", bytes_per_token=327_680)(spec)


def _thin_lines(spec: Spec, rng: Rng) -> Spec:
    spec = d.with_prefill(_large_kv(spec, rng), int(rng.integers(3, 6)), _u(rng, 0.25, 0.35))
    line = spec.workload.rate * d.mean_transfer_bytes(spec) / 1e9 / _u(rng, 1.0, 1.2)
    return _with("links", line_gb_s=line, flow_gb_s=line)(spec)


@fault("contention", "transfer_delay.contention", "transfer", prepare=_thin_lines)
def _contention(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """All workers share one uplink that does its line rate and is asked for about that much."""
    return _with("links", shared=True)


@fault("small_blocks", "transfer_delay.many_small_blocks", "transfer")
def _small_blocks(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """KV is cut into so many pieces that posting them takes longer than moving the bytes."""
    pieces = float(rng.choice([64.0, 128.0, 256.0]))
    each = _extra_s(objective, rng, strength) / (pieces * d.mean_prompt(spec))
    return _with("links", descriptors_per_token=pieces, descriptor_s=each)


@fault("tcp_fallback", "transfer_delay.tcp_fallback", "transfer", prepare=_large_kv)
def _tcp_fallback(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """The transport came up as TCP although the path is an RDMA one."""
    rate = min(2.5, _rate_for(spec, _extra_s(objective, rng, strength)))
    return _with("links", transport="tcp", flow_gb_s=rate, latency_s=0.002)


def _conversations(spec: Spec, rng: Rng) -> Spec:
    held = _u(rng, 0.8, 0.87)
    spec = d.with_prefill(_large_kv(spec, rng), int(rng.integers(3, 5)), _u(rng, 0.18, 0.25))
    spec = _with("workload", follow_up_share=_u(rng, 0.3, 0.6), held_fraction=held)(_with_kv(spec, 3, 6))
    compute = d.prefill_utilisation(spec) * spec.prefill.workers / spec.workload.rate
    line = _rate_for(spec, compute * _u(rng, 0.7, 1.0))
    return _with("links", line_gb_s=line, flow_gb_s=line)(spec)


@fault(
    "redundant_prefix", "transfer_delay.redundant_prefix", "transfer", prepare=_conversations, reshapes=True
)
def _redundant_prefix(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """Follow-up turns send the whole history again although decode still holds it."""
    return _with("links", resend_held=True)


def _slow_local(spec: Spec, rng: Rng) -> Spec:
    factor = _u(rng, 3.0, 5.0)
    return _with("decode", local_token_s=spec.prefill.token_s * factor, chunk=256)(spec)


@fault("failed_loads", "interference.decode_recompute", "transfer", prepare=_slow_local)
def _failed_loads(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """Transfers fail and decode computes those prompts in everybody's steps."""
    return _with("links", failure_share=min(0.8, _u(rng, 0.12, 0.3) * strength))


def _handover(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    extra = _extra_s(objective, rng, strength)
    if spec.mode is Mode.SEQUENTIAL and rng.random() < 0.5:
        return _with("router", handover_s=extra)
    return _with("cache", offer_s=extra)


fault("slow_handover", "handover_overhead", "handover", modes=frozenset({Mode.SEQUENTIAL, Mode.PARALLEL}))(
    _handover
)


# KV left behind


def _tight_cache(spec: Spec, rng: Rng) -> Spec:
    tokens = max(5.0, _u(rng, 7, 10)) * spec.workload.prompt_median
    return _with("prefill", kv_tokens=round(tokens))(spec)


@fault("unclaimed", "orphaned_kv.unclaimed", "prefill", prepare=_tight_cache)
def _unclaimed(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """Clients leave between the pools and nobody tells prefill: their KV stays until the lease ends."""
    load, prefill = spec.workload, spec.prefill
    lease = _u(rng, 15, 30)
    fills = prefill.kv_tokens * prefill.workers / (load.rate * d.mean_prompt(spec) * lease)
    share = min(0.5, fills * _u(rng, 0.95, 1.4) * strength)
    outcome = "error" if share < 0.2 and rng.random() < 0.3 else "cancelled"
    return _with("cache", orphan_share=share, orphan_outcome=outcome, lease_s=lease)


def _tight_cache_short_lease(spec: Spec, rng: Rng) -> Spec:
    return _with("cache", lease_s=_u(rng, 5, 9))(_tight_cache(spec, rng))


@fault("leaked", "orphaned_kv.leaked", "prefill", prepare=_tight_cache_short_lease)
def _leaked(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """As above, and not even the end of the lease gives the blocks back: the cache fills for good."""
    share = spec.prefill.kv_tokens * spec.prefill.workers / (d.mean_prompt(spec) * spec.workload.requests)
    return _with("cache", orphan_share=min(0.5, share / _u(rng, 0.45, 0.7) * strength), orphan_leaks=True)


def _long_transfers(spec: Spec, rng: Rng) -> Spec:
    compute = d.prefill_utilisation(spec) * spec.prefill.workers / spec.workload.rate
    spec = _large_kv(spec, rng)
    line = _rate_for(spec, compute * _u(rng, 0.6, 1.0)) * spec.prefill.workers
    flow = line / spec.prefill.workers
    return _with("links", line_gb_s=line, flow_gb_s=flow, line_known=False)(_slow_local(spec, rng))


@fault(
    "short_lease",
    "orphaned_kv.expired_before_read",
    "transfer",
    modes=frozenset({Mode.SEQUENTIAL, Mode.PARALLEL}),
    prepare=_long_transfers,
)
def _short_lease(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """The lease is shorter than many hand-offs: the read comes too late, and fails or is done without."""
    usual = d.mean_transfer_bytes(spec) / (spec.links.flow_gb_s * 1e9)
    lease, late = _u(rng, 1.0, 1.4) * usual, str(rng.choice(["recompute", "error"]))
    if strength < WEAK:  # read all the same: nobody is late, what was read may be another's
        return _with("cache", lease_s=lease, renewed=False, late_read="read")
    return _with("cache", lease_s=lease / strength, renewed=False, late_read=late)


def _tight_decode(spec: Spec, rng: Rng) -> Spec:
    return d.with_decode(spec, spec.decode.workers, _u(rng, 0.38, 0.48))


@fault(
    "never_filled",
    "orphaned_kv.reserved_never_filled",
    "decode",
    modes=frozenset({Mode.PREALLOC}),
    prepare=_tight_decode,
)
def _never_filled(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """Prefill drops requests whose clients left; decode is not told and holds blocks until it gives up."""
    decode = spec.decode
    held_s = _u(rng, 20, 40)
    fills = decode.slots * decode.workers / (spec.workload.rate * held_s)
    return _with("cache", reserved_share=min(0.5, fills * _u(rng, 0.9, 1.3) * strength), reservation_s=held_s)


# decode under pressure


def _long_answers(spec: Spec, rng: Rng) -> Spec:
    spec = _with("workload", output_median=_u(rng, 250, 450), prompt_median=_u(rng, 120, 300))(spec)
    spec = d.with_prefill(spec, spec.prefill.workers, _u(rng, 0.25, 0.35))
    spec = d.with_decode(spec, 2, _u(rng, 0.25, 0.35))
    kv_tokens = round(spec.decode.slots * (d.mean_prompt(spec) + spec.workload.output_median) * 1.4)
    decode = replace(spec.decode, reserve_output=False, kv_tokens=kv_tokens)
    decode = replace(
        decode, ctx_s=decode.ctx_s / 5, seq_s=decode.seq_s / 3, restore_token_s=_u(rng, 1e-3, 3e-3)
    )
    return replace(spec, decode=decode, ttft_slack=spec.ttft_slack * 20, tpot_slack=1.1)


def _by_preemption(life: Life, objective: Objective) -> str:
    tpot = life.tpot_s()
    slow = tpot is not None and tpot > objective.tpot
    return "preemption" if life.preempted and slow else "pool_imbalance.decode_starved"


@fault(
    "little_kv",
    "preemption",
    "decode",
    modes=frozenset({Mode.SEQUENTIAL, Mode.PARALLEL}),
    prepare=_long_answers,
    label=_by_preemption,
    reshapes=True,
)
def _little_kv(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """KV runs out under running streams: the youngest lose theirs and wait to get it back."""
    load = spec.workload
    busy = load.rate * d.holding_s(spec, spec.decode.slots * 0.3) / spec.decode.workers
    usual = busy * (d.mean_prompt(spec) + load.output_median * 0.55)
    least = 2.7 * load.prompt_median + 2.7 * load.output_median
    return _with("decode", kv_tokens=round(max(least, usual * _u(rng, 1.25, 1.4) / strength**0.4)))


def _long_documents(spec: Spec, rng: Rng) -> Spec:
    spec = _with_kv(spec, 1, 6)
    return replace(spec, ttft_slack=spec.ttft_slack * 20)


def _in_steps(life: Life, objective: Objective) -> str:
    tpot = life.tpot_s()
    return (
        "interference.prefill_in_step"
        if tpot is not None and tpot > objective.tpot
        else _own_prompt(life, objective)
    )


@fault(
    "long_documents",
    "interference.prefill_in_step",
    "prefill",
    modes=frozenset({Mode.COLOCATED}),
    prepare=_long_documents,
    label=_in_steps,
)
def _documents(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """Long prompts are computed in the steps of running streams, which slow down for it."""
    return _with("workload", long_share=_u(rng, 0.15, 0.3), long_factor=min(14.0, _u(rng, 5, 8) * strength))


# router, retries, cancelled work, cold starts


@fault("router_queue", "router_queue", "router", modes=ANY)
def _router_queue(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """One event loop handles every request and takes about as long as they come."""
    busy = _u(rng, 0.95, 1.15) * strength / spec.workload.rate
    if rng.random() < 0.5:
        return _with("router", service_token_s=busy / d.mean_prompt(spec))
    return _with("router", service_s=busy)


@fault("slow_tokenizer", "tokenizer_slow", "router", modes=ANY)
def _slow_tokenizer(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """Turning text into token ids takes as long as a prefill."""
    return _with("router", tokenize_token_s=_extra_s(objective, rng, strength) / d.mean_prompt(spec))


def _leavers(spec: Spec, rng: Rng) -> Spec:
    spec = d.with_prefill(spec, int(rng.integers(2, 4)), _u(rng, 0.5, 0.6))
    compute = d.prefill_utilisation(spec) * spec.prefill.workers / spec.workload.rate
    return _with(
        "workload",
        cancel_share=_u(rng, 0.35, 0.45),
        cancel_long_factor=_u(rng, 3.0, 4.0),
        cancel_after_s=0.25 * compute,
    )(_with_kv(spec, 2, 3))


@fault("work_for_the_gone", "cancelled", "prefill", prepare=_leavers, reshapes=True)
def _work_for_the_gone(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """Aborts do not reach prefill: it computes long prompts whose clients have left, ahead of live ones."""
    return _with("prefill", honours_aborts=False)


def _half_busy(spec: Spec, rng: Rng) -> Spec:
    return d.with_prefill(spec, int(rng.integers(2, 5)), _u(rng, 0.42, 0.5))


@fault("retries", "retry_amplification", "prefill", modes=frozenset({Mode.SEQUENTIAL}), prepare=_half_busy)
def _retries(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """The router gives up on an attempt too early, or it fails, and dispatches the same request again."""
    compute = d.prefill_utilisation(spec) * spec.prefill.workers / spec.workload.rate
    if rng.random() < 0.3:
        share = min(0.8, _u(rng, 0.35, 0.5) * strength)
        return _with("router", attempt_failure=share, attempts_max=4)
    patience = compute * _u(rng, 1.1, 1.5) / strength
    return lambda spec: replace(
        spec,
        router=replace(spec.router, attempt_timeout_s=patience, attempts_max=3),
        prefill=replace(spec.prefill, honours_aborts=False),
    )


@fault("cold_start", "cold_start", "prefill")
def _cold_start(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """Workers have just started: the first prompt, step or transfer of a pair pays for it."""
    seconds = spec.workload.requests / spec.workload.rate * _u(rng, 0.08, 0.14) * strength
    what = rng.choice(["prefill", "decode", "connect"])
    if what == "connect":
        return _with("links", connect_s=seconds)
    group = str(what)
    return _with(group, warmup_s=seconds, cold_workers=getattr(spec, group).workers)


# the way out


@fault("slow_writer", "network_streaming.backpressure", "stream", modes=ANY)
def _slow_writer(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """The core that writes tokens out cannot keep up with those that are sampled."""
    tokens_per_s = spec.workload.rate * spec.workload.output_median * 1.08
    return _with("router", egress_token_s=_u(rng, 1.0, 1.15) * strength / tokens_per_s)


@fault("slow_readers", "client_stall", "stream", modes=ANY)
def _slow_readers(spec: Spec, objective: Objective, rng: Rng, strength: float) -> Change:
    """Some clients do not read in time; everything up to the socket is healthy."""
    lag = objective.tpot * spec.workload.output_median * _u(rng, 1.0, 2.5) * strength
    return _with(
        "clients",
        stall_share=_u(rng, 0.12, 0.35),
        stall_s=lag,
        stall_first=float(rng.choice([0.0, 0.1, 0.3])),
    )
