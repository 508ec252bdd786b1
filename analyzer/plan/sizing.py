"""Do the pools keep up? Conservation checks from means and service rates, without a queueing model.

A pool whose offered load reaches its service rate has a queue that only grows, whatever the percentiles
say; below that, the arithmetic says nothing of percentiles, and none is printed.
"""

from dataclasses import dataclass, replace
from math import inf

from analyzer.plan.demand import Demand
from analyzer.plan.errors import BadPlan, need_positive
from analyzer.plan.layout import Colocated, Disaggregated, Layout, Pool, Settings
from analyzer.plan.provenance import Label

NO_PERCENTILE = "arithmetic over means gives no percentile; simulate the layout for one"


@dataclass(frozen=True, slots=True)
class KvRoom:
    """KV memory of one instance: what weights and the runtime leave of all accelerators' memory."""

    memory_bytes: float
    weight_bytes: float
    runtime_bytes: float
    kv_bytes_per_token: float

    @property
    def tokens(self) -> int:
        """KV tokens that fit; BadPlan when the weights alone do not."""
        free = self.memory_bytes - self.weight_bytes - self.runtime_bytes
        if free <= 0:
            raise BadPlan(
                f"weights ({self.weight_bytes / 1e9:.1f} GB) and runtime ({self.runtime_bytes / 1e9:.1f} GB) "
                f"leave nothing of {self.memory_bytes / 1e9:.1f} GB for KV; use more accelerators"
            )
        return int(free / need_positive("kv_bytes_per_token", self.kv_bytes_per_token))


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue of a layout: work offered and served per second, by all its workers."""

    name: str
    unit: str
    offered_per_s: float
    service_per_s: float

    @property
    def utilisation(self) -> float:
        """Offered over served; 1 and above never drains."""
        return self.offered_per_s / self.service_per_s if self.service_per_s else inf


@dataclass(frozen=True, slots=True)
class Check:
    """One layout at one moment of demand."""

    layout: Layout
    moment: str
    queues: tuple[Queue, ...]
    ceiling: float
    label: Label = Label.MODELLED
    percentiles: None = None
    percentiles_reason: str = NO_PERCENTILE

    @property
    def dominant(self) -> Queue:
        """The queue nearest to its limit."""
        return max(self.queues, key=lambda queue: queue.utilisation)

    @property
    def refused(self) -> str | None:
        """Why the layout cannot take the load; None when every queue is below the ceiling."""
        queue = self.dominant
        if queue.utilisation < self.ceiling:
            return None
        return (
            f"{queue.name} at {queue.utilisation:.2f} of its service rate at {self.moment} demand; "
            f"the ceiling is {self.ceiling:g}"
        )


def check(layout: Layout, demand: Demand, settings: Settings, tpot_s: float, ceiling: float = 0.85) -> Check:
    """The conservation checks of `layout` under `demand`, with decode steps held within `tpot_s`."""
    if not 0 < ceiling <= 1:
        raise BadPlan(f"utilisation ceiling is {ceiling}; it must be above 0 and at most 1")
    settings.check(layout)
    queues = (
        (_colocated(layout, demand, settings),)
        if isinstance(layout, Colocated)
        else _disaggregated(layout, demand, settings, tpot_s)
    )
    return Check(layout, demand.moment, queues, ceiling)


def _mean_context(demand: Demand) -> float:
    return demand.mean_prompt + demand.mean_output / 2


def decode_batch(demand: Demand, settings: Settings, tpot_s: float) -> int:
    """Most decodes at once on one worker: seats, KV room and a step within `tpot_s`; 0 if none fits."""
    context = _mean_context(demand)
    seats = settings.max_seqs
    if settings.kv_tokens != inf:
        seats = min(seats, int(settings.kv_tokens / (demand.mean_prompt + demand.mean_output)))
    model = settings.model
    room = tpot_s - model.overhead_s
    by_memory = (room - model.weights_s) / (model.context_s_per_token * context)
    by_compute = room / model.compute_s_per_token
    return max(0, min(seats, int(by_memory + 1e-9), int(by_compute + 1e-9)))


def _disaggregated(
    layout: Disaggregated, demand: Demand, settings: Settings, tpot_s: float
) -> tuple[Queue, ...]:
    model, transfer = settings.model, settings.transfer
    full_step = model.step_s(0, layout.prefill_budget)
    prefill = layout.prefill * layout.prefill_budget / full_step
    batch = decode_batch(demand, settings, tpot_s)
    step = model.step_s(batch * _mean_context(demand), batch)
    decode = layout.decode * batch / step
    sent = demand.requests_per_s * demand.mean_prompt * transfer.bytes_per_token
    link = layout.prefill * transfer.link.effective_bytes_per_s
    return (
        Queue(Pool.PREFILL, "uncached prompt tokens", demand.uncached_tokens_per_s, prefill),
        Queue(Pool.DECODE, "output tokens", demand.output_tokens_per_s, decode),
        Queue("transfer", "bytes", sent, link),
    )


def _colocated(layout: Colocated, demand: Demand, settings: Settings) -> Queue:
    """Share of time in prompt steps, given how many decodes must run at once to keep up.

    With b decodes running, a prompt step takes m = step(chunk) and computes chunk - b prompt tokens; a pure
    decode step takes d = step(b). Prompt steps take u = offered / ((chunk - b) / m) of the time, and output
    keeps up when b · (u / m + (1 - u) / d) reaches the output rate. b is the smallest that does.
    """
    prompts = demand.uncached_tokens_per_s / layout.workers
    output = demand.output_tokens_per_s / layout.workers
    context = _mean_context(demand)
    seats = settings.max_seqs
    if settings.kv_tokens != inf:
        seats = min(seats, int(settings.kv_tokens / (demand.mean_prompt + demand.mean_output)))
    for batch in range(1, min(seats, layout.chunk - 1) + 1):
        mixed = settings.model.step_s(batch * context, layout.chunk)
        service = (layout.chunk - batch) / mixed
        share = prompts / service
        decode = settings.model.step_s(batch * context, batch)
        if share < 1 and batch * (share / mixed + (1 - share) / decode) >= output:
            break
        if share >= 1:
            break
    else:  # every seat taken and output still falls behind
        reached = seats * (share / mixed + (1 - share) / decode) if seats else 0.0
        return Queue(Pool.COLOCATED, "output tokens", output * layout.workers, reached * layout.workers)
    return Queue(
        Pool.COLOCATED, "uncached prompt tokens", demand.uncached_tokens_per_s, service * layout.workers
    )


@dataclass(frozen=True, slots=True)
class Lever:
    """What one input moves: the change of the highest utilisation when the input is raised by a tenth."""

    name: str
    change: float


def levers(layout: Layout, demand: Demand, settings: Settings, tpot_s: float) -> list[Lever]:
    """Inputs by how much a tenth more of each moves the highest utilisation, the strongest first."""

    def highest(demand: Demand = demand, settings: Settings = settings, tpot_s: float = tpot_s) -> float:
        return check(layout, demand, settings, tpot_s).dominant.utilisation

    base, model, up = highest(), settings.model, 1.1
    tried: dict[str, float] = {
        "requests_per_s": highest(
            demand=replace(
                demand,
                requests_per_s=demand.requests_per_s * up,
                uncached_tokens_per_s=demand.uncached_tokens_per_s * up,
                output_tokens_per_s=demand.output_tokens_per_s * up,
            )
        ),
        "prompt_tokens": highest(
            demand=replace(
                demand,
                mean_prompt=demand.mean_prompt * up,
                uncached_tokens_per_s=demand.uncached_tokens_per_s * up,
            )
        ),
        "output_tokens": highest(
            demand=replace(
                demand,
                mean_output=demand.mean_output * up,
                output_tokens_per_s=demand.output_tokens_per_s * up,
            )
        ),
        "tpot_objective_s": highest(tpot_s=tpot_s * up),
    }
    for field in ("weights_s", "context_s_per_token", "compute_s_per_token", "overhead_s"):
        moved = replace(model, **{field: getattr(model, field) * up})
        tried[f"step model {field}"] = highest(settings=replace(settings, model=moved))
    link = settings.transfer.link
    moved_link = replace(link, nic_bytes_per_s=link.nic_bytes_per_s * up)
    moved_transfer = replace(settings.transfer, link=moved_link)
    tried["link nic_bytes_per_s"] = highest(settings=replace(settings, transfer=moved_transfer))
    found = [Lever(name, value - base if value != base else 0.0) for name, value in tried.items()]
    return sorted(found, key=lambda lever: -abs(lever.change))
