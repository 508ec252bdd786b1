"""Tokens on their way to the client: one core writes them, the network carries them, the client reads."""

from analyzer.demo.scenarios.setup import Router
from analyzer.demo.scenarios.trip import Trip


def send_out(router: Router, trips: list[Trip]) -> None:
    """Set when the client was sent each token, and when the request ended.

    Decode does not wait for readers, so this comes after the play.
    """
    streamed = [trip for trip in trips if trip.outcome == "ok"]
    leave = _through_one_core(router.write_token_s, streamed)
    for trip, left in zip(streamed, leave, strict=True):
        trip.sent = [at + router.network_s for at in left]
        trip.sent[-1] += trip.stall_s
        trip.ended = trip.sent[-1]
        trip.spent("network_streaming", "router-0", trip.tokens[0], trip.sent[0])


def _through_one_core(write_s: float, trips: list[Trip]) -> list[list[float]]:
    """When the tokens of each leave a core that writes one token after the other (Lindley)."""
    if not write_s:
        return [trip.tokens for trip in trips]
    free = 0.0
    out: list[list[float]] = [[] for _ in trips]
    queue = sorted((at, number) for number, trip in enumerate(trips) for at in trip.tokens)
    for at, number in queue:
        free = max(at, free) + write_s
        out[number].append(free)
    return out
