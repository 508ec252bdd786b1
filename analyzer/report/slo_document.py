"""The SLO report in words and tables."""

from collections.abc import Sequence

from analyzer.report.document import Column, Document, Section, Table, written
from analyzer.slo.attainment import WINDOWS, Accounting, Attainment
from analyzer.slo.efficiency import Efficiency
from analyzer.slo.groups import Group
from analyzer.slo.objectives import Objective
from analyzer.slo.report import LABELS, Report

_LABEL_TITLES = {
    "model": "model",
    "tenant": "tenant",
    "route": "route",
    "cohort": "cohort",
    "input_bucket": "prompt length (tokens)",
    "output_bucket": "answer length (tokens)",
    "concurrency": "requests under way",
}

TERMS = {
    "met": "answered, with TTFT and TPOT both within the objective",
    "missed": "evaluated and not met; rejected and errored requests are among them",
    "rejected": "refused by overload (429, 503): evaluated, missed",
    "errored": "interrupted, timed out, failed, or a success without a token: evaluated, missed",
    "cancelled": "left by the client: not evaluated",
    "invalid": "refused as wrong (other 4xx): not evaluated",
    "incomplete": "how it ended, or when its first token came, is not known: not evaluated",
    "attainment": "met ÷ evaluated; a TPOT that is not defined (fewer than 2 tokens) counts as met",
    "goodput": "requests that met both limits, per second of the window",
    "budget left": "1 − missed ÷ allowed misses of the objective's period; below 0 it is overspent",
    "burn rate": "missed ÷ allowed misses of the look-back; 1 spends the budget exactly in its period",
}


def slo_document(report: Report, window: tuple[str, str], asked: str) -> Document:
    """Put a report into words. window: RFC 3339; asked: which requests it is about, empty for all."""
    sections = [
        Section("Objectives", (), [_attainment(report.objectives), _burn_rates(report.objectives)]),
        Section("What became of every request", (), [_accounting(report)]),
        Section("Cost", _unknown(report.total.efficiency), [_cost(report)]),
        *(_by(label, report) for label in LABELS),
        Section("How it is counted", terms=TERMS),
    ]
    subtitle = f"Requests that started from {window[0]} to {window[1]}" + (f"; {asked}" if asked else "")
    return Document("SLO report", subtitle, [_verdict(item) for item in report.objectives], sections)


def _verdict(item: Attainment) -> tuple[bool | None, str]:
    objective = item.objective
    if item.joint is None:
        return None, f"{objective.name}: no request was evaluated."
    kept = item.joint >= objective.target
    said = (
        f"{objective.name}: {written(item.joint, 'share')} of {item.requests.evaluated:,} evaluated requests "
        f"met both limits; the target is {written(objective.target, 'share')}."
    )
    if item.budget_left is None:
        return kept, said
    left = item.budget_left
    days = f"{objective.period_days} days"
    budget = (
        f"{written(left, 'share')} of the budget of {days} is left"
        if left >= 0
        else f"the budget of {days} is spent {1 - left:.3g} times over"
    )
    return kept, f"{said[:-1]}; {budget}."


def _attainment(objectives: Sequence[Attainment]) -> Table:
    columns = [
        Column("objective"),
        Column("for"),
        Column("TTFT within", "seconds"),
        Column("TPOT within", "seconds"),
        Column("target", "share"),
        Column("evaluated", "count"),
        Column("TTFT met", "share"),
        Column("TPOT met", "share"),
        Column("both met", "share"),
        Column("goodput", "rate"),
        Column("budget left", "share", good_from=0.0),
    ]
    rows = []
    for item in objectives:
        limits = item.objective
        rows.append(
            [
                *(limits.name, _selected(limits), limits.ttft, limits.tpot, limits.target),
                *(item.requests.evaluated, item.ttft, item.tpot, item.joint),
                *(item.goodput_rps, item.budget_left),
            ]
        )
    return Table(columns, rows)


def _selected(objective: Objective) -> str:
    selector = {name: value for name, value in vars(objective.selector).items() if value}
    return ", ".join(f"{name} {value}" for name, value in selector.items()) or "all other requests"


