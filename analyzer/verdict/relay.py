"""Lays a request's timeline again with parts of it shortened.

A request's parts follow each other, but for two lanes that some systems run side by side: the prompt's own
lane (wait, compute) and decode making room. Where the two overlap, the later end counts, so that
shortening one lane helps only until the other one's end. Decode that is called beside prefill and makes room
once the prompt's KV is there follows it all the same.
"""

import numpy as np

from analyzer.verdict.situation import Situation, once
from analyzer.verdict.tables import PART, Flags, Floats

PROMPT_LANE = ("prefill_queue", "prefill_compute")
ROOM_LANE = "decode_queue"
SAME_INSTANT_S = 0.01
"""Ends of the two lanes so close are one event on two clocks."""


CALLED_EARLY = 0.5
"""Decode that has a request before so much of its prompt's lane is over was called beside prefill."""
AS_A_RULE = 0.9
"""Share of the requests from which on room is made after the prompt by design."""


@once
def room_beside_prompts(s: Situation) -> bool:
    """Whether the deployment makes room on decode beside the prompt's own lane.

    Asked of all requests: clocks that are off move both ends of one request, and less than lanes are long.
    """
    r = s.requests
    computing, prompt_end = r.began("prefill_compute"), r.ended("prefill_compute")
    since = np.fmin(r.began("prefill_queue"), computing)
    lane = np.where(prompt_end > since, prompt_end - since, np.nan)
    called = (r.began(ROOM_LANE) - since) / lane
    known = np.isfinite(called)
    if not known.any() or np.median(called[known]) >= CALLED_EARLY:
        return False
    after = r.ended(ROOM_LANE)[known] > ((computing + prompt_end) / 2)[known]
    return bool(after.mean() < AS_A_RULE)


def ttft_without(
    s: Situation, removed: Floats, both_lanes: Flags | None = None, side_by_side: bool | None = None
) -> Floats:
    """TTFT (seconds; at least, where censored) had each part been shorter by `removed` (missed, 12).

    both_lanes: where what is taken out held decode's room as well, hidden beside the prompt's lane.
    side_by_side: what `room_beside_prompts` says, where that is known already.
    """
    ttft = np.nan_to_num(s.of(s.requests.ttft))
    plain: Floats = ttft - removed.sum(axis=1)
    if not (room_beside_prompts(s) if side_by_side is None else side_by_side):
        return plain
    prompt_end = s.wait("prefill_compute")[1]
    room_start, room_end = s.of(s.requests.began(ROOM_LANE)), s.of(s.requests.ended(ROOM_LANE))
    # decode that waits for this prompt's KV ends with it: no lane of its own
    by_itself = (room_end < prompt_end - SAME_INSTANT_S) | (s.excess[:, PART[ROOM_LANE]] > 0)
    overlap = (room_start < prompt_end - 1e-6) & by_itself
    in_prompt = removed[:, [PART[p] for p in PROMPT_LANE]].sum(axis=1)
    in_room = removed[:, PART[ROOM_LANE]]
    if both_lanes is not None:
        in_room = np.where(both_lanes & (in_prompt > 0), np.fmax(room_end - room_start, 0.0), in_room)
    join = np.fmax(prompt_end, room_end)
    moved = np.fmax(prompt_end - in_prompt, room_end - in_room)
    elsewhere = removed.sum(axis=1) - in_prompt - removed[:, PART[ROOM_LANE]]
    laid = ttft - (join - moved) - elsewhere
    found: Floats = np.where(overlap & np.isfinite(laid), laid, plain)
    return found
