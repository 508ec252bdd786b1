"""What a client was sent: first and last content, gaps, tokens and how it ended. No text is kept."""

from array import array
from dataclasses import dataclass, field
from enum import Enum

from collector import conventions as names

FAILED_FINISH_REASONS = frozenset({"abort", "error", "failed"})
GAPS_KEPT = 100_000


class Ending(Enum):
    """How the exchange stopped, as seen by whoever stands between client and server."""

    COMPLETE = "complete"
    CLIENT_LEFT = "client_left"
    UPSTREAM_LOST = "upstream_lost"
    TIMEOUT = "timeout"


@dataclass(slots=True)
class Answer:
    """One answer in the making; instants are Unix nanoseconds.

    `chunks` counts content chunks, which are not tokens; token counts are None until the server told them.
    """

    streamed: bool = False
    first_token_ns: int | None = None
    last_token_ns: int | None = None
    chunks: int = 0
    gaps_ns: "array[int]" = field(default_factory=lambda: array("q"))
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    model: str | None = None
    id: str | None = None
    finish_reason: str | None = None
    failed: bool = False
    done: bool = False
    stalled_ns: int = 0

    def content(self, at_ns: int, count: int = 1) -> None:
        """Note that `count` content chunks left for the client at `at_ns`."""
        if self.first_token_ns is None:
            self.first_token_ns = at_ns
        if self.last_token_ns is not None and len(self.gaps_ns) < GAPS_KEPT:
            self.gaps_ns.append(at_ns - self.last_token_ns)
        if count > 1 and len(self.gaps_ns) < GAPS_KEPT:
            self.gaps_ns.extend([0] * (count - 1))
        self.last_token_ns = at_ns
        self.chunks += count

    def finish(self, reason: str) -> None:
        """Note a finish reason; with several choices a failed one is not hidden by the others."""
        if self.finish_reason not in FAILED_FINISH_REASONS:
            self.finish_reason = reason

    @property
    def whole(self) -> bool:
        """Whether everything the server meant to say has been sent."""
        if not self.streamed:
            return self.done
        return (self.done or self.finish_reason is not None) and not self.broken

    @property
    def broken(self) -> bool:
        """Whether the server said, within a success status, that it failed."""
        return self.failed or self.finish_reason in FAILED_FINISH_REASONS

    def itl_ms(self) -> tuple[float, float, float] | None:
        """p50, p99 (nearest rank) and maximum of the gaps between content chunks; None without a gap."""
        if not self.gaps_ns:
            return None
        gaps = sorted(self.gaps_ns)
        p50, p99 = (gaps[max(0, -(-len(gaps) * q // 100) - 1)] for q in (50, 99))
        return p50 / 1e6, p99 / 1e6, gaps[-1] / 1e6


def outcome(status: int | None, answer: Answer, ending: Ending) -> str:
    """The convention's outcome of an exchange; `status` is the HTTP status the server answered with, if any.

    A failure after the first content is `interrupted`, before it `error`.
    """
    if ending is Ending.CLIENT_LEFT:
        return names.OUTCOME_OK if answer.whole and _is_success(status) else names.OUTCOME_CANCELLED
    if ending is Ending.TIMEOUT:
        return names.OUTCOME_TIMEOUT
    if status is not None and not _is_success(status):
        return _outcome_of_status(status)
    cut_short = answer.streamed and not answer.whole
    if ending is Ending.UPSTREAM_LOST or answer.broken or cut_short or status is None:
        return names.OUTCOME_INTERRUPTED if answer.first_token_ns is not None else names.OUTCOME_ERROR
    return names.OUTCOME_OK


def _is_success(status: int | None) -> bool:
    return status is not None and 200 <= status < 400


def _outcome_of_status(status: int) -> str:
    if status in (429, 503, 529):
        return names.OUTCOME_REJECTED
    if status in (408, 504):
        return names.OUTCOME_TIMEOUT
    if status == 499:
        return names.OUTCOME_CANCELLED
    return names.OUTCOME_INVALID if 400 <= status < 500 else names.OUTCOME_ERROR


def answer_attributes(answer: Answer) -> dict[str, str | int | float]:
    """Span attributes of an answer. Counted chunks are labelled as such and never called usage."""
    found: dict[str, str | int | float | None] = {
        names.MODEL: answer.model,
        names.ANSWER_ID: answer.id,
        names.INPUT_TOKENS: answer.input_tokens,
        names.CACHED_TOKENS: answer.cached_tokens,
        names.FINISH_REASON: answer.finish_reason,
    }
    if answer.output_tokens is not None:
        found |= {names.OUTPUT_TOKENS: answer.output_tokens, names.OUTPUT_TOKENS_BY: names.COUNTED_BY_USAGE}
    elif answer.chunks and answer.streamed:
        found |= {names.OUTPUT_TOKENS: answer.chunks, names.OUTPUT_TOKENS_BY: names.COUNTED_BY_CHUNKS}
    if (gaps := answer.itl_ms()) is not None:
        found |= dict(zip((names.ITL_P50_MS, names.ITL_P99_MS, names.ITL_MAX_MS), gaps, strict=True))
    if answer.streamed:
        found[names.STREAM_STALLED_MS] = answer.stalled_ns / 1e6
    return {name: value for name, value in found.items() if value is not None}
