"""The first token exists and does not reach the client: it does not read, or the server cannot send."""

import numpy as np

from analyzer.verdict.evidence import Evidence, median
from analyzer.verdict.quoted import part
from analyzer.verdict.rule import Rule, everything
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import PART, Flags, Floats
from analyzer.verdict.vocabulary import Cause


def stalled(s: Situation) -> Floats:
    """The part of the streaming time for which the reader did not take tokens.

    All of it where that is most, or where tokens for readers that keep up leave at once: what the sender
    sees of a stall begins when the reader's buffers are full.
    """
    streaming = s.exposed[:, PART["network_streaming"]]
    waited = np.nan_to_num(s.of(s.requests.stalled))
    share = np.where(streaming > 0, waited / np.where(streaming > 0, streaming, 1.0), 0.0)
    least = NOTICED if _clear_for_others(s) else 0.5
    return np.where(share >= least, 1.0, np.clip(share, 0.0, 1.0))


def _clear_for_others(s: Situation) -> bool:
    """Whether hardly any answer is held up whose reader is known to keep up."""
    r = s.requests
    streaming = np.nan_to_num(r.exposed[:, PART["network_streaming"]])
    keeps_up = r.inside & r.answered & (r.stalled <= NOTICED * streaming + 1e-3)
    late = streaming > NOTICED * r.ttft_limit
    return bool(keeps_up.sum() >= ENOUGH_OTHERS and late[keeps_up].mean() < NOTICED)


ENOUGH_OTHERS = 5


MOST = 0.5
"""Share of the answers that a slow way out holds up, at least: it is one for all of them."""


def way_out(s: Situation) -> Floats:
    """Waits of tokens to leave. Where nobody tells of readers, only of what holds up most answers alike."""
    r = s.requests
    if np.isfinite(r.stalled[r.inside]).any():
        return np.ones(len(s.rows))
    tokens = np.maximum(r.output_tokens - 1, 1.0)
    late = np.nan_to_num(r.exposed[:, PART["network_streaming"]]) > NOTICED * r.ttft_limit
    behind = r.tpot - r.duration("decode") / tokens > NOTICED * r.tpot_limit
    answered = r.inside & r.answered
    shared = bool(answered.any()) and (late | behind)[answered].mean() >= MOST
    return np.full(len(s.rows), float(shared))


NOTICED = 0.1
"""Share of an objective from which on a delay is one."""


def fell_behind(s: Situation) -> Floats:
    """The part of what tokens took too long that they lost after they were sampled.

    The client's stream lasted longer than decode's own: whatever the clocks, that is the way out.
    """
    tokens = np.maximum(s.of(s.requests.output_tokens) - 1, 1.0)
    lost = s.of(s.requests.tpot) - s.of(s.requests.duration("decode")) / tokens
    known = np.isfinite(s.wait("decode")[0]) & (s.over_tpot > 0)
    return np.where(known, np.clip(np.nan_to_num(lost / s.over_tpot), 0.0, 1.0), 0.0) * way_out(s)


def explain(s: Situation, chosen: Flags) -> list[Evidence]:
    """How long the token took to leave, and for how long nobody read."""
    return [
        *part(s, "network_streaming", chosen),
        *median("stream.stalled", s.of(s.requests.stalled), chosen),
    ]


CLIENT_STALL = Rule(
    Cause.CLIENT_STALL, ("network_streaming", "tpot.blocked"), stalled, explain,
    "The server had the token; the client did not read. "
    "Check the client's buffers, its session limits and network.",
    needs=("pd.stream.stalled_ms",), excludes="time the server itself took to send",
)  # fmt: skip
BACKPRESSURE = Rule(
    Cause.BACKPRESSURE, ("network_streaming",), way_out, explain,
    "The output path is slow: look at the gateway's CPU, detokenisation, and stream writes.",
    needs=("network_streaming",), excludes="readers that stalled, or may have: single answers, untold",
)  # fmt: skip
TOKENS = Rule(
    Cause.BACKPRESSURE, ("tpot.unattributed",), fell_behind, explain,
    "The output path is slow: look at the gateway's CPU, detokenisation, and stream writes.",
    needs=("decode",), excludes="tokens that decode itself sampled late",
)  # fmt: skip
BLOCKED = Rule(
    Cause.CLIENT_STALL, ("tpot.blocked",), everything, explain,
    "The client did not read its tokens: check its buffers, its session limits and network.",
    needs=("pd.stream.stalled_ms",), excludes="time the server itself took to send",
)  # fmt: skip
