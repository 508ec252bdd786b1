"""What does not arrive, which answer needs it, and the one line that would bring it."""

from collections.abc import Iterator
from dataclasses import dataclass

from analyzer.telemetry.check import Check, Kind, Severity
from analyzer.telemetry.read import Arrivals, SystemSpans
from analyzer.verdict.missing import phase_missing
from collector.engines import ADAPTERS
from collector.engines.rules import Adapter, Source
from collector.engines.table import sightings
from collector.phases import Phase

MOSTLY_ABSENT = 0.5
"""A phase is missing when more of a system's requests lack it."""

_BY_NAME = {adapter.name: adapter for adapter in ADAPTERS}
_ONLY_BOTH_POOLS = (Phase.KV_PUBLISH, Phase.KV_TRANSFER, Phase.KV_IMPORT, Phase.DECODE_QUEUE)
_INSTRUMENT = {
    Phase.ROUTER_QUEUE: "PhaseTracer in the router, or `pdscope tap --upstream URL` in front of it",
    Phase.KV_PUBLISH: "PhaseTracer or the traced KV connector where the KV is offered",
    Phase.KV_TRANSFER: "PhaseTracer or the traced KV connector where the KV is moved",
    Phase.KV_IMPORT: "PhaseTracer or the traced KV connector where the KV is taken in",
}
_TRACED_CONNECTOR = (
    'in --kv-transfer-config of both sides: "kv_connector_module_path": "collector.instrument.vllm_connector"'
)


@dataclass(frozen=True)
class Need:
    """A pool signal that an answer needs; any of `signals` will do."""

    pool: str
    signals: tuple[str, ...]
    matters: str
    severity: Severity = Severity.WARNING
    infrastructure: str = ""
    """The exporter that gives it where engines do not."""


_DCGM, _NODE = "DCGM exporter", "node exporter"
_SERVE = "`pdscope serve --scrape FILE`, or kube-state-metrics"
_INFO = Severity.INFO

NEEDS = (
    Need("prefill", ("queue_depth",), "a prefill queue is told from slow computing only by it"),
    Need("prefill", ("running",), "whether a prefill worker is at work or stuck"),
    Need("prefill", ("kv_used_fraction",), "whether prefill waits for KV that nobody fetched"),
    Need("prefill", ("kv_expired_total",), "KV that was published and never read shows here", _INFO),
    Need("decode", ("kv_used_fraction",), "whether decode had room: a slow hand-off or a full pool"),
    Need("decode", ("running",), "whether decode is at its cap"),
    Need("decode", ("queue_depth",), "who waits for decode"),
    Need("decode", ("transfer_bytes_total", "transfer_seconds_sum"), "how fast KV moves over all", _INFO),
    Need("decode", ("transfer_failures_total",), "failed hand-offs that no request tells of", _INFO),
    Need("decode", ("preemptions_total",), "why a stream stalled", _INFO),
    Need("", ("gpu_busy_fraction",), "whether a pool idles while the other is short", _INFO, _DCGM),
    Need("", ("nic_bytes_total",), "whether the link was full, idle, or the wrong one", _INFO, _NODE),
    Need("", ("cpu_busy_cores",), "whether the host's cores, not the GPU, were short", _INFO, _NODE),
    Need("", ("up", "pod_ready"), "that a worker went away is a fact with a time with it", _INFO, _SERVE),
)


def missing(found: Arrivals) -> Iterator[Check]:
    """Everything that an answer needs and that did not arrive."""
    yield from _no_spans(found)
    for system in found.systems:
        yield from _phases(system)
        yield from _client_truth(system)
    yield from _legs(found)
    yield from _apart(found)
    yield from _signals(found)
    yield from _names(found)
    yield from _pools(found)


def _no_spans(found: Arrivals) -> Iterator[Check]:
    if found.systems:
        return
    matters = "without request traces nothing can be said of any request"
    spoken = sorted({item.dialect for item in found.signals} - {"infrastructure"})
    for name in spoken or [""]:
        fix = _BY_NAME[name].switch_on if name else "name pdscope as the OTLP endpoint: http://HOST:4317"
        yield _missing(
            "no_request_traces", Severity.CRITICAL, name, "", "no request traces arrive", matters, fix
        )


def _phases(system: SystemSpans) -> Iterator[Check]:
    adapter = _BY_NAME.get(system.system)
    for phase in Phase:
        told = phase_missing(phase)
        among = system.both if phase in _ONLY_BOTH_POOLS else system.requests
        if told is None or not among or system.phases.get(phase, 0) > MOSTLY_ABSENT * among:
            continue
        seen = system.phases.get(phase, 0)
        says = f"{seen} of {among} requests tell their {phase}"
        yield _missing(
            "missing_phase",
            Severity.WARNING,
            system.system,
            phase,
            says,
            told.why_it_matters,
            _how(adapter, phase),
        )


def _how(adapter: Adapter | None, phase: Phase) -> str:
    """The line that would bring a phase: the system's own way, else an instrument."""
    ways = sightings(adapter, phase) if adapter else []
    plain = [way for way in ways if way.source is not Source.BOUNDED and not way.needs]
    if adapter and plain:
        return adapter.switch_on
    if adapter and adapter.name == "vllm" and phase in (Phase.KV_PUBLISH, Phase.KV_TRANSFER, Phase.KV_IMPORT):
        return _TRACED_CONNECTOR
    needed = next((way.needs for way in ways if way.needs), "")
    return needed or _INSTRUMENT.get(phase, f"PhaseTracer: a pd.{phase} span")


