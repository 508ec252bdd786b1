"""What arrives and can't be so, or does not mean what its name says."""

from collections.abc import Iterable, Iterator

from analyzer.signals import HistogramSummary
from analyzer.telemetry.check import Check, Kind, Severity
from analyzer.telemetry.read import Arrivals
from analyzer.verdict.findings import Finding
from collector.engines import ADAPTERS
from collector.engines.signals import is_counter

_OF_FINDINGS = {
    "ttft_definition_mismatch": "use pdscope's TTFT; the engine's stops where its leg ends",
    "impossible_rate": "use bytes ÷ time of the spans; the metric leaves time out",
    "metric_window_mismatch": "use the spans' transfer times; the metric times something else",
    "metric_blind_spot": "do not scale or alert on this gauge",
    "metric_counts_wrong_work": "do not add it up over pools",
    "metric_dead": "do not alert on it; ask its maker",
    "histogram_saturated": "use the mean (sum ÷ count); quantiles are floors",
    "router_span_unreliable": "trust the workers' spans, or put `pdscope tap` in front",
    "span_nesting_quirk": "nothing to do: nesting is not read as time",
    "impossible_duration": "nothing to do: such durations are discarded",
    "clock_skew": "run NTP or PTP on the hosts named",
    "duplicate_records": "nothing to do: copies count once",
    "request_id_collision": "let the gateway make ids unique",
    "late_spans": "nothing to do, unless an exporter's queue is full: look at its drops",
    "compatibility_mismatch": "start both sides with the same settings",
}
"""What verdicts say of a window's telemetry that a check-up repeats, and what to do about it."""
_COUNTED_TWICE = ("time_to_first_token_seconds", "e2e_request_latency_seconds", "request_success_total")
_POOLS: dict[tuple[str, str], set[str]] = {}
for _rule in (rule for adapter in ADAPTERS for rule in adapter.signals):
    for _name in _rule.names:
        _POOLS.setdefault((_name, _rule.signal), set()).add(_rule.pool)
"""The pools whose workers use a metric, '' for any."""
_EDGE = 0.5
"""Share of one pool's count that the other's must have for both to count the same requests."""


def lies(
    found: Arrivals, findings: Iterable[Finding], histograms: Iterable[HistogramSummary]
) -> Iterator[Check]:
    """Everything that can't be so."""
    seen = set()
    for finding in findings:
        if finding.finding in _OF_FINDINGS:
            seen.add(finding.finding)
            severity = Severity.INFO if finding.severity == "info" else Severity.WARNING
            yield _lie(finding.finding, severity, "", finding.detail, _OF_FINDINGS[finding.finding])
    summaries = list(histograms)
    yield from _both_pools(summaries)
    if "metric_dead" not in seen:
        yield from _dead(found)
    if "histogram_saturated" not in seen:
        yield from _saturated(summaries)
    yield from _kinds(found)
    yield from _late_ends(found)
    yield from _restarts_and_bounds(found, summaries)


def known_lies(found: Arrivals) -> Iterator[Check]:
    """What is known to be wrong with the systems that speak, whether or not this window shows it."""
    spoken = {system.system for system in found.systems} | {item.dialect for item in found.signals}
    for adapter in ADAPTERS:
        if adapter.name in spoken:
            for lie in adapter.known_lies:
                yield Check("known_lie", Kind.LIE, Severity.INFO, adapter.name, "", lie, "", "")


def _both_pools(summaries: list[HistogramSummary]) -> Iterator[Check]:
    """Both legs of a request count in a metric of the same name."""
    counts: dict[str, dict[str, int]] = {}
    for item in summaries:
        if item.metric.endswith(_COUNTED_TWICE):
            pools = counts.setdefault(item.metric, {})
            pools[item.pool] = pools.get(item.pool, 0) + item.count
    for metric, pools in counts.items():
        prefill, decode = pools.get("prefill", 0), pools.get("decode", 0)
        if min(prefill, decode) > _EDGE * max(prefill, decode) > 0:
            says = f"{metric} counts {prefill} on prefill and {decode} on decode: the same requests"
            yield _lie("counted_twice", Severity.INFO, metric, says, "never add it up over pools")


def _dead(found: Arrivals) -> Iterator[Check]:
    for item in found.dead:
        if _POOLS.get((item.metric, item.signal), {""}).isdisjoint({"", item.pool}):
            # The other pool's metric, which this engine exports without using it.
            continue
        if is_counter(item.signal):
            says = f"{item.metric} of {item.worker} did not move in {item.points} readings while others did"
            yield _lie("metric_dead", Severity.WARNING, item.worker, says, _OF_FINDINGS["metric_dead"])
        else:
            says = (
                f"{item.metric} of {item.worker} read 0 at all of {item.points} readings while others moved"
            )
            fix = "a shorter interval_s, if what it counts is over before it is read"
            yield _lie("gauge_never_seen", Severity.INFO, item.worker, says, fix)


def _saturated(summaries: list[HistogramSummary]) -> Iterator[Check]:
    for item in summaries:
        if item.saturated and item.bounds:
            says = f"{item.above_top:.0%} of {item.metric} lies above its top bucket ({item.bounds[-1]:g})"
            yield _lie(
                "histogram_saturated", Severity.INFO, item.worker, says, _OF_FINDINGS["histogram_saturated"]
            )


def _kinds(found: Arrivals) -> Iterator[Check]:
    for row in found.kinds:
        if len(row["kinds"]) > 1:
            says = f"{row['metric']} arrives as {' and as '.join(row['kinds'])}, now as {row['now']}"
            fix = "run one version of the engine, or ask for dashboards that read both"
            yield _lie("metric_changed_kind", Severity.WARNING, row["metric"], says, fix)
        else:
            says = f"{row['metric']} arrives as {row['now']}, which no rule of its signal reads"
            fix = (
                "none: it is stored, no signal is made of it; tell pdscope's maintainers the engine's version"
            )
            yield _lie("metric_of_unread_kind", Severity.WARNING, row["metric"], says, fix)


def _late_ends(found: Arrivals) -> Iterator[Check]:
    for row in found.late_ends:
        share = row["late"] / row["spans"]
        if row["late"] < 3 and share < 0.5:
            continue
        says = (
            f"{row['late']} of {row['spans']} spans {row['name']!r} end over 1 s after their request, "
            f"up to {row['worst_s']:.1f} s"
        )
        severity = Severity.WARNING if share > 0.05 else Severity.INFO
        yield _lie(
            "span_ends_late",
            severity,
            row["name"],
            says,
            "nothing to do: only the starts of such spans are read",
        )


def _restarts_and_bounds(found: Arrivals, summaries: list[HistogramSummary]) -> Iterator[Check]:
    restarted = sorted({item.worker for item in summaries if item.resets})
    if restarted:
        says = f"counters of {', '.join(restarted[:3])} began anew: {len(restarted)} restarts"
        yield Check(
            "counter_reset", Kind.FACT, Severity.INFO, "", restarted[0], says,
            "each counts from zero; what was between the last reading and the restart is lost", "",
        )  # fmt: skip
    for row in found.bounds:
        says = f"the buckets of {row['metric']} changed on {row['workers']} workers ({row['sets']} sets)"
        yield Check(
            "buckets_changed", Kind.FACT, Severity.INFO, "", row["metric"], says,
            "only bounds that both sets have are added up", "",
        )  # fmt: skip


def _lie(name: str, severity: Severity, subject: str, says: str, fix: str) -> Check:
    matters = "an answer that trusts it would be wrong; pdscope's verdicts leave it out"
    return Check(name, Kind.LIE, severity, "", subject, says, matters, fix)
