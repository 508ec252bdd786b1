"""What a simulated deployment is: plain frozen values, one group per part of the system.

Times are seconds, sizes tokens or bytes, shares fractions 0–1. A fault is a change of these values and
nothing else, so the same seed can be played with and without it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

NS = 1_000_000_000


def ns(seconds: float) -> int:
    """Seconds as whole nanoseconds."""
    return round(seconds * NS)


class Mode(StrEnum):
    """How the two legs of a request are dispatched."""

    SEQUENTIAL = "sequential"  # decode is called when prefill has answered (vLLM, NIXL pull)
    PARALLEL = "parallel"  # both are called at once, decode allocates when KV is ready (Dynamo bootstrap)
    PREALLOC = "prealloc"  # both are called at once, prefill starts when decode has allocated (SGLang)
    COLOCATED = "colocated"  # no hand-off: prompts are computed in the same steps as running streams


@dataclass(frozen=True)
class Workload:
    """Offered load. Prompts and outputs are clipped lognormals around their medians."""

    requests: int = 300
    rate: float = 5.0  # requests per second
    burst_cv: float = 1.0  # coefficient of variation of gaps; 1 is Poisson
    prompt_median: float = 1000.0
    prompt_sigma: float = 0.35
    output_median: float = 80.0
    output_sigma: float = 0.4
    cached_fraction: float = 0.0  # of a prompt, already in the prefill worker's prefix cache
    follow_up_share: float = 0.0  # requests that continue a conversation
    held_fraction: float = 0.8  # of a follow-up's prompt, already held by decode
    long_share: float = 0.0
    long_factor: float = 1.0
    cancel_share: float = 0.0
    cancel_after_s: float = 0.5  # mean patience of those who leave
    cancel_long_factor: float = 1.0  # prompts of those who leave are this much longer


@dataclass(frozen=True)
class Router:
    """One event loop in front: dispatch, tokenising, hand-over between the legs, retries and the way out."""

    service_s: float = 0.0008
    service_token_s: float = 0.0
    tokenize_token_s: float = 2e-6
    tokenize_at_router: bool = False
    handover_s: float = 0.003  # prefill's answer to decode's dispatch; sequential dispatch only
    attempt_timeout_s: float | None = None
    attempts_max: int = 1
    attempt_failure: float = 0.0  # share of attempts that fail when computed and are dispatched again
    deadline_s: float = 30.0
    network_s: float = 0.0012
    egress_token_s: float = 0.0  # time of one core to write one token out; 0: the way out never queues


@dataclass(frozen=True)
class Prefill:
    """Prompt workers: first come first served, in chunks, a finite KV cache that holds unread prompts."""

    workers: int = 3
    base_s: float = 0.01
    token_s: float = 1e-4
    quad_s: float = 0.0  # per uncached token and total token: attention over what came before
    chunk: int = 512
    kv_tokens: int = 40_000
    hot_share: float = 0.0  # of requests sent to the first worker whatever its load
    honours_aborts: bool = True
    warmup_s: float = 0.0  # first use of each cold worker
    cold_workers: int = 0
    noise: float = 0.03


@dataclass(frozen=True)
class Cache:
    """KV between the pools: size, offer, lease, and what goes wrong with it."""

    bytes_per_token: int = 131_072
    offer_s: float = 0.002  # KV ready to descriptor known
    lease_s: float = 30.0
    renewed: bool = True
    orphan_share: float = 0.0  # published, then nobody comes for it
    orphan_leaks: bool = False  # not even the end of the lease gives it back
    orphan_outcome: str = "cancelled"  # what became of the request: cancelled or error
    late_read: str = "recompute"  # what decode does when the lease has ended: recompute, error or read
    reserved_share: float = 0.0  # prealloc: prefill drops the request, decode is not told
    reservation_s: float = 30.0


@dataclass(frozen=True)
class Links:
    """Paths from prefill to decode, shared equally by the transfers on them, none above `flow_gb_s`."""

    line_gb_s: float = 25.0
    flow_gb_s: float = 25.0
    shared: bool = False  # one uplink for all workers instead of one per prefill worker
    latency_s: float = 0.0002
    loss: float = 0.0
    descriptors_per_token: float = 4.0
    descriptor_s: float = 4e-7
    transport: str = "rdma"
    line_known: bool = True
    slow_pairs: tuple[tuple[int, int], ...] = ()  # (prefill, decode) at `slow_gb_s` at best
    slow_gb_s: float = 1.0
    connect_s: float = 0.0  # first transfer between a pair
    failure_share: float = 0.0
    resend_held: bool = False
    noise: float = 0.04


@dataclass(frozen=True)
class Decode:
    """Decode workers: slots, KV, and a step whose time grows with batch and context."""

    workers: int = 3
    slots: int = 16
    kv_tokens: int = 40_000
    base_s: float = 0.012
    seq_s: float = 0.0002
    ctx_s: float = 1e-7
    reserve_output: bool = True  # admit only what can finish without preemption
    chunk: int = 256  # prompt tokens per step when prompts are computed here
    local_token_s: float = 1e-4
    restore_token_s: float = 1e-5  # bringing a preempted sequence back
    import_s: float = 0.001
    hot_share: float = 0.0
    warmup_s: float = 0.0
    cold_workers: int = 0


@dataclass(frozen=True)
class Clients:
    """The reading side."""

    stall_share: float = 0.0
    stall_s: float = 0.0  # mean time such a client does not read
    stall_first: float = 0.0  # part of it before the first token is taken


@dataclass(frozen=True)
class Objective:
    """Latency objective of a scenario, seconds; `target` is the fraction that has to meet both."""

    ttft: float
    tpot: float
    target: float = 0.99


@dataclass(frozen=True)
class Spec:
    """A deployment and its traffic; `seed` decides every draw of the traffic."""

    seed: int
    mode: Mode = Mode.SEQUENTIAL
    workload: Workload = field(default_factory=Workload)
    router: Router = field(default_factory=Router)
    prefill: Prefill = field(default_factory=Prefill)
    cache: Cache = field(default_factory=Cache)
    links: Links = field(default_factory=Links)
    decode: Decode = field(default_factory=Decode)
    clients: Clients = field(default_factory=Clients)
    ttft_slack: float = 1.25  # objective over the slowest request without faults
    tpot_slack: float = 1.25
