"""The processes of a scenario as telemetry names them: unique names, resources, clocks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from .otlp import Scalar, attributes
from .scenario import Scenario
from .spec import NS, Mode

HOUR = 3600 * NS
ENGINE = {Mode.SEQUENTIAL: "vllm", Mode.PARALLEL: "vllm", Mode.PREALLOC: "sglang", Mode.COLOCATED: "vllm"}
CONNECTOR = {
    Mode.SEQUENTIAL: "nixl",
    Mode.PARALLEL: "nixl",
    Mode.PREALLOC: "mooncake",
    Mode.COLOCATED: "none",
}


@dataclass(frozen=True)
class Stage:
    """Where and when a scenario is shown: `base` is its start in Unix ns, `salt` makes names unique."""

    scenario: Scenario
    base: int
    salt: str
    epoch: int | None = None  # of what was there before: start of the window that follows

    @property
    def mode(self) -> Mode:
        """How the scenario dispatches."""
        return self.scenario.run.spec.mode

    @property
    def model(self) -> str:
        """The model's name: nobody else's."""
        return f"sim-{self.salt}"

    @property
    def connector(self) -> str:
        """The KV connector's name."""
        return CONNECTOR[self.mode]

    def instance(self, process: str) -> str:
        """A process's unique name."""
        return f"{process}-{self.salt}"

    def stamp(self, process: str, t: int) -> int:
        """What the clock of a process reads at `t` ns of the scenario, in Unix ns."""
        clock = self.scenario.clocks.get(process)
        return self.base + t + (clock.offset + round(clock.drift_ppm * t / 1e6) if clock else 0)

    def resource(self, process: str) -> Resource:
        """The resource of a process."""
        pool = process.rsplit("-", 1)[0]
        cohort = "colocated" if self.mode is Mode.COLOCATED else "disaggregated"
        values: dict[str, Scalar] = {
            "service.name": "pd-router" if pool == "router" else ENGINE[self.mode],
            "service.instance.id": self.instance(process),
            "service.version": "0.32.0",
            "host.name": f"node-{self.instance(process)}",
            "pd.pool": pool,
            "pd.cohort": cohort,
            "process.creation.time": self._created(process, pool),
        }
        if pool != "router":
            values |= {"pd.gpus": 1, **self._compatibility()}
        return Resource(attributes=attributes(values))

    def _created(self, process: str, pool: str) -> str:
        fresh = self.epoch is None and pool in self.scenario.fresh
        created = self.base - 2 * NS if fresh else (self.epoch or self.base) - 30 * HOUR
        return (
            datetime.fromtimestamp(created / NS, UTC)
            .isoformat(timespec="milliseconds")
            .replace("+00:00", "Z")
        )

    def _compatibility(self) -> dict[str, Scalar]:
        shared = {"model_revision": "a1", "tokenizer": "t1", "kv_layout": "HND", "kv_dtype": "bfloat16"}
        both = shared | {"block_size": "16", "tp": "1", "pp": "1", "connector": self.connector}
        return {f"pd.compat.{key}": value for key, value in (both | {"connector_version": "1.5"}).items()}
