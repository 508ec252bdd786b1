"""What a simulated deployment consists of. Times are seconds, sizes tokens or bytes, shares fractions 0-1."""

from dataclasses import dataclass, field
from enum import StrEnum


class Mode(StrEnum):
    """How a request reaches its two legs."""

    SEQUENTIAL = "sequential"
    """Decode is called when prefill has answered."""
    RESERVED = "reserved"
    """Decode makes room first; prefill computes when it has."""
    COLOCATED = "colocated"
    """One worker does both: prompt chunks share the steps of running streams."""


@dataclass(frozen=True)
class Traffic:
    """What clients send. Lengths are log-normal around their medians."""

    rate: float = 6.0
    prompt: float = 1000.0
    prompt_sigma: float = 0.3
    output: float = 60.0
    output_sigma: float = 0.3
    long_share: float = 0.0
    long_factor: float = 1.0
    held_share: float = 0.0
    """Requests that continue a conversation whose history decode still holds."""
    held_fraction: float = 0.85
    leave_share: float = 0.0
    leave_after_s: float = 0.5
    leave_factor: float = 1.0
    """Prompts of those who leave are so many times as long."""
    stall_share: float = 0.0
    stall_s: float = 0.0


@dataclass(frozen=True)
class Router:
    """One event loop: it takes requests in one after the other, and writes their tokens out."""

    service_s: float = 0.0008
    tokenize_token_s: float = 1e-6
    handover_s: float = 0.002
    attempt_timeout_s: float | None = None
    attempts: int = 1
    deadline_s: float = 60.0
    network_s: float = 0.001
    write_token_s: float = 0.0
    """Time of the one core that writes tokens out; 0: it is never short."""


@dataclass(frozen=True)
class Prefill:
    """Prompt workers: first come, first served, one prompt at a time, a cache that holds unread prompts."""

    workers: int = 2
    base_s: float = 0.01
    token_s: float = 1e-4
    kv_tokens: int = 60_000
    hot_share: float = 0.0
    """Requests sent to the first worker whatever its load."""
    honours_aborts: bool = True
    warm_up_s: float = 0.0


@dataclass(frozen=True)
class Cache:
    """KV between the pools."""

    bytes_per_token: int = 131_072
    offer_s: float = 0.002
    lease_s: float = 30.0
    renewed: bool = True
    leaks: bool = False
    """Not even the end of the lease gives unread KV back."""
    abandoned_share: float = 0.0
    """Clients that leave between the pools, of which prefill hears nothing."""
    reservation_abandoned_share: float = 0.0
    """Clients that leave when decode has made room, of which decode hears nothing."""
    reservation_s: float = 30.0


@dataclass(frozen=True)
class Link:
    """The path of each prefill worker, shared equally by its transfers; `shared`: one path for all."""

    line_gb_s: float = 12.5
    flow_gb_s: float = 12.5
    shared: bool = False
    latency_s: float = 0.0003
    descriptors_per_token: float = 2.0
    descriptor_s: float = 2e-7
    transport: str = "rdma"
    failure_share: float = 0.0
    failure_s: float = 0.05
    connect_s: float = 0.0
    resends_held: bool = False
    stale_peers: bool = False
    """The first prefill worker keeps the address of decode processes that were replaced."""
    on_failure: str = "recompute"
    """`recompute` on decode, or `error`."""


@dataclass(frozen=True)
class Decode:
    """Decode workers: slots, KV, and steps that grow with batch and context."""

    workers: int = 2
    slots: int = 24
    kv_tokens: int = 60_000
    base_s: float = 0.012
    stream_s: float = 0.0002
    context_s: float = 2e-8
    chunk: int = 256
    """Prompt tokens a step, where prompts are computed here."""
    local_token_s: float = 1e-4
    restore_token_s: float = 1e-3
    import_s: float = 0.001
    reserves_output: bool = True
    """Take only what can finish; else the youngest stream loses its KV when memory runs out."""
    hot_share: float = 0.0
    layout: str = "HND"


@dataclass(frozen=True)
class Setup:
    """A deployment with its traffic."""

    mode: Mode = Mode.SEQUENTIAL
    traffic: Traffic = field(default_factory=Traffic)
    router: Router = field(default_factory=Router)
    prefill: Prefill = field(default_factory=Prefill)
    cache: Cache = field(default_factory=Cache)
    link: Link = field(default_factory=Link)
    decode: Decode = field(default_factory=Decode)
    restarts: frozenset[str] = frozenset()
    """Pools whose processes are replaced when this setup begins."""
