"""The workloads, queues and figures of a receipt, worked out again from its inputs."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf

from analyzer.plan import plain_clock, plain_loop
from analyzer.plan.findings import Findings
from analyzer.plan.plain_clock import Rules
from analyzer.plan.plain_loop import Constants, Row, Trail
from analyzer.plan.receipt_model import (
    LayoutPart,
    Receipt,
    ResultPart,
    Scenario,
    SettingsPart,
    WorkloadPart,
)
from analyzer.plan.verify_load import WINDOW_S, Queues, loads, one_pool, two_pools

QUEUES = {"colocated": {"colocated"}, "disaggregated": {"prefill", "decode", "transfer"}}

QUEUE_UNITS = {
    "colocated": {"uncached prompt tokens", "output tokens"},
    "prefill": {"uncached prompt tokens"},
    "decode": {"output tokens"},
    "transfer": {"bytes"},
}
MIN_SPAN_S = 20 * WINDOW_S
MAX_REQUESTS = 5_000_000
MAX_STEPS = 200_000_000


def workload_rows(workload: WorkloadPart, traces: Mapping[str, list[Row]]) -> list[Row] | str:
    """The requests of a workload, or why they are not to be had."""
    rows = _source_rows(workload, traces)
    if isinstance(rows, str) or workload.arrivals == 1:
        return rows
    return [(at / workload.arrivals, prompt, output, cached) for at, prompt, output, cached in rows]


def arrivals_of(scenario: Scenario, receipt: Receipt) -> float:
    """How many times as fast as in their source the requests of a scenario arrive."""
    return next(w.arrivals for w in receipt.workloads if w.name == scenario.workload)


def _source_rows(workload: WorkloadPart, traces: Mapping[str, list[Row]]) -> list[Row] | str:
    source = workload.source
    if source.kind == "synthetic":
        spec = source.model_dump(exclude={"kind"})
        if spec["rate_per_s"] * spec["until_s"] > MAX_REQUESTS:
            return f"its workload is more than {MAX_REQUESTS} requests"
        return plain_loop.draw(spec)
    if source.kind == "trace":
        rows = traces.get(source.sha256)
        if rows is None:
            return f"trace {source.file} (sha256 {source.sha256[:12]}…) was not given"
        return rows if source.prefix_cache else [(at, prompt, output, 0) for at, prompt, output, _ in rows]
    carried = source.requests and traces.get(source.requests.sha256)
    return carried or f"its requests ({source.window}) were not given: the file beside the receipt is missing"


def _workload(workload: WorkloadPart, rows: list[Row], findings: Findings) -> None:
    place = f"workload {workload.name}"
    n, span = len(rows), rows[-1][0]
    if (workload.label == "observed") == (workload.source.kind == "synthetic"):
        findings.problems.append(
            f"{place} is labelled {workload.label} but its source is {workload.source.kind}"
        )
    findings.same(f"{place}: requests", workload.requests, n)
    findings.same(f"{place}: requests_per_s", workload.requests_per_s, n / span)
    uncached = sum(row[1] - row[3] for row in rows) / span
    findings.same(f"{place}: uncached_tokens_per_s", workload.uncached_tokens_per_s, uncached)
    findings.same(
        f"{place}: output_tokens_per_s", workload.output_tokens_per_s, sum(r[2] for r in rows) / span
    )
    findings.same(f"{place}: mean_prompt", workload.mean_prompt, sum(r[1] for r in rows) / n)
    findings.same(f"{place}: mean_output", workload.mean_output, sum(r[2] for r in rows) / n)
    edges = [(bucket.prompt_above, bucket.prompt_to) for bucket in workload.buckets]
    ends = [end for _, end in edges]
    if not edges or edges[0][0] != 0 or ends != [*(start for start, _ in edges[1:]), None]:
        findings.problems.append(f"{place}: buckets {edges} leave prompts out or count them twice")
    for bucket in workload.buckets:
        high = inf if bucket.prompt_to is None else bucket.prompt_to
        inside = [row for row in rows if bucket.prompt_above < row[1] <= high]
        name = f"{place}: bucket {bucket.prompt_above}-{bucket.prompt_to}"
        findings.same(f"{name} requests", bucket.requests, len(inside))
        for column, said in ((1, bucket.mean_prompt), (2, bucket.mean_output)):
            mean = sum(row[column] for row in inside) / len(inside) if inside else None
            findings.same(f"{name} mean", said, mean)


def check_scenarios(
    receipt: Receipt, c: Constants, traces: Mapping[str, list[Row]], findings: Findings,
    progress: Callable[[int, int], None],
) -> None:  # fmt: skip
    """Work every workload and scenario of `receipt` out again; what does not agree goes to `findings`.

    `traces` holds the rows of trace files by digest. `progress` is called with (done, of).
    """
    known: dict[str, list[Row] | str] = {}
    for workload in receipt.workloads:
        rows = known[workload.name] = workload_rows(workload, traces)
        if isinstance(rows, list):
            if not rows or rows[-1][0] * workload.arrivals < MIN_SPAN_S * (1 - 1e-9):
                findings.problems.append(f"workload {workload.name} is shorter than {MIN_SPAN_S:g} s: no p95")
                known[workload.name] = []
                continue
            before = len(findings.problems)
            _workload(workload, rows, findings)
            if len(findings.problems) > before:
                known[workload.name] = f"its workload {workload.name} is not what the receipt says"
    done = 0
    for k, scenario in enumerate(receipt.scenarios, start=1):
        rows = known.get(scenario.workload, "")
        if not rows:
            findings.problems.append(
                f"{scenario.id}: there is no workload {scenario.workload!r} with requests"
            )
            continue
        _form(scenario, receipt, findings)
        if isinstance(rows, str):
            findings.unchecked.append(f"{scenario.id}: {rows}")
        elif _steps(scenario, rows) > MAX_STEPS:
            findings.unchecked.append(f"{scenario.id}: more than {MAX_STEPS} steps to simulate again")
        else:
            done += 1
            _queues(scenario, rows, receipt, c, findings)
            _result(scenario, rows, receipt, c, findings)
        progress(k, len(receipt.scenarios))
    if done:
        findings.checked.append(f"{done} scenarios")


def _steps(scenario: Scenario, rows: list[Row]) -> float:
    """Most steps a scenario can take."""
    return sum(row[2] + row[1] / scenario.layout.step_budget + 1 for row in rows)


def _form(scenario: Scenario, receipt: Receipt, findings: Findings) -> None:
    """The layout agrees with itself, and each of its queues is shown at every moment."""
    layout = scenario.layout
    accelerators = layout.workers * receipt.inputs["accelerators_per_instance"].value
    findings.same(f"{scenario.id}: accelerators", layout.accelerators, accelerators)
    if layout.kind == "disaggregated":
        if (
            layout.prefill is None
            or layout.decode is None
            or layout.prefill + layout.decode != layout.workers
        ):
            findings.problems.append(
                f"{scenario.id}: prefill and decode workers do not add up to {layout.workers}"
            )
    elif layout.prefill is not None or layout.decode is not None:
        findings.problems.append(f"{scenario.id}: a colocated layout has no prefill or decode workers")
    for queue in scenario.queues:
        place = f"{scenario.id}: {queue.name} at {queue.moment} demand: utilisation"
        used = queue.offered_per_s / queue.service_per_s if queue.service_per_s else None
        findings.same(place, queue.utilisation, used)
        if queue.unit not in QUEUE_UNITS[queue.name]:
            findings.problems.append(f"{scenario.id}: {queue.name} queue in {queue.unit!r}")
    for moment in ("mean", "p95", "peak"):
        names = [queue.name for queue in scenario.queues if queue.moment == moment]
        if sorted(names) != sorted(QUEUES[layout.kind]):
            findings.problems.append(
                f"{scenario.id}: queues at {moment} demand are {', '.join(names) or 'none'}; {layout.kind} "
                f"has {', '.join(sorted(QUEUES[layout.kind]))}, each on its own: merged queues hide overloads"
            )


def _queues(scenario: Scenario, rows: list[Row], receipt: Receipt, c: Constants, findings: Findings) -> None:
    layout, kv = scenario.layout, receipt.settings.kv_tokens
    room = inf if kv is None else kv
    found: dict[str, Queues] = {}
    for moment, load in loads(rows, WINDOW_S / arrivals_of(scenario, receipt)).items():
        if layout.kind == "colocated":
            found[moment] = one_pool(load, c, layout.workers, layout.step_budget, room)
        else:
            found[moment] = two_pools(
                load, c, layout.prefill or 0, layout.decode or 0, layout.step_budget, room,
                receipt.contract.tpot_s, receipt.kv.bytes_per_token,
                receipt.inputs["nics"].value * receipt.inputs["nic_bytes_per_s"].value
                * receipt.inputs["link_efficiency"].value,
            )  # fmt: skip
    for queue in scenario.queues:
        offered, service = found[queue.moment].get(queue.name, (None, None))
        if offered is None or service is None:
            continue
        place = f"{scenario.id}: {queue.name} at {queue.moment} demand"
        findings.same(f"{place}: offered_per_s", queue.offered_per_s, offered)
        findings.same(f"{place}: service_per_s", queue.service_per_s, service)


def trail_of(layout: LayoutPart, rows: list[Row], settings: SettingsPart, c: Constants,
             lost: tuple[str, float] | None = None) -> Trail:  # fmt: skip
    """A layout simulated again, step by step; `lost`: the pool whose first worker is lost for good, when."""
    split = layout.kind == "disaggregated"
    rules = Rules(
        least_loaded=settings.routing == "least-loaded",
        kv_tokens=inf if settings.kv_tokens is None else settings.kv_tokens,
        lease_s=inf if settings.lease_s is None or not split else settings.lease_s,
        retries=max(settings.retries, 1) if lost else settings.retries,
        retry_after_s=settings.retry_after_s,
        lost=lost,
    )
    prefill, decode = layout.prefill or 1, layout.decode or 1
    if replace(rules, retries=0, retry_after_s=0.0) == Rules():
        if split:
            return plain_loop.disaggregated(rows, prefill, decode, layout.step_budget, c)
        return plain_loop.colocated(rows, layout.workers, layout.step_budget, c)
    pools = {"prefill": (prefill, layout.step_budget), "decode": (decode, 0)}
    sizes = pools if split else {"colocated": (layout.workers, layout.step_budget)}
    return plain_clock.run(rows, sizes, c, rules)


def compare_figures(
    place: str, said: ResultPart, trail: Trail, rows: list[Row], receipt: Receipt, faster: float,
    findings: Findings,
) -> None:  # fmt: skip
    """Simulated figures against those of a trail of the same requests."""
    contract = receipt.contract
    window = (contract.window_start_s / faster, contract.window_end_s / faster)
    found = plain_loop.figures(trail, rows, window, contract.ttft_s, contract.tpot_s)
    for name, value in found.items():
        findings.same(f"{place}: {name}", getattr(said, name), value)
    parts = plain_loop.figures_by_prompt(trail, rows, window, contract.ttft_s, contract.tpot_s)
    if said.by_prompt and {part.prompts for part in said.by_prompt} != parts.keys():
        findings.problems.append(f"{place}: by_prompt leaves prompts out or tells of some that did not come")
    for part in said.by_prompt:
        for name, value in parts.get(part.prompts, {}).items():
            findings.same(f"{place}: prompts {part.prompts}: {name}", getattr(part, name), value)
    inside = {i for i, row in enumerate(rows) if window[0] < row[0] < window[1]}
    failed = Counter(why for i, why in trail.failed.items() if i in inside)
    for why in {*failed, *said.failed}:
        findings.same(f"{place}: failed {why}", said.failed.get(why, 0), failed[why])
    findings.same(f"{place}: retried", said.retried, len(trail.retried & inside))


def _result(scenario: Scenario, rows: list[Row], receipt: Receipt, c: Constants, findings: Findings) -> None:
    if receipt.settings.losses:
        findings.unchecked.append(
            f"{scenario.id}: its figures rest on lost workers, and the receipt does not say which"
        )
        return
    trail = trail_of(scenario.layout, rows, receipt.settings, c)
    faster = arrivals_of(scenario, receipt)
    compare_figures(scenario.id, scenario.result, trail, rows, receipt, faster, findings)
