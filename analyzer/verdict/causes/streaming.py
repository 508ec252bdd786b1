"""The first token exists and does not reach the client: it does not read, or the server cannot send."""

import numpy as np

from analyzer.verdict.evidence import Evidence, median
from analyzer.verdict.quoted import part
from analyzer.verdict.rule import Rule, everything
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import PART, Flags, Floats
from analyzer.verdict.vocabulary import Cause


def stalled(s: Situation) -> Floats:
    """The part of the streaming time for which the reader did not take tokens."""
    streaming = s.exposed[:, PART["network_streaming"]]
    waited = np.nan_to_num(s.of(s.requests.stalled))
    share = np.where(streaming > 0, waited / np.where(streaming > 0, streaming, 1.0), 0.0)
    return np.where(share >= 0.5, 1.0, np.clip(share, 0.0, 1.0))


def fell_behind(s: Situation) -> Floats:
    """The part of what tokens took too long that they lost after they were sampled.

    The client's stream lasted longer than decode's own: whatever the clocks, that is the way out.
    """
    tokens = np.maximum(s.of(s.requests.output_tokens) - 1, 1.0)
    lost = s.of(s.requests.tpot) - s.of(s.requests.duration("decode")) / tokens
    known = np.isfinite(s.wait("decode")[0]) & (s.over_tpot > 0)
    return np.where(known, np.clip(np.nan_to_num(lost / s.over_tpot), 0.0, 1.0), 0.0)


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
    Cause.BACKPRESSURE, ("network_streaming",), everything, explain,
    "The output path is slow: look at the gateway's CPU, detokenisation, and stream writes.",
    needs=("network_streaming",), excludes="readers known to have stalled",
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
