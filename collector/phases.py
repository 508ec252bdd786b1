"""The phases of one request, in pipeline order (telemetry convention v1)."""

from enum import StrEnum


class Phase(StrEnum):
    """A named part of a request's time; the order of the members is the order of the pipeline."""

    ROUTER_QUEUE = "router_queue"
    TOKENIZE = "tokenize"
    PREFILL_QUEUE = "prefill_queue"
    PREFILL_COMPUTE = "prefill_compute"
    KV_PUBLISH = "kv_publish"
    KV_TRANSFER = "kv_transfer"
    DECODE_QUEUE = "decode_queue"
    KV_IMPORT = "kv_import"
    FIRST_DECODE_STEP = "first_decode_step"
    NETWORK_STREAMING = "network_streaming"
    DECODE = "decode"


TTFT_PHASES: tuple[Phase, ...] = tuple(phase for phase in Phase if phase is not Phase.DECODE)
"""The ten phases that can hold exposed time between a request's start and its first token."""

TTFT_PARTS: tuple[str, ...] = (*TTFT_PHASES, "retry", "unattributed")
"""What TTFT is cut into; the parts add up to TTFT to the nanosecond."""

DECODE_PARTS: tuple[str, ...] = ("running", "preempted", "recompute", "handoff", "blocked", "unattributed")
"""What the decode interval [first token, last token] is cut into."""
