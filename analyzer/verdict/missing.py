"""Which signals a request's telemetry lacks, why they matter, and how to get them."""

from collections.abc import Collection
from dataclasses import dataclass

from collector.phases import Phase


@dataclass(frozen=True)
class Missing:
    """One absent signal."""

    signal: str
    why_it_matters: str
    how_to_get_it: str


_PHASES = {
    Phase.ROUTER_QUEUE: Missing(
        "router_queue",
        "time before dispatch cannot be told from the workers' own",
        "trace the router: a pd.request span and a pd.router_queue span for each request",
    ),
    Phase.PREFILL_QUEUE: Missing(
        "prefill_queue",
        "waiting for a prefill worker cannot be told from computing",
        "switch on the prefill workers' request tracing",
    ),
    Phase.PREFILL_COMPUTE: Missing(
        "prefill_compute",
        "the prompt's own cost is not known",
        "switch on the prefill workers' request tracing",
    ),
    Phase.KV_TRANSFER: Missing(
        "kv_transfer",
        "a slow hand-off cannot be told from a wait for decode",
        "trace the KV connector: a pd.kv_transfer span with pd.kv.bytes for each transfer",
    ),
    Phase.DECODE_QUEUE: Missing(
        "decode_queue",
        "waiting for a decode worker cannot be told from the hand-off",
        "switch on the decode workers' request tracing",
    ),
}

_POOLS = Missing(
    "pool_signals",
    "what the pools did at that time decides between causes that look alike in one request",
    "send the engines' metrics: queue depth, running requests, KV cache use",
)


def missing_signals(observed_phases: Collection[str]) -> list[Missing]:
    """What a verdict on a request with these observed phases would still need."""
    absent = [missing for phase, missing in _PHASES.items() if phase not in observed_phases]
    return [*absent, _POOLS]
