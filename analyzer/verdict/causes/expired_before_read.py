"""The hand-off was read after its lease had ended: the wait outlived the lease."""

from functools import partial

import numpy as np

from analyzer.verdict.causes.beside_prompts import slower
from analyzer.verdict.causes.decode_recompute import OVERLAP
from analyzer.verdict.evidence import Evidence, count, median
from analyzer.verdict.rule import Rule, where
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Flags, Floats, Status
from analyzer.verdict.vocabulary import Cause


def late(s: Situation) -> Flags:
    """Missed requests whose KV was read late, or had to be recomputed as its lease had ended."""
    recomputed = (s.of(s.requests.local_prompt_tokens) > 0) & s.of(late_requests(s))
    found: Flags = recomputed | (np.nan_to_num(s.of_hand_off(s.ledger.late_read.astype(np.float64))) > 0)
    return found


def late_requests(s: Situation) -> Flags:
    """Per request: its KV was read late, or given back unread when its lease ended."""
    t = s.transfers
    out = np.zeros(len(s.requests), bool)
    out[t.request[s.ledger.late_read | (t.status == Status.EXPIRED) | np.isfinite(t.expired)]] = True
    return out


def beside(s: Situation, phase: str) -> Floats:
    """Streams beside which their worker recomputed prompts, most of which had lost their lease."""
    since, until = (np.nan_to_num(edge) for edge in s.wait(phase))
    expired = s.pools.local_prompts(late_requests(s)).mean(s.decode_worker, since, until)
    every = s.pools.decode_local_prompts.mean(s.decode_worker, since, until)
    return where((every >= OVERLAP) & (expired > 0.5 * every))


def claim(s: Situation) -> Floats:
    """The whole hand-off of requests that were read late."""
    return where(late(s))


def explain(s: Situation, chosen: Flags) -> list[Evidence]:
    """How many, the lease, and how long the KV waited."""
    t = s.transfers
    waited = np.fmax(t.imported, t.moved) - t.published
    return [
        *count("late_reads", s.ledger.late_read, "hand-offs"),
        *median("lease", s.of_hand_off(t.lease_end - t.published), chosen & late(s)),
        *median("published_until_read", s.of_hand_off(waited), chosen & late(s), "s", "derived"),
    ]


def in_steps(s: Situation) -> Floats:
    """The same, by how much those prompts lengthened the streams' steps."""
    return beside(s, "decode") * slower(s)


RULE = Rule(
    Cause.EXPIRED_BEFORE_READ,
    ("decode_queue", "kv_transfer", "kv_import", "tpot.recompute"),
    claim,
    explain,
    "Lengthen the lease beyond the longest hand-off (or renew it by heartbeat), and check the answers of the "
    "requests concerned: they may have been decoded from reused blocks.",
    needs=("kv_publish", "kv_release"),
    excludes="hand-offs read within their lease, renewals included",
)
_BESIDE = (
    "Lengthen the lease beyond the longest hand-off (or renew it by heartbeat): prompts whose KV was given "
    "back are recomputed on decode and slow its streams."
)
BESIDE = Rule(
    Cause.EXPIRED_BEFORE_READ, ("tpot.running",), in_steps, explain, _BESIDE,
    needs=("kv_publish", "kv_release", "pd.local_prompt_tokens"),
    excludes="recomputation after other failures; what the steps take without it",
)  # fmt: skip
FIRST_STEP = Rule(
    Cause.EXPIRED_BEFORE_READ, ("first_decode_step",), partial(beside, phase="first_decode_step"), explain,
    _BESIDE,
    needs=("kv_publish", "kv_release", "pd.local_prompt_tokens"),
    excludes="recomputation after other failures",
)  # fmt: skip
