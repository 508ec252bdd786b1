"""The closed list of causes (verdict vocabulary v1)."""

from enum import StrEnum


class Cause(StrEnum):
    """Why a request missed its objective; `none` when it did not."""

    PREFILL_STARVED = "pool_imbalance.prefill_starved"
    DECODE_STARVED = "pool_imbalance.decode_starved"
    INTRA_POOL_SKEW = "pool_imbalance.intra_pool_skew"
    OVERLOAD = "overload"
    PREFILL_BOUND = "prefill_bound"
    DECODE_BOUND = "decode_bound"
    SLOW_LINK = "transfer_delay.slow_link"
    LINK_CONTENTION = "transfer_delay.contention"
    MANY_SMALL_BLOCKS = "transfer_delay.many_small_blocks"
    TCP_FALLBACK = "transfer_delay.tcp_fallback"
    REDUNDANT_PREFIX = "transfer_delay.redundant_prefix"
    STALE_PEER = "transfer_failure.stale_peer"
    EXPIRED_BEFORE_READ = "orphaned_kv.expired_before_read"
    UNCLAIMED = "orphaned_kv.unclaimed"
    LEAKED = "orphaned_kv.leaked"
    RESERVED_NEVER_FILLED = "orphaned_kv.reserved_never_filled"
    DECODE_RECOMPUTE = "interference.decode_recompute"
    PREFILL_IN_STEP = "interference.prefill_in_step"
    PREEMPTION = "preemption"
    ROUTER_QUEUE = "router_queue"
    TOKENIZER_SLOW = "tokenizer_slow"
    BACKPRESSURE = "network_streaming.backpressure"
    CLIENT_STALL = "client_stall"
    COLD_START = "cold_start"
    CANCELLED = "cancelled"
    RETRY_AMPLIFICATION = "retry_amplification"
    VERSION_MISMATCH = "version_mismatch"
    HANDOVER_OVERHEAD = "handover_overhead"
    NONE = "none"
    INSUFFICIENT_EVIDENCE = "insufficient_evidence"


CAUSES: tuple[Cause, ...] = tuple(cause for cause in Cause if cause is not Cause.NONE)
"""What a miss can be blamed on, in the order of columns of shares."""
COLUMN = {cause: number for number, cause in enumerate(CAUSES)}
