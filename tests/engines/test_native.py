"""The convention's own spans: what rides along on a phase as a part of it."""

import pytest

from collector.phases import TTFT_PARTS, Phase
from tests.engines.assembled import assemble
from tests.engines.emitter import MS, Emitter

PHASES = [str(phase) for phase in Phase]


@pytest.mark.parametrize(("told", "took"), [(700.0, 700 * MS), (None, 0)])
def test_tokenising_within_the_routers_queue_is_known_and_counts_as_the_queue(open_store, told, took):
    out = Emitter()
    part = {} if told is None else {"pd.router_queue.tokenize_ms": told}
    sent = [("first_token", 2000, {}), ("last_token", 2900, {})]
    root = out.span("router", "pd.request", 0, 3000, {"pd.request.id": "a", "pd.outcome": "ok"}, events=sent)
    out.span("router", "pd.router_queue", 0, 1000, {"pd.request.id": "a", **part}, parent=root)

    (row,) = assemble(open_store, [out.body()])

    assert row["phase_ns"][PHASES.index("tokenize")] == took
    assert row["exposed_ns"][TTFT_PARTS.index("router_queue")] == 1000 * MS
