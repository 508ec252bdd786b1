"""Waits in the queues of single servers, first come first served, had work come at other times.

Lindley's recursion in closed form: with S the running sum of service, work i starts at
S[i-1] + max over j <= i of (arrival[j] - S[j-1]).
"""

import numpy as np

from analyzer.occupancy import groups
from analyzer.verdict.tables import Codes, Floats


def waits(workers: Codes, arrivals: Floats, service: Floats) -> Floats:
    """Seconds each piece of work waits for its worker; 0 where worker, arrival or service is not known."""
    out = np.zeros(len(arrivals))
    known = np.flatnonzero((workers != 0) & np.isfinite(arrivals) & np.isfinite(service))
    for _, members in groups(workers[known]):
        own = known[members]
        order = own[np.argsort(arrivals[own], kind="stable")]
        done = np.cumsum(service[order])
        before = done - service[order]
        out[order] = np.maximum.accumulate(arrivals[order] - before) + before - arrivals[order]
    return out
