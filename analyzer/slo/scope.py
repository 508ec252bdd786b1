"""Which requests a question is about: a window of start times, and labels."""

from dataclasses import dataclass
from typing import Any

POOLS = ("router", "prefill", "decode", "colocated")
MAX_NS = 4_102_444_800_000_000_000
"""2100-01-01: no span later than this is ever stored."""


@dataclass(frozen=True)
class Scope:
    """Requests that started in [from_ns, to_ns) (Unix nanoseconds); an empty label means any.

    `worker` matches either leg of a request; `pool` keeps requests that ran in a pool of that role.
    """

    from_ns: int
    to_ns: int
    model: str = ""
    tenant: str = ""
    route: str = ""
    cohort: str = ""
    pool: str = ""
    worker: str = ""

    @property
    def seconds(self) -> float:
        """Length of the window."""
        return (self.to_ns - self.from_ns) / 1e9

    def params(self) -> dict[str, Any]:
        """Bound parameters of the view `judged_requests`."""
        return {
            "from_ns": self.from_ns,
            "to_ns": self.to_ns,
            "model": self.model,
            "tenant": self.tenant,
            "route": self.route,
            "cohort": self.cohort,
            "pool": self.pool,
            "worker": self.worker,
        }


EVERYTHING = Scope(0, MAX_NS)
"""All requests there are."""
