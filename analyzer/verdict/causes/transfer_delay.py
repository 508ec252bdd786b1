"""The hand-off's bytes take too long, and why: prefix sent again, small blocks, sharing, TCP, or a slow path.

Asked in that order (TCP before sharing: a faster way would carry them all); what none of them claims stays
unexplained.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from analyzer.occupancy import Occupancy
from analyzer.verdict.causes import link
from analyzer.verdict.causes.pool_state import held_by_hand_offs
from analyzer.verdict.evidence import Evidence, median, number
from analyzer.verdict.quoted import part
from analyzer.verdict.rule import Rule, where
from analyzer.verdict.situation import Situation, faster_path
from analyzer.verdict.tables import PART, Flags, Floats
from analyzer.verdict.vocabulary import Cause

REDUNDANT = 0.3
"""From this share of the bytes on, what the receiver already held is worth naming."""


def _carried(s: Situation, column: np.ndarray) -> Floats:
    """A column of `transfers` for each missed request; 0 where it is not known, and of transfers that gave
    up: how long those took says nothing of their path.
    """
    found = np.nan_to_num(s.of_hand_off(column.astype(np.float64)))
    return np.where(s.of_hand_off(s.transfers.gave_up.astype(np.float64), 0.0) > 0, 0.0, found)


def redundant(s: Situation) -> Floats:
    """The part of each transfer that moved what the consumer already had."""
    t = s.transfers
    share = _carried(s, t.already_held_tokens / t.tokens)
    took = _carried(s, t.seconds)
    excess = s.excess[:, PART["kv_transfer"]]
    part = np.where(excess > 0, share * took / np.where(excess > 0, excess, 1.0), 0.0)
    return np.where(share >= REDUNDANT, np.minimum(part, 1.0), 0.0)


def small_blocks(s: Situation) -> Floats:
    """Transfers whose time is the posting of many small descriptors."""
    _, bound = link.posting(s)
    return where(_carried(s, bound | link.descriptor_bound(s)) > 0)


def contention(s: Situation) -> Floats:
    """The part of each transfer that sharing the path added: 1 - 1/concurrency of its time."""
    sharing = link.sharing(s)
    n = np.maximum(sharing.concurrency, 1.0)
    took, expected = s.transfers.seconds, s.moving.expected
    added = np.maximum(took - np.maximum(took / n, expected), 0.0)
    part = np.where(sharing.shared, added / np.maximum(took - expected, 1e-9), 0.0)
    found: Floats = np.clip(_carried(s, part), 0.0, 1.0)
    return found


def tcp(s: Situation) -> Floats:
    """Slow transfers over TCP although the machines have a faster way."""
    chosen = faster_path(s.loaded) & (link.slow(s) >= link.SLOW)
    return where(_carried(s, chosen) > 0)


def slow_link(s: Situation) -> Floats:
    """Transfers slower than their size explains, at any load, that no posting of small blocks explains."""
    return where((_carried(s, link.slow(s)) >= link.SLOW) & ~(_carried(s, link.may_be_posting(s)) > 0))


def before_decode(s: Situation, kind: Callable[[Situation], Flags]) -> Floats:
    """Waits for room on decode that hand-offs under way hold, most of them slow for one reason.

    kind: the transfers that are slow for it.
    """
    t = s.transfers
    since, until = (np.nan_to_num(edge) for edge in s.wait("decode_queue"))

    def under_way(chosen: Flags) -> Floats:
        consumers = np.where(chosen, t.consumer, 0).astype(np.uint64)
        return Occupancy(consumers, t.asked, t.moved).mean(s.decode_worker, since, until)

    held = held_by_hand_offs(s)["decode_queue"]
    if not held.any():
        return np.zeros(len(s.rows))
    return where(held & (under_way(kind(s)) >= MOST * under_way(np.ones(len(t), bool))))


MOST = 0.5
"""Share of what is under way."""


def _contended(s: Situation) -> Flags:
    return link.sharing(s).shared & (link.slow(s) >= link.SLOW)


def _on_slow_path(s: Situation) -> Flags:
    other = _contended(s) | link.may_be_posting(s) | faster_path(s.loaded)
    small, posted = link.descriptor_bound(s), link.posting(s)[1]
    return (link.slow(s) >= link.SLOW) & ~(other | small | posted)


def explain(s: Situation, chosen: Flags) -> list[Evidence]:
    """Time, bytes and rate beside what is expected."""
    t = s.transfers
    return [
        *part(s, "kv_transfer", chosen),
        *median("kv_transfer.expected", s.of_hand_off(s.moving.expected), chosen, "s", str(s.moving.source)),
        *median("kv.bytes", s.of_hand_off(t.bytes), chosen, "bytes"),
        *median("kv.rate", s.of_hand_off(t.bytes / t.seconds / 1e9), chosen, "GB/s", "derived"),
        *median("kv.link", s.of_hand_off(t.link_gb_s), chosen, "GB/s", "supplied"),
    ]


def explain_redundant(s: Situation, chosen: Flags) -> list[Evidence]:
    """How much was already there."""
    t = s.transfers
    share = s.of_hand_off(t.already_held_tokens / t.tokens)
    return [*median("kv.already_held", share, chosen, "fraction", "derived"), *explain(s, chosen)]


def explain_small_blocks(s: Situation, chosen: Flags) -> list[Evidence]:
    """Descriptors, their cost, and the share of posting."""
    t = s.transfers
    share, _ = link.posting(s)
    return [
        *median("kv.post_share", s.of_hand_off(share), chosen, "fraction", "derived"),
        *median("kv.descriptors", s.of_hand_off(t.descriptors), chosen, "descriptors"),
        *median(
            "kv.bytes_per_descriptor", s.of_hand_off(t.bytes / t.descriptors), chosen, "bytes", "derived"
        ),
        *explain(s, chosen),
    ]


def explain_contention(s: Situation, chosen: Flags) -> list[Evidence]:
    """How many share the path, and what it carries in total."""
    sharing = link.sharing(s)
    return [
        *median(
            "kv.concurrent_transfers", s.of_hand_off(sharing.concurrency), chosen, "transfers", "derived"
        ),
        *median("kv.aggregate_rate", s.of_hand_off(sharing.aggregate_gb_s), chosen, "GB/s", "derived"),
        *number(
            "kv.time_over_concurrency",
            float(np.nanmedian(sharing.slope)) if np.isfinite(sharing.slope).any() else None,
            "slope",
            "derived",
        ),
        *explain(s, chosen),
    ]


_EXCLUDES = "waits for room on decode, which are no transfer; first uses of a pair"
REDUNDANT_PREFIX = Rule(
    Cause.REDUNDANT_PREFIX, ("kv_transfer",), redundant, explain_redundant,
    "Send only what decode does not hold: let it report its prefix before the hand-off.",
    needs=("pd.kv.tokens_already_held",), excludes=_EXCLUDES,
)  # fmt: skip
MANY_SMALL_BLOCKS = Rule(
    Cause.MANY_SMALL_BLOCKS, ("kv_transfer",), small_blocks, explain_small_blocks,
    "Send fewer, larger blocks: larger KV block size, contiguous allocation on decode, "
    "or descriptor merging.",
    needs=("pd.kv.post_ms", "pd.kv.descriptors"),
    excludes="large blocks; posting that moves the bytes itself",
)  # fmt: skip
CONTENTION = Rule(
    Cause.LINK_CONTENTION, ("kv_transfer",), contention, explain_contention,
    "The path is full: add links or NICs, spread hand-offs over more hosts, "
    "or shrink the KV (dtype, prefix reuse).",
    needs=("pd.kv.bytes",), excludes="time per byte that does not grow with concurrency",
)  # fmt: skip
TCP_FALLBACK = Rule(
    Cause.TCP_FALLBACK, ("kv_transfer",), tcp, explain,
    "The transport fell back to TCP: check that the transfer library was built with RDMA "
    "and may use the devices.",
    needs=("pd.kv.transport",), excludes="machines of which no faster path is known",
)  # fmt: skip
SLOW_LINK = Rule(
    Cause.SLOW_LINK, ("kv_transfer",), slow_link, explain,
    "Check the path of these pairs: NIC choice, negotiated rate, PCIe placement, congestion control.",
    needs=("pd.kv.bytes",), excludes=_EXCLUDES + "; sharing, small blocks (or what may be that), TCP",
)  # fmt: skip
_HOLDS_ROOM = "room that streams hold, or hand-offs that take no longer than their bytes do"
CONTENTION_BEFORE = Rule(
    Cause.LINK_CONTENTION, ("decode_queue",), partial(before_decode, kind=_contended), explain_contention,
    "The path is full, and what waits for it holds decode's room: add links or NICs, spread hand-offs over "
    "more hosts, or shrink the KV (dtype, prefix reuse).",
    needs=("pd.kv.bytes", "decode_queue"), excludes=_HOLDS_ROOM, confidence=0.85,
)  # fmt: skip
SLOW_LINK_BEFORE = Rule(
    Cause.SLOW_LINK, ("decode_queue",), partial(before_decode, kind=_on_slow_path), explain,
    "Hand-offs on a slow path hold decode's room: check the path of these pairs (NIC choice, negotiated "
    "rate, PCIe placement, congestion control).",
    needs=("pd.kv.bytes", "decode_queue"), excludes=_HOLDS_ROOM, confidence=0.85,
)  # fmt: skip
