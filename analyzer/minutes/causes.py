"""Why requests missed: each of them, and added up by the minute they started in, objective and labels."""

from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from analyzer.verdict.attribution import CAUSES, Attribution
from analyzer.verdict.groups import TOKEN_BUCKETS, token_bucket
from analyzer.verdict.situation import Situation
from analyzer.verdict.vocabulary import Cause


class Labels(NamedTuple):
    """What minutes are counted by. minute: Unix seconds; objective: from 0; names as verdicts hash them."""

    minute: int
    objective: int
    model: int
    tenant: int
    route: int
    cohort: int
    input_bucket: str


@dataclass(frozen=True)
class CauseSum:
    """One cause of some requests. Seconds are None where the cause added none that is known."""

    cause: Cause
    requests: float
    """Fractional: shares of a miss add up to 1."""
    would_have_met: int
    excess_ttft_s: float | None
    excess_tpot_s: float | None


@dataclass(frozen=True)
class RequestCauses:
    """Why one request missed."""

    key: bytes
    first_bucket: int
    """Unix seconds."""
    causes: dict[str, float]
    """Shares, largest first."""
    met_without: list[str]
    """Causes without which it would have met."""


def causes_of_requests(s: Situation, found: Attribution, model: int) -> list[RequestCauses]:
    """The causes of every single miss of a model, given by its hash."""
    keys = s.of(s.requests.key).astype("<u8")
    buckets = s.of(s.requests.first_bucket).tolist()
    out = []
    for row in np.flatnonzero(s.of(s.requests.model) == model).tolist():
        shares = found.shares[row]
        ordered = [c for c in np.argsort(-shares, kind="stable").tolist() if shares[c] > 0]
        causes = {str(CAUSES[c]): float(shares[c]) for c in ordered}
        without = [str(CAUSES[c]) for c in ordered if found.would_have_met[row, c]]
        out.append(RequestCauses(keys[row].tobytes(), buckets[row], causes, without))
    return out


def causes_by_labels(s: Situation, found: Attribution, model: int) -> dict[Labels, list[CauseSum]]:
    """Add up the shares of the misses of a model, given by its hash."""
    rows = defaultdict(list)
    for row, labels in enumerate(_labels(s)):
        if labels.model == model:
            rows[labels].append(row)
    return {labels: _sums(found, np.array(members, np.intp)) for labels, members in rows.items()}


def _labels(s: Situation) -> list[Labels]:
    r = s.requests
    started = np.round(s.of(r.start) * 1e9).astype(np.int64) + s.loaded.origin_ns
    columns = (
        (started // 60_000_000_000 * 60).tolist(),
        s.of(r.objective).tolist(),
        *(s.of(getattr(r, name)).tolist() for name in ("model", "tenant", "route", "cohort")),
        [(*TOKEN_BUCKETS, "")[min(code, len(TOKEN_BUCKETS))] for code in _buckets(s).tolist()],
    )
    return [Labels(*values) for values in zip(*columns, strict=True)]


def _buckets(s: Situation) -> np.ndarray:
    return token_bucket(s.of(s.requests.input_tokens)).astype(np.intp)


def _sums(found: Attribution, rows: np.ndarray) -> list[CauseSum]:
    shares = found.shares[rows]
    out = []
    for column in np.flatnonzero(shares.any(axis=0)).tolist():
        blamed = shares[:, column] > 0
        ttft = float(found.ttft_seconds[rows, column][blamed].sum())
        tpot = float(found.tpot_seconds[rows, column][blamed].sum())
        out.append(
            CauseSum(
                CAUSES[column],
                float(shares[:, column].sum()),
                int(found.would_have_met[rows, column].sum()),
                ttft or None,
                tpot or None,
            )
        )
    return out
