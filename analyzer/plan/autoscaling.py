"""When to add a worker to a pool and when to take one away: signals and thresholds of a layout. Modelled."""

from dataclasses import dataclass
from math import inf

from analyzer.plan.demand import Demand
from analyzer.plan.evaluate import Contract
from analyzer.plan.layout import Colocated, Disaggregated, Layout, Settings
from analyzer.plan.provenance import Label
from analyzer.plan.sizing import check, decode_batch

CALM = 0.8
"""A worker goes only when the others would still be this far below the threshold: or it comes right back."""
FULL_KV = 0.9


@dataclass(frozen=True, slots=True)
class Signal:
    """Scale `pool` out when `signal`, per worker, stays above `out`, and in when it stays below `in_below`.

    `signal` is a pool signal of the telemetry convention, `per_s` its rate. `in_below` None: no ground to.
    """

    pool: str
    signal: str
    per_s: bool
    unit: str
    out: float
    in_below: float | None
    why: str
    label: Label = Label.MODELLED


def signals(layout: Layout, demand: Demand, settings: Settings, contract: Contract) -> list[Signal]:
    """Thresholds of every pool of `layout`, from the service rates its conservation checks rest on."""
    tpot, ceiling = contract.objective.tpot_s, contract.ceiling
    served = {q.name: q.service_per_s for q in check(layout, demand, settings, tpot, ceiling).queues}
    batch = decode_batch(demand, settings, tpot)
    if isinstance(layout, Colocated):
        return _one_pool(layout, demand, settings, contract, batch)
    return _two_pools(layout, demand, settings, contract, batch, served)


def _threshold(pool: str, signal: str, unit: str, limit: float, workers: int, why: str, rate: bool) -> Signal:
    calm = limit * CALM * (workers - 1) / workers if workers > 1 else None
    return Signal(pool, signal, rate, unit, limit, calm, why)


def _two_pools(
    layout: Disaggregated, demand: Demand, settings: Settings, contract: Contract, batch: int,
    served: dict[str, float],
) -> list[Signal]:  # fmt: skip
    p, d, ceiling = layout.prefill, layout.decode, contract.ceiling
    prompt_rate = served["prefill"] / p
    found = [
        _threshold("prefill", "prompt_tokens_total{source=local}", "tokens/s", ceiling * prompt_rate, p,
                   f"{ceiling:.0%} of {prompt_rate:,.0f} prompt tokens a worker computes per second", True),
        _backlog("prefill", demand, prompt_rate, settings, contract),
        _threshold("decode", "running", "requests", ceiling * batch, d,
                   f"{ceiling:.0%} of {batch} decodes, the most whose step stays within TPOT", False),
    ]  # fmt: skip
    link = served["transfer"] / p
    found.append(
        _threshold("prefill", "transfer_bytes_total", "B/s", ceiling * link, p,
                   f"{ceiling:.0%} of the link's effective {link / 1e9:,.1f} GB/s", True)
    )  # fmt: skip
    return [*found, *_kv("decode", settings)]


def _one_pool(
    layout: Colocated, demand: Demand, settings: Settings, contract: Contract, batch: int
) -> list[Signal]:
    step = settings.model.step_s(batch * (demand.mean_prompt + demand.mean_output / 2), layout.chunk)
    rate = max(layout.chunk - batch, 1) / step
    ceiling, n = contract.ceiling, layout.workers
    return [
        _threshold("colocated", "prompt_tokens_total{source=local}", "tokens/s", ceiling * rate, n,
                   f"{ceiling:.0%} of {rate:,.0f} prompt tokens a worker computes beside {batch} decodes",
                   True),
        _backlog("colocated", demand, rate, settings, contract),
        _threshold("colocated", "running", "requests", ceiling * batch, n,
                   f"{ceiling:.0%} of {batch} decodes, the most whose step stays within TPOT", False),
        *_kv("colocated", settings),
    ]  # fmt: skip


def _backlog(pool: str, demand: Demand, rate: float, settings: Settings, contract: Contract) -> Signal:
    """The queue that the next request can still wait out within the TTFT objective."""
    uncached = demand.uncached_tokens_per_s / demand.requests_per_s
    own = uncached / rate + settings.transfer.exposed_s(demand.mean_prompt, 0.0) * (pool == "prefill")
    waits = max(contract.objective.ttft_s - own, 0.0) * rate / uncached
    why = f"{waits:.1f} mean prompts are computed in the TTFT objective less the request's own work"
    return Signal(pool, "queue_depth", False, "requests", waits, None, why)


def _kv(pool: str, settings: Settings) -> list[Signal]:
    if settings.kv_tokens == inf:
        return []
    why = "above it admission waits for memory, whatever the step times say"
    return [Signal(pool, "kv_used_fraction", False, "fraction", FULL_KV, None, why)]