def _burn_rates(objectives: Sequence[Attainment]) -> Table:
    columns = [Column("objective"), *(Column(name, "factor", good_below=1.0) for name in WINDOWS)]
    rows = [[item.objective.name, *item.burn_rates.values()] for item in objectives]
    return Table(columns, rows, "Burn rates over windows that end with the report's")


_OUTCOMES = (
    *("total", "evaluated", "met", "missed", "rejected", "errored", "cancelled", "invalid", "incomplete"),
)


def _counts(requests: Accounting) -> list[int]:
    return [getattr(requests, name) for name in _OUTCOMES]


def _accounting(report: Report) -> Table:
    columns = [Column("objective"), *(Column(name, "count") for name in _OUTCOMES)]
    rows = [[item.objective.name, *_counts(item.requests)] for item in report.objectives]
    if len(rows) > 1:
        rows.append(["all", *_counts(report.total.requests)])
    return Table(columns, rows)


_AMOUNTS = {
    "good_requests": "good requests",
    "requests": "answered requests",
    "input_tokens": "prompt tokens",
    "output_tokens": "output tokens",
    "network_bytes": "network bytes (KV)",
    "gpu_seconds": "accelerator-seconds",
}


def _cost(report: Report) -> Table:
    used = report.total.efficiency
    rows = []
    for name, title in _AMOUNTS.items():
        per_hour, per_good = used.per_gpu_hour.get(name), used.per_good_request.get(name)
        known = [figure for figure in (per_hour, per_good) if figure and figure.source]
        sources = dict.fromkeys(figure.source for figure in known)
        rows.append(
            [
                title,
                per_hour.value if per_hour else None,
                per_good.value if per_good else None,
                ", ".join(str(source) for source in sources) or None,
            ]
        )
    columns = [
        Column(""),
        Column("per accelerator-hour", "amount"),
        Column("per good request", "amount"),
        Column("known by"),
    ]
    hours = used.gpu_hours
    said = f"{written(hours.value, 'amount')} accelerator-hours ({hours.source})" if hours.source else ""
    return Table(columns, rows, said)


def _unknown(used: Efficiency) -> list[str]:
    figures = (used.gpu_hours, used.network_bytes, *used.per_good_request.values())
    return [
        f"{reason[:1].upper()}{reason[1:]}."
        for reason in dict.fromkeys(figure.reason for figure in figures)
        if reason
    ]


def _by(label: str, report: Report) -> Section:
    groups, title = report.groups[label], _LABEL_TITLES[label]
    if not groups:
        return Section(f"By {title}", ["There are no requests."])
    if len(groups) == 1 and groups[0].key is None:
        return Section(f"By {title}", ["No request names one."])
    left_out = report.left_out[label]
    said = [f"{left_out:,} groups with fewer requests are left out."] if left_out else []
    return Section(f"By {title}", said, [_outcomes(title, groups), _spending(title, groups)])


def _outcomes(title: str, groups: Sequence[Group]) -> Table:
    columns = [
        Column(title),
        *(Column(name, "count") for name in _OUTCOMES),
        *(Column(name, "share") for name in ("TTFT met", "TPOT met", "both met")),
    ]
    rows = [[_named(item), *_counts(item.requests), item.ttft, item.tpot, item.joint] for item in groups]
    return Table(columns, rows)


def _spending(title: str, groups: Sequence[Group]) -> Table:
    columns = [
        Column(title),
        Column("goodput", "rate"),
        Column("budget left", "share", good_from=0.0),
        *(Column(f"burn {name}", "factor", good_below=1.0) for name in WINDOWS),
        Column("good per accelerator-hour", "amount"),
        Column("bytes per good request", "amount"),
    ]
    rows = [
        [
            *(_named(item), item.goodput_rps, item.budget.left, *item.budget.burn_rates.values()),
            item.efficiency.per_gpu_hour["good_requests"].value,
            item.efficiency.per_good_request["network_bytes"].value,
        ]
        for item in groups
    ]
    return Table(columns, rows)


def _named(item: Group) -> str:
    return "not named" if item.key is None else item.key
