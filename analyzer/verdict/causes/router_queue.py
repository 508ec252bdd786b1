"""Time before dispatch, while prefill could have taken the request."""

from analyzer.verdict.evidence import Evidence, number
from analyzer.verdict.quoted import part
from analyzer.verdict.rule import Rule, everything
from analyzer.verdict.situation import Situation
from analyzer.verdict.tables import Flags
from analyzer.verdict.vocabulary import Cause


def explain(s: Situation, chosen: Flags) -> list[Evidence]:
    """How long requests waited before dispatch, and afterwards for prefill."""
    running = s.pools.readings.pool_mean("running", s.pools.prefill_workers.tolist())
    return [
        *part(s, "router_queue", chosen),
        *part(s, "prefill_queue", chosen),
        *number("prefill.running", running, "requests"),
    ]


RULE = Rule(
    Cause.ROUTER_QUEUE,
    ("router_queue",),
    everything,
    explain,
    "Look at the router: CPU of its process, its admission limit, hashing of long prompts; "
    "add router replicas.",
    needs=("router_queue",),
    excludes="none: time before dispatch is nobody else's",
)
