"""Layouts to compare, and the settings they share."""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf

from analyzer.plan.errors import BadPlan, need_not_negative, need_positive
from analyzer.plan.kv_cost import Transfer
from analyzer.plan.step_model import StepModel

MAX_WORKERS = 1024
MAX_STEP_TOKENS = 10_000_000
MAX_SEQS = 1_000_000
MAX_RETRIES = 1000
"""Beyond these nothing is simulated, and no receipt holds it."""


class Routing(StrEnum):
    """How a pool picks the worker of the next request."""

    ROUND_ROBIN = "round-robin"
    LEAST_LOADED = "least-loaded"


def _workers(name: str, count: int) -> None:
    if not 1 <= count <= MAX_WORKERS:
        raise BadPlan(f"{name} is {count}; it must be 1 to {MAX_WORKERS} workers")


def _step(name: str, tokens: int) -> None:
    if not 1 <= tokens <= MAX_STEP_TOKENS:
        raise BadPlan(f"{name} is {tokens}; it must be at least 1 token, at most {MAX_STEP_TOKENS:,}")


@dataclass(frozen=True, slots=True)
class Colocated:
    """`workers` equal instances that prefill and decode; `chunk` tokens a step at most."""

    workers: int
    chunk: int

    def __post_init__(self) -> None:
        _workers("colocated", self.workers)
        _step("chunk budget", self.chunk)

    @property
    def name(self) -> str:
        """As written on the command line."""
        return f"{self.workers}x{self.chunk}"


@dataclass(frozen=True, slots=True)
class Disaggregated:
    """`prefill` instances that only prefill, with a step budget in tokens, and `decode` instances."""

    prefill: int
    decode: int
    prefill_budget: int = 16_384

    def __post_init__(self) -> None:
        _workers("prefill", self.prefill)
        _workers("decode", self.decode)
        _step("prefill step budget", self.prefill_budget)

    @property
    def workers(self) -> int:
        """Instances in all."""
        return self.prefill + self.decode

    @property
    def name(self) -> str:
        """As written on the command line."""
        return f"{self.prefill}P+{self.decode}D"


Layout = Colocated | Disaggregated


def parse_layout(text: str) -> Layout:
    """A layout from `4x512` (4 colocated workers, chunk 512) or `1P+3D`."""
    if match := re.fullmatch(r"(\d{1,6})x(\d{1,9})", text):
        return Colocated(int(match[1]), int(match[2]))
    if match := re.fullmatch(r"(\d{1,6})P\+(\d{1,6})D", text, re.IGNORECASE):
        return Disaggregated(int(match[1]), int(match[2]))
    raise BadPlan(f"layout {text!r} is neither WORKERSxCHUNK (4x512) nor nP+mD (1P+3D)")


class Pool(StrEnum):
    """The pool a worker belongs to."""

    COLOCATED = "colocated"
    PREFILL = "prefill"
    DECODE = "decode"


@dataclass(frozen=True, slots=True)
class WorkerLoss:
    """Worker number `worker` of `pool` dies at `at_s` with all it holds; back, empty, at `back_s`."""

    pool: Pool
    worker: int
    at_s: float
    back_s: float = inf

    def __post_init__(self) -> None:
        need_not_negative("worker loss at_s", self.at_s)
        if self.back_s <= self.at_s:
            raise BadPlan(f"worker loss: back_s ({self.back_s}) is not after at_s ({self.at_s})")


def parse_loss(text: str) -> WorkerLoss:
    """A loss from `POOL:WORKER:AT_S` or `POOL:WORKER:AT_S:BACK_S`, such as decode:0:60:120."""
    parts = text.split(":")
    try:
        pool, worker, at = parts[:3]
        back = float(parts[3]) if len(parts) == 4 else inf
        if len(parts) > 4:
            raise ValueError(text)
        return WorkerLoss(Pool(pool), int(worker), float(at), back)
    except ValueError as error:
        raise BadPlan(
            f"loss {text!r} is not POOL:WORKER:AT_S[:BACK_S] with a pool of {', '.join(Pool)}"
        ) from error


@dataclass(frozen=True, slots=True)
class Settings:
    """What a simulation takes as given, the same for every layout it compares.

    `kv_tokens` KV room of one worker, in tokens; inf: no limit. KV is reserved at admission for all a
    sequence will need there, so that nothing is preempted.
    `lease_s` how long a prefill worker keeps finished KV for its reader; then the request is retried.
    `retries` times a request is dispatched again after a loss or an ended lease, `retry_after_s` later.
    `exact` counts context exactly; False keeps the reference model's one token too little per sequence.
    """

    model: StepModel
    transfer: Transfer
    max_seqs: int = 256
    kv_tokens: float = inf
    routing: Routing = Routing.ROUND_ROBIN
    lease_s: float = inf
    retries: int = 0
    retry_after_s: float = 0.0
    losses: tuple[WorkerLoss, ...] = field(default=())
    exact: bool = True

    def __post_init__(self) -> None:
        if not 1 <= self.max_seqs <= MAX_SEQS:
            raise BadPlan(f"max_seqs is {self.max_seqs}; it must be at least 1, at most {MAX_SEQS:,}")
        if self.kv_tokens != inf:
            need_positive("kv_tokens", self.kv_tokens)
        if self.lease_s != inf:
            need_positive("lease_s", self.lease_s)
        if not 0 <= self.retries <= MAX_RETRIES:
            raise BadPlan(f"retries is {self.retries}; it must be 0 or more, at most {MAX_RETRIES:,}")
        need_not_negative("retry_after_s", self.retry_after_s)

    def check(self, layout: Layout) -> None:
        """BadPlan when `layout` cannot run with these settings."""
        if isinstance(layout, Colocated):
            pools = {Pool.COLOCATED: layout.workers}
            if layout.chunk < self.max_seqs:
                raise BadPlan(
                    f"{layout.name}: a chunk of {layout.chunk} tokens has no room for "
                    f"max_seqs = {self.max_seqs} decodes; raise the chunk or lower max_seqs"
                )
        else:
            pools = {Pool.PREFILL: layout.prefill, Pool.DECODE: layout.decode}
        for loss in self.losses:
            if not 0 <= loss.worker < pools.get(loss.pool, 0):
                raise BadPlan(f"{layout.name} has no {loss.pool} worker {loss.worker} to lose")