def _client_truth(system: SystemSpans) -> Iterator[Check]:
    if not system.with_ttft or system.engine_ttft <= MOSTLY_ABSENT * system.with_ttft:
        return
    told = f"of {system.engine_ttft} of {system.with_ttft} requests"
    says = f"the first token {told} is the engine's, not the client's"
    matters = "what happens between the engine and the client is in no TTFT; it is a lower bound"
    fix = "`pdscope tap --upstream URL` in front of the router, or its own tracing"
    yield _missing("no_client_first_token", Severity.WARNING, system.system, "", says, matters, fix)


def _legs(found: Arrivals) -> Iterator[Check]:
    """Spans that are read and that no request span, and no id of a request, claims."""
    for row in found.legs:
        says = (
            f"{row['traces']} traces of {row['spans']} spans belong to no request, such as {row['example']}"
        )
        matters = "what they tell is kept and counts for nothing: their requests are missing or look shorter"
        fix = "let the router trace too and pass on traceparent or one id; what a crash took is lost"
        yield _missing("legs_without_request", Severity.WARNING, row["system"], "", says, matters, fix)


def _apart(found: Arrivals) -> Iterator[Check]:
    """Requests at a tap that begin a trace of their own behind it, several under one id at once."""
    for row in found.apart:
        says = (
            f"{row['requests']} requests at the tap ran beside several of this router under one id, such as "
            f"{row['example']}: whose is whose can't be told, so they are not joined"
        )
        matters = "each is listed twice: as its client saw it, and as its router and engines did"
        fix = "send ids that do not repeat, or none (the tap makes one), or a router that continues traces"
        yield _missing("tap_and_router_apart", Severity.WARNING, row["system"], "", says, matters, fix)


def _signals(found: Arrivals) -> Iterator[Check]:
    have = {(pool, item.signal) for item in found.signals for pool in (item.pool, "")}
    serving = {item.pool for item in found.signals} | {row["pool"] for row in found.request_workers}
    disaggregated = {"prefill", "decode"} <= serving
    for need in NEEDS:
        if need.pool and (not disaggregated or need.pool not in serving):
            continue
        if any((need.pool, signal) in have for signal in need.signals):
            continue
        where = f"the {need.pool} pool" if need.pool else "any worker"
        says = f"no {' or '.join(need.signals)} of {where} arrives"
        system, fix = _source(found, need)
        yield _missing("missing_signal", need.severity, system, need.pool, says, need.matters, fix)


def _source(found: Arrivals, need: Need) -> tuple[str, str]:
    """(system, the line that would bring a signal)."""
    if need.infrastructure:
        return "infrastructure", f"a scrape job for it: {need.infrastructure}"
    spoken = [system.system for system in found.systems] + sorted({item.dialect for item in found.signals})
    for name in dict.fromkeys(spoken):
        adapter = _BY_NAME.get(name)
        rules = [rule for rule in adapter.signals if rule.signal in need.signals] if adapter else []
        if adapter and rules:
            job = f"- {{job: {name}-{need.pool}, pool: {need.pool}, targets: ['HOST:PORT']}}"
            first = f"{adapter.metrics_on}; " if adapter.metrics_on else ""
            return name, f"{first}in the scrape file: {job} ({rules[0].metric})"
    return "", "none of the systems seen exports it"


def _names(found: Arrivals) -> Iterator[Check]:
    """Requests and metrics name the same workers differently: neither helps the other."""
    asked = {row["worker"] for row in found.request_workers}
    told = {item.worker for item in found.signals if item.dialect != "infrastructure"}
    silent, unknown = sorted(asked - told), sorted(told - asked)
    strangers = [
        name for name in unknown
        if any(item.worker == name and item.pool in ("prefill", "decode", "") for item in found.signals)
    ]  # fmt: skip
    if silent and strangers:
        says = f"requests name {_some(silent)}, metrics name {_some(strangers)}"
        matters = "a worker's queue and KV use can't be laid beside its requests"
        fix = f"worker: {silent[0]} on its target in the scrape file, or service.instance.id as resource"
        yield _missing("worker_names_differ", Severity.WARNING, "", "", says, matters, fix)
    elif silent and told:
        says = f"no metrics of {_some(silent)} arrive, of other workers they do"
        matters = "its queue, load and KV use are not known"
        fix = f"add {silent[0]} to a scrape job"
        yield _missing("worker_without_metrics", Severity.WARNING, "", silent[0], says, matters, fix)


def _pools(found: Arrivals) -> Iterator[Check]:
    lost = sorted(
        {item.worker for item in found.signals if not item.pool and item.dialect != "infrastructure"}
    )
    if lost:
        says = f"nothing tells which pool {_some(lost)} belongs to"
        fix = "pool: prefill (decode, router, colocated) of its scrape job, or pd.pool as resource"
        matters = "its metrics count for no pool"
        yield _missing("pool_unknown", Severity.WARNING, "", lost[0], says, matters, fix)


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _missing(
    name: str, severity: Severity, system: str, subject: str, says: str, matters: str, fix: str
) -> Check:
    return Check(name, Kind.MISSING, severity, system, subject, says, matters, fix)
