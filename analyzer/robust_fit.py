"""Fits that a minority of bad points cannot move.

Estimator: least trimmed squares (Rousseeuw, "Least Median of Squares Regression", JASA 79, 1984), found by
elemental starts and concentration steps (Rousseeuw & Van Driessen, "Computing LTS Regression for Large Data
Sets", 2006), then one reweighted step. Breakdown point 1/2: up to half of the points may be arbitrary.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ESTIMATOR = "least trimmed squares, reweighted"
BREAKDOWN_POINT = 0.5
MOST_POINTS = 2000
"""Points used at most, taken evenly: the fit's own error is far below the scatter by then."""
_STARTS = 24
_STEPS = 4


@dataclass(frozen=True)
class Fit:
    """A linear fit: coefficients (never negative), scatter (robust standard deviation), points it used."""

    coefficients: Floats
    scatter: float
    points: int

    def predict(self, x: Floats) -> Floats:
        """Value for each row of `x` (rows, coefficients)."""
        found: Floats = x @ self.coefficients
        return found


def fit(x: Floats, y: Floats) -> Fit | None:
    """Fit y ≈ x @ c with c ≥ 0; x (rows, k), y (rows). None when fewer than 3 k rows are finite."""
    known = np.isfinite(y) & np.isfinite(x).all(axis=1)
    x, y = x[known], y[known]
    k = x.shape[1]
    if len(y) < 3 * k:
        return None
    if len(y) > MOST_POINTS:
        chosen = np.linspace(0, len(y) - 1, MOST_POINTS).astype(np.intp)
        x, y = x[chosen], y[chosen]
    scale = np.abs(x).max(axis=0)
    scale[scale == 0] = 1.0
    x = x / scale
    kept = (len(y) + k + 1) // 2
    best, least = np.zeros(k), np.inf
    random = np.random.default_rng(len(y))
    for _ in range(_STARTS):
        at = random.choice(len(y), size=min(len(y), 2 * k), replace=False)
        c = _solve(x[at], y[at])
        for _ in range(_STEPS):
            nearest = np.argpartition(np.abs(y - x @ c), kept - 1)[:kept]
            c = _solve(x[nearest], y[nearest])
        residual = np.sort(np.abs(y - x @ c))[:kept]
        if (cost := float((residual**2).sum())) < least:
            best, least = c, cost
    spread = 1.4826 * float(np.median(np.abs(y - x @ best)))
    inliers = np.abs(y - x @ best) <= 2.5 * max(spread, 1e-12)
    if inliers.sum() >= 2 * k:
        best = _solve(x[inliers], y[inliers])
    return Fit(best / scale, spread, len(y))


def _solve(x: Floats, y: Floats) -> Floats:
    """Least squares without negative coefficients: the most negative one is set to 0 until none is left."""
    active = np.ones(x.shape[1], bool)
    out = np.zeros(x.shape[1])
    for _ in range(x.shape[1]):
        if not active.any():
            break
        c = np.linalg.lstsq(x[:, active], y, rcond=None)[0]
        if (c >= 0).all():
            out[active] = c
            break
        names = np.flatnonzero(active)
        active[names[int(np.argmin(c))]] = False
    return out
