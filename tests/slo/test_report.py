"""The SLO report against a plain Python one, and its documents."""

from collections import Counter, defaultdict
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analyzer.slo.attainment import WINDOWS, attainments
from analyzer.slo.concurrency import CONTEXT_NS, EDGES, bucket_name
from analyzer.slo.groups import MAX_GROUPS, Group
from analyzer.slo.objectives import Objective, Objectives, Selector
from analyzer.slo.report import LABELS, Report, report
from analyzer.slo.scope import Scope
from analyzer.verdict.groups import CONCURRENCY
from collector.store.store import Store
from tests.api.rows import NOON_NS, a_hand_off, a_request, clear, insert, insert_hand_offs, workers_say
from tests.slo.oracle import account_of, bucket, objective_of

HOUR = Scope(NOON_NS, NOON_NS + 3600 * 10**9)
ONE_SECOND = Objectives((Objective("all", ttft=1.0, tpot=0.05, target=0.9),))
TWO = Objectives(
    (
        Objective("a", 1.0, 0.05, target=0.9, period_days=1, selector=Selector(tenant="a")),
        Objective("rest", 0.4, 0.05, target=0.5, period_days=2),
    )
)


def ask(store: Store, objectives: Objectives = ONE_SECOND, scope: Scope = HOUR, **given: Any) -> Report:
    return report(store, scope, objectives, **given)


def by_key(groups: list[Group]) -> dict[str | None, Group]:
    return {group.key: group for group in groups}


ROWS = st.fixed_dictionaries(
    {
        "at": st.sampled_from([-200_000, -90_000, -3000, -10, 0, 1, 2, 2.5, 3000, 3599, 3600]),
        "tenant": st.sampled_from(["", "a", "b"]),
        "route": st.sampled_from(["", "=x", "y|z"]),
        "outcome": st.sampled_from(["ok", "ok", "ok", "cancelled", "rejected", "invalid", "error", ""]),
        "ttft": st.sampled_from([None, 0.3, 0.5, 1.5]),
        "e2e": st.sampled_from([None, 0.0, 1.0, 1000.0]),
        "input_tokens": st.sampled_from([None, 10, 5000]),
        "output_tokens": st.sampled_from([None, 1, 64, 2000]),
    }
)


def under_way(rows: list[dict[str, Any]]) -> dict[bytes, int]:
    """Requests under way as each starts; of equal starts the one with the smaller key is first."""
    order = sorted(rows, key=lambda row: (row["started_at"], row["request_key"]))
    seen = [row for row in order if row["started_at"] >= HOUR.from_ns - CONTEXT_NS]
    out = {}
    for place, row in enumerate(seen):
        ended = sum(
            other["ended_at"] is not None and other["ended_at"] <= row["started_at"] for other in seen
        )
        out[row["request_key"]] = max(1, place + 1 - ended)
    return out


def labels_of(row: dict[str, Any], at_once: int | None) -> dict[str, str]:
    found = {name: row[name] for name in ("model", "tenant", "route", "cohort")}
    found |= {"input_bucket": bucket(row["input_tokens"]), "output_bucket": bucket(row["output_tokens"])}
    if at_once is not None:
        found["concurrency"] = bucket_name(sum(at_once >= edge for edge in EDGES))
    return found


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(ROWS, max_size=14))
def test_the_report_says_what_plain_python_says(store: Store, rows: list[dict[str, Any]]) -> None:
    clear(store)
    built = [a_request(**dict(row)) for row in rows]
    insert(store, built)
    inside = [row for row in built if HOUR.from_ns <= row["started_at"] < HOUR.to_ns]
    at_once = under_way([row for row in built if row["started_at"] < HOUR.to_ns])
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in inside:
        for name in labels_of(row, at_once[row["request_key"]]).items():
            counts[name][account_of(row, objective_of(row, TWO))] += 1
    made = ask(store, TWO)
    shown = {(label, group.key or ""): group for label in LABELS for group in made.groups[label]}
    assert {name: +Counter(parts_of(group)) for name, group in shown.items()} == dict(counts)
    for (label, key), group in shown.items():
        own = [row for row in built if labels_of(row, None).get(label) == key and label != "concurrency"]
        if label != "concurrency":
            assert group.budget.burn_rates == burn_rates(own)
            assert group.budget.left == left(own)
    assert made.objectives == attainments(store, HOUR, TWO)


PARTS = ("met", "missed", "cancelled", "invalid", "incomplete")


def parts_of(group: Group) -> dict[str, int]:
    return {name: getattr(group.requests, name) for name in PARTS}


