"""Which telemetry a window lacks, why it matters and how to get it; said when it would change the answer."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from analyzer.verdict.attribution import COLUMN, Attribution
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import PART, PHASE, Outcome
from analyzer.verdict.vocabulary import Cause
from collector.phases import Phase

MOSTLY_ABSENT = 0.5
"""A phase is missing when so many of the requests in question lack it."""


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
    Phase.KV_PUBLISH: Missing(
        "kv_publish",
        "when the KV was offered is not known, nor whether it was ever read",
        "trace the KV connector: a pd.kv_publish span with its lease",
    ),
    Phase.KV_TRANSFER: Missing(
        "kv_transfer",
        "a slow hand-off cannot be told from a wait for decode",
        "trace the KV connector: a pd.kv_transfer span with pd.kv.bytes for each transfer",
    ),
    Phase.DECODE_QUEUE: Missing(
        "decode_queue",
        "decode's allocation wait cannot be told from the hand-off",
        "trace decode from the arrival of a request to the allocation of its blocks: a pd.decode_queue span",
    ),
    Phase.KV_IMPORT: Missing(
        "kv_import",
        "making imported KV usable cannot be told from waiting for a step",
        "trace the KV connector on decode: a pd.kv_import span",
    ),
    Phase.DECODE: Missing(
        "decode",
        "tokens that decode samples late cannot be told from tokens that are sent late",
        "trace decode from the first token to the last: a pd.decode span",
    ),
}
_POOLS = Missing(
    "pool_signals",
    "what the pools did at that time decides between causes that look alike in one request",
    "send the engines' metrics: queue depth, running requests, KV cache use",
)
_DECODE_KV = Missing(
    "decode.kv_used_fraction",
    "whether decode had room decides between a slow hand-off, overload and a starved pool",
    "send decode's KV cache gauge (vllm:kv_cache_usage_perc, sglang:token_usage)",
)
_BYTES = Missing(
    "pd.kv.bytes",
    "without bytes per transfer there is no rate: a slow link cannot be told from large transfers",
    "put pd.kv.bytes on the pd.kv_transfer span",
)
_DESCRIPTORS = Missing(
    "pd.kv.descriptors",
    "without descriptors (entries) per transfer many small blocks look like a slow link",
    "put pd.kv.descriptors and pd.kv.post_ms on the pd.kv_transfer span",
)
_POSTING = Missing(
    "pd.kv.post_ms",
    "without the time it took to post them many small blocks look like a slow link",
    "put pd.kv.post_ms on the pd.kv_transfer span",
)
_READERS = Missing(
    "pd.stream.stalled_ms",
    "a client that does not read cannot be told from a server that is slow to send",
    "put pd.stream.stalled_ms, the time writes were blocked, on the router's pd.request span",
)
_PORT_BYTES = Missing(
    "nic_bytes_total",
    "port bytes (NIC counters) tell a full link, an idle one, and the wrong device",
    "run a node exporter beside the workers and send node_network_* and node_infiniband_* counters",
)
EVERYTHING = (*_PHASES.values(), _POOLS, _DECODE_KV, _BYTES, _DESCRIPTORS, _POSTING, _READERS, _PORT_BYTES)
"""All that can be listed."""


def phase_missing(phase: Phase) -> Missing | None:
    """What the absence of a phase means; None where nothing depends on it."""
    return _PHASES.get(phase)


def missing_signals(observed_phases: Collection[str]) -> list[Missing]:
    """What a verdict on one request with these observed phases would still need."""
    absent = [missing for phase, missing in _PHASES.items() if phase not in observed_phases]
    return [*absent, _POOLS]


def missing_telemetry(s: Situation, found: Attribution) -> list[Missing]:
    """What this window lacks that would decide its unexplained misses, or make its explanation surer.

    Of requests that were refused nothing is missing: no worker had them.
    """
    had = s.of(s.requests.outcome) != Outcome.REJECTED
    if not had.any():
        return []
    shares = found.shares[had].mean(axis=0)
    abstained = shares[COLUMN[Cause.INSUFFICIENT_EVIDENCE]] > 0.05
    moving = [Cause.SLOW_LINK, Cause.LINK_CONTENTION, Cause.MANY_SMALL_BLOCKS, Cause.TCP_FALLBACK]
    about_transfers = abstained or any(shares[COLUMN[cause]] > 0.2 for cause in moving)
    out = list(_phases(s)) if abstained else []
    if not s.loaded.readings.has("kv_used_fraction") and (
        abstained or shares[COLUMN[Cause.PREFILL_STARVED]] > 0.2
    ):
        out.append(_POOLS if not s.loaded.readings.has("queue_depth") else _DECODE_KV)
    elif abstained and not _decode_gauge(s):
        out.append(_DECODE_KV)
    if about_transfers and float(np.nan_to_num(s.exposed[:, PART["kv_transfer"]]).sum()) > 0:
        out += _about_transfers(s)
    streaming = s.exposed[:, PART["network_streaming"]] > 0.1 * s.of(s.requests.ttft_limit)
    if abstained and streaming.any() and not np.isfinite(s.requests.stalled[s.requests.inside]).any():
        out.append(_READERS)
    return out


def _phases(s: Situation) -> list[Missing]:
    """Phases that answered requests do not tell: one that failed need not have come so far."""
    r = s.requests
    late = s.rows[~s.failed]
    rows = late if len(late) else np.flatnonzero(r.inside & r.answered)
    seen = np.isfinite(r.phase_from[rows if len(rows) else s.rows]).mean(axis=0)
    return [missing for phase, missing in _PHASES.items() if seen[PHASE[phase]] < MOSTLY_ABSENT]


def _decode_gauge(s: Situation) -> bool:
    workers = s.pools.decode_workers.tolist()
    return s.loaded.readings.pool_mean("kv_used_fraction", workers) is not None


def _about_transfers(s: Situation) -> list[Missing]:
    t = s.transfers
    moved = np.isfinite(t.asked)
    out = []
    if moved.any() and not np.isfinite(t.bytes[moved]).any():
        out.append(_BYTES)
    if moved.any() and not np.isfinite(t.descriptors[moved]).any():
        out.append(_DESCRIPTORS)
    elif moved.any() and not np.isfinite(t.post[moved]).any():
        out.append(_POSTING)
    if not any(item.signal == "nic_bytes_total" for item in s.loaded.increases):
        out.append(_PORT_BYTES)
    return out
