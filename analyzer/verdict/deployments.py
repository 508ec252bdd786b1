"""Tells deployments apart where no model was asked for: the workers of one are no siblings of another's.

Requests of models that share a worker are of one deployment; a request without workers goes by its model.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np

from analyzer.verdict.attribution import CAUSES, Attribution, attribute
from analyzer.verdict.load import Loaded, take
from analyzer.verdict.rule import Rule
from analyzer.verdict.situation import Situation, prepare
from analyzer.verdict.tables import Codes, Index, Requests


def attributed_apart(whole: Situation) -> Attribution:
    """Share out the misses of each deployment by itself, in the order of the whole window's misses."""
    parts = list(_members(whole.requests))
    if len(parts) < 2:
        return attribute(whole)
    size = (len(whole.rows), len(CAUSES))
    out = Attribution(np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size, bool), [])
    asked: list[tuple[Rule, float]] = []
    place = np.full(len(whole.requests), -1, np.intp)
    place[whole.rows] = np.arange(len(whole.rows))
    for rows in parts:
        one = prepare(_only(whole.loaded, rows), whole.horizon)
        if not len(one.rows):
            continue
        found, at = attribute(one), place[rows[one.rows]]
        out.shares[at], out.would_have_met[at] = found.shares, found.would_have_met
        out.ttft_seconds[at], out.tpot_seconds[at] = found.ttft_seconds, found.tpot_seconds
        asked += found.asked
    return replace(out, asked=asked)


def _members(r: Requests) -> Iterator[Index]:
    """Rows of each deployment."""
    deployment = _deployments(r)
    for code in np.unique(deployment):
        yield np.flatnonzero(deployment == code)


def _deployments(r: Requests) -> Codes:
    """A code per request: that of the least model among those that share workers with its own."""
    models, of = np.unique(r.model, return_inverse=True)
    first = np.arange(len(models))
    workers = np.concatenate([r.prefill_worker, r.decode_worker])
    known = workers != 0
    _, worker = np.unique(workers[known], return_inverse=True)
    pairs = np.flatnonzero(np.bincount(worker * len(models) + np.concatenate([of, of])[known]))
    for one, other in pairwise(pairs.tolist()):
        if one // len(models) == other // len(models):
            _join(first, one % len(models), other % len(models))
    codes: Codes = np.array([_root(first, model) for model in range(len(models))], np.uint64)[of]
    return codes


def _root(first: Index, model: int) -> int:
    while first[model] != model:
        model = int(first[model])
    return model


def _join(first: Index, one: int, other: int) -> None:
    a, b = sorted((_root(first, one), _root(first, other)))
    first[b] = a


def _only(loaded: Loaded, rows: Index) -> Loaded:
    """What was read, of some requests and their hand-offs alone; gauges stay, as workers name theirs."""
    place = np.full(len(loaded.requests), -1, np.intp)
    place[rows] = np.arange(len(rows))
    moved = replace(loaded.transfers, request=place[loaded.transfers.request])
    transfers = take(moved, np.flatnonzero(moved.request >= 0))
    return replace(loaded, requests=take(loaded.requests, rows), transfers=transfers)