def spent(rows: list[dict[str, Any]], seconds: dict[str, float]) -> float | None:
    """Missed ÷ allowed of the rows of the last `seconds` of each objective, by its name."""
    allowed, missed = 0.0, 0
    for row in rows:
        objective = objective_of(row, TWO)
        account = account_of(row, objective)
        age_ns = HOUR.to_ns - row["started_at"]
        if account in ("met", "missed") and 0 < age_ns <= seconds[objective.name] * 1e9:
            allowed += 1 - objective.target
            missed += account == "missed"
    return missed / allowed if allowed else None


def burn_rates(rows: list[dict[str, Any]]) -> dict[str, Any]:
    found = {name: spent(rows, {"a": span, "rest": span}) for name, span in WINDOWS.items()}
    return {name: None if value is None else pytest.approx(value) for name, value in found.items()}


def left(rows: list[dict[str, Any]]) -> Any:
    found = spent(rows, {"a": 86400, "rest": 2 * 86400})
    return None if found is None else pytest.approx(1 - found)


def test_concurrency_is_bucketed_as_attribution_does() -> None:
    names = [f"{low}+" if high is None else f"{low}-{high - 1}" for low, high in CONCURRENCY]
    assert [bucket_name(number) for number in range(1, len(EDGES) + 1)] == names


def test_concurrency_counts_requests_outside_the_filter_too(store: Store) -> None:
    insert(store, [a_request(number / 100, tenant="b", e2e=60) for number in range(10)])
    insert(store, a_request(1, tenant="a"))
    scope = Scope(HOUR.from_ns, HOUR.to_ns, tenant="a")
    assert [(group.key, group.requests.total) for group in ask(store, scope=scope).groups["concurrency"]] == [
        ("8-31", 1)
    ]


def test_a_reader_of_one_tenant_learns_nothing_of_the_others_load(store: Store) -> None:
    insert(store, [a_request(number / 100, tenant="b", e2e=60) for number in range(10)])
    insert(store, a_request(1, tenant="a"))
    scope = Scope(HOUR.from_ns, HOUR.to_ns, tenant="a")
    made = ask(store, scope=scope, only_tenant="a")
    assert [group.key for group in made.groups["concurrency"]] == ["1-7"]


def test_look_backs_beyond_the_window_are_unknown_by_concurrency(store: Store) -> None:
    insert(store, [a_request(3500, ttft=2), a_request(10)])
    (group,) = ask(store).groups["concurrency"]
    assert group.budget.burn_rates == {
        "5m": pytest.approx(10.0),
        "30m": pytest.approx(10.0),
        "1h": pytest.approx(5.0),
        **dict.fromkeys(("2h", "6h", "1d", "3d")),
    }
    assert group.budget.left is None


def test_small_groups_beyond_the_limit_are_counted(store: Store) -> None:
    rows = [a_request(number, tenant=f"t{number}") for number in range(MAX_GROUPS + 3)]
    insert(store, [*rows, a_request(500, tenant="t7")])
    made = ask(store)
    assert (len(made.groups["tenant"]), made.left_out["tenant"]) == (MAX_GROUPS, 3)
    assert made.groups["tenant"][0].key == "t7"


def test_buckets_stand_in_their_own_order(store: Store) -> None:
    insert(store, [a_request(1, input_tokens=tokens) for tokens in (None, 20000, 5000, 5001, 2000, 5)])
    assert [group.key for group in ask(store).groups["input_bucket"]] == [
        "0-1K",
        "1-4K",
        "4-16K",
        "16K+",
        None,
    ]


def test_a_group_counts_the_accelerators_of_its_own_workers(store: Store) -> None:
    rows = [
        a_request(1, model="small", prefill_worker="p", decode_worker="d"),
        a_request(2, model="large", prefill_worker="q", decode_worker="d"),
    ]
    insert(store, rows)
    insert_hand_offs(store, [a_hand_off(row) for row in rows])
    workers_say(store, {"p": 1, "d": 2, "q": 4})
    observed, supplied = ask(store), ask(store, gpus=10)
    models = by_key(observed.groups["model"])
    assert observed.total.efficiency.gpu_hours.value == 7
    assert models["small"].efficiency.gpu_hours.value == 3
    assert models["large"].efficiency.per_gpu_hour["network_bytes"].value == pytest.approx(1000 / 6)
    assert supplied.total.efficiency.gpu_hours.source == "supplied"
    unknown = by_key(supplied.groups["model"])["small"].efficiency.gpu_hours
    assert (unknown.value, unknown.reason) == (
        None,
        "the supplied accelerators are those of all groups together",
    )


def test_an_empty_window_knows_nothing_but_counts(store: Store) -> None:
    made = ask(store)
    assert (made.total.requests.total, made.total.joint, made.total.goodput_rps) == (0, None, 0)
    assert made.total.budget.left is None
    assert all(groups == [] for groups in made.groups.values())
    assert [item.joint for item in made.objectives] == [None]
