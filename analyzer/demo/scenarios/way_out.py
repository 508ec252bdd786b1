"""Tokens on their way to the client: one core writes them, the network carries them, the client reads."""

from analyzer.demo.scenarios.setup import Router
from analyzer.demo.scenarios.trip import Trip


def send_out(router: Router, trips: list[Trip]) -> None:
    """Set when the client was sent the first and the last token, and when the request ended.

    Decode does not wait for readers, so this comes after the play.
    """
    streamed = [trip for trip in trips if trip.outcome == "ok"]
    leave = _through_one_core(router.write_token_s, streamed)
    for trip, (first, last) in zip(streamed, leave, strict=True):
        trip.sent_first = first + router.network_s
        trip.sent_last = trip.ended = last + router.network_s + trip.stall_s
        trip.spent("network_streaming", "router-0", trip.tokens[0], trip.sent_first)


def _through_one_core(write_s: float, trips: list[Trip]) -> list[tuple[float, float]]:
    """When the first and last token of each leave a core that writes one token after the other (Lindley)."""
    if not write_s:
        return [(trip.tokens[0], trip.tokens[-1]) for trip in trips]
    free = 0.0
    out: dict[int, tuple[float, float]] = {}
    queue = sorted((at, number) for number, trip in enumerate(trips) for at in trip.tokens)
    for at, number in queue:
        free = max(at, free) + write_s
        out[number] = (out.get(number, (free, free))[0], free)
    return [out[number] for number in range(len(trips))]
