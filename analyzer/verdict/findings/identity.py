"""Findings about how requests are named and traced."""

import numpy as np

from analyzer.verdict.attribution import Attribution
from analyzer.verdict.causes.agreement import renamed_without_read
from analyzer.verdict.findings.finding import Finding
from analyzer.verdict.situation import Situation


def trace_split(s: Situation, _: Attribution) -> Finding | None:
    """Requests whose spans lie in several traces, joined by their id."""
    split = s.requests.inside & s.requests.joined_by_id
    if not split.any():
        return None
    detail = f"{int(split.sum())} requests have their spans in several traces; they were joined by request id"
    return Finding("trace_split", "info", detail, int(split.sum()))


def id_mismatch(s: Situation, _: Attribution) -> Finding | None:
    """Hand-offs that the two sides name differently."""
    r = s.requests
    adopted = np.zeros(len(r), bool)
    adopted[s.transfers.request[s.ledger.adopted]] = True
    chosen = r.inside & (adopted | renamed_without_read(s))
    if not chosen.any():
        return None
    detail = f"the pools name the hand-offs of {int(chosen.sum())} requests differently"
    return Finding("id_mismatch", "warning", detail, int(chosen.sum()))


def request_id_collision(s: Situation, _: Attribution) -> Finding | None:
    """Different requests that carry one id."""
    ids = s.requests.request_id[s.requests.inside]
    ids = ids[ids != 0]
    many = np.unique(ids, return_counts=True)[1]
    shared = int((many > 1).sum())
    if not shared:
        return None
    detail = f"{shared} ids are carried by {int(many[many > 1].sum())} different requests"
    return Finding("request_id_collision", "warning", detail, int(many[many > 1].sum()))
