"""Two cohorts in a store: what is compared, what is refused, what is said."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analyzer.compare.comparison import Comparison, compare
from analyzer.compare.errors import Unlike
from analyzer.slo.objectives import Objective, Objectives
from analyzer.slo.scope import Scope
from collector.store.store import Store
from tests.api.rows import NOON_NS, a_request, clear, insert, workers_say

HOUR = Scope(NOON_NS, NOON_NS + 3600 * 10**9)
ONE_SECOND = Objectives((Objective("all", ttft=1.0, tpot=0.05),))
LENGTHS = {"0-1K": 10, "1-4K": 2000, "4-16K": 5000, "16K+": 20000, "": None}


def side(cohort: str, count: int, missed: int, **given: Any) -> list[dict[str, Any]]:
    """Requests of a cohort, spread over the hour; the misses are spread among them."""
    order = list(range(count))
    random.Random(cohort).shuffle(order)
    late = set(order[:missed])
    workers = {"prefill_worker": f"{cohort}-p", "decode_worker": f"{cohort}-d"}
    return [
        a_request(
            number * 3600 / count, cohort=cohort, ttft=2.0 if number in late else 0.5, **workers | given
        )
        for number in range(count)
    ]


def ask(store: Store, *gpus: float, **given: Any) -> Comparison:
    scopes = replace(HOUR, cohort="a"), replace(HOUR, cohort="b")
    return compare(store, scopes, ONE_SECOND, (*gpus, None, None)[:2], **given)


def test_a_better_side_is_told(store: Store) -> None:
    insert(store, [*side("a", 300, 90), *side("b", 300, 15)])
    found = ask(store, 4, 4)
    joint = found.attainment["joint"]
    assert (joint.baseline.value, joint.candidate.value) == (pytest.approx(0.7), pytest.approx(0.95))
    assert joint.difference.value == pytest.approx(0.25)
    assert 0.15 < joint.difference.low < 0.25 < joint.difference.high < 0.35
    assert (joint.better, found.attainment["tpot"].better) == ("candidate", "neither")
    assert found.good_per_gpu_hour.candidate.value == pytest.approx(285 / 4)
    assert "candidate is better" in found.summary
    assert found.accelerators == "equal: 4 on each side"


def test_equal_sides_show_no_difference(store: Store) -> None:
    insert(store, [*side("a", 200, 20), *side("b", 200, 22)])
    found = ask(store, 4, 4)
    assert found.attainment["joint"].better == "neither"
    assert "no difference is shown" in found.summary


def test_the_same_seed_gives_the_same_answer(store: Store) -> None:
    insert(store, [*side("a", 60, 10), *side("b", 60, 12)])
    first, second, other = ask(store), ask(store), ask(store, seed=1)
    assert first.attainment == second.attainment
    assert first.attainment != other.attainment


def test_another_mix_of_prompts_is_no_merit(store: Store) -> None:
    # In each bucket the sides do equally well; b merely has more short prompts, which always meet.
    rows = [*side("a", 50, 0), *side("a", 150, 75, input_tokens=5000)]
    rows += [*side("b", 150, 0), *side("b", 50, 25, input_tokens=5000)]
    insert(store, rows)
    found = ask(store)
    joint = found.attainment["joint"]
    assert (joint.baseline.value, joint.candidate.value) == (pytest.approx(0.75), pytest.approx(0.75))
    assert joint.better == "neither"
    assert {item.bucket: item.weight for item in found.buckets} == {"0-1K": 0.5, "4-16K": 0.5}


def test_the_buckets_goodput_adds_up(store: Store) -> None:
    insert(store, [*side("a", 80, 20), *side("a", 40, 10, input_tokens=5000)])
    insert(
        store, [*side("b", 60, 6), *side("b", 60, 30, input_tokens=5000), *side("b", 9, 0, input_tokens=9**6)]
    )
    found = ask(store, 2, 2)
    parts = [item.good_per_gpu_hour for item in found.buckets]
    assert (parts[-1].better, found.buckets[-1].weight) == (None, 0)
    whole = sum(item.candidate.value for item in parts[:-1])
    assert whole == pytest.approx(found.good_per_gpu_hour.candidate.value)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from(sorted(LENGTHS)), st.booleans(), st.integers(1, 30)),
        min_size=4,
        max_size=12,
    )
)
def test_figures_are_those_of_plain_python(store: Store, groups: list[tuple[str, str, bool, int]]) -> None:
    clear(store)
    groups = [*groups, ("a", "0-1K", True, 20), ("b", "0-1K", False, 20)]
    for cohort, bucket, good, count in groups:
        insert(store, side(cohort, count, 0 if good else count, input_tokens=LENGTHS[bucket]))
    total = dict.fromkeys([(c, b) for c in "ab" for b in LENGTHS], 0)
    met = dict(total)
    for cohort, bucket, good, count in groups:
        total[cohort, bucket] += count
        met[cohort, bucket] += count * good
    common = [bucket for bucket in LENGTHS if total["a", bucket] and total["b", bucket]]
    mass = {bucket: total["a", bucket] + total["b", bucket] for bucket in common}
    shares = [sum(total[c, b] for b in common) / sum(total[c, b] for b in LENGTHS) for c in "ab"]
    if min(shares) < 0.5:
        with pytest.raises(Unlike, match="input mix"):
            ask(store)
        return
    found = ask(store)
    for cohort, interval in zip(
        "ab", (found.attainment["joint"].baseline, found.attainment["joint"].candidate), strict=True
    ):
        parts = [mass[bucket] * met[cohort, bucket] / total[cohort, bucket] for bucket in common]
        assert interval.value == pytest.approx(sum(parts) / sum(mass.values()))
        assert interval.low - 1e-9 <= interval.value <= interval.high + 1e-9
    assert [item.bucket for item in found.buckets if item.weight] == common


def test_accelerators_are_normalised_and_said_so(store: Store) -> None:
    insert(store, [*side("a", 100, 0), *side("b", 100, 0)])
    workers_say(store, {"a-p": 1, "a-d": 1, "b-p": 2, "b-d": 2})
    found = ask(store)
    assert found.accelerators.startswith("normalised: baseline has 2, candidate 4")
    assert (found.baseline.gpus.source, found.good_per_gpu_hour.better) == ("observed", "baseline")
    assert any("offered load per accelerator differs" in note for note in found.notes)


def test_unknown_accelerators_leave_goodput_unknown(store: Store) -> None:
    insert(store, [*side("a", 100, 0), *side("b", 100, 0)])
    found = ask(store)
    assert found.good_per_gpu_hour.better is None
    assert "do not say pd.gpus" in str(found.good_per_gpu_hour.reason)
    assert "is not known" in found.summary


def test_workers_that_serve_both_sides_belong_to_neither(store: Store) -> None:
    both = {"prefill_worker": "p", "decode_worker": "d"}
    insert(store, [*side("a", 100, 0, **both), *side("b", 100, 0, **both)])
    workers_say(store, {"p": 1, "d": 1})
    assert "served both sides at the same time" in str(ask(store).good_per_gpu_hour.reason)
    assert ask(store, 1, 1).good_per_gpu_hour.better == "neither"


def test_before_and_after_may_share_workers(store: Store) -> None:
    insert(store, side("a", 100, 30))
    workers_say(store, {"a-p": 1, "a-d": 1})
    middle = NOON_NS + 1800 * 10**9
    scopes = Scope(NOON_NS, middle), Scope(middle, HOUR.to_ns)
    found = compare(store, scopes, ONE_SECOND)
    assert found.good_per_gpu_hour.better == "neither"
    assert found.baseline.gpu_hours.value == 1.0


Rows = Callable[[], list[dict[str, Any]]]


@pytest.mark.parametrize(
    ("rows", "says", "gpus", "what", "words"),
    [
        (lambda: [*side("a", 30, 0), *side("b", 19, 0)], {}, (), "requests", "candidate has 19 evaluated"),
        (
            lambda: [*side("a", 30, 0), *side("b", 30, 0, model="qwen")],
            {},
            (),
            "models",
            "baseline 'llama', candidate 'qwen'; give model=",
        ),
        (
            lambda: [*side("a", 30, 0), *side("b", 30, 0, ttft_source="client")],
            {},
            (),
            "TTFT source",
            "baseline 'router_first_token', candidate 'client'",
        ),
        (
            lambda: [*side("a", 30, 0), *side("b", 30, 0, input_tokens=5000)],
            {},
            (),
            "input mix",
            "0-1K 100% on baseline, 4-16K 100% on candidate",
        ),
        (
            lambda: [*side("a", 30, 0), *side("b", 30, 0)],
            {},
            (2, 4),
            "accelerators",
            "baseline 2, candidate 4; accelerators=normalise",
        ),
        (
            lambda: [*side("a", 30, 0), *side("b", 30, 0)],
            {},
            (2,),
            "accelerators",
            "of candidate are not known",
        ),
    ],
)
def test_unlike_sides_are_refused_by_name(
    store: Store, rows: Rows, says: dict[str, int], gpus: tuple[float, ...], what: str, words: str
) -> None:
    insert(store, rows())
    with pytest.raises(Unlike) as refused:
        ask(store, *gpus, equal_accelerators=bool(gpus))
    assert refused.value.what == what
    assert words in str(refused.value)


@pytest.mark.parametrize("name", ["model_revision", "tokenizer"])
def test_another_revision_is_another_model(store: Store, name: str) -> None:
    insert(store, [*side("a", 30, 0), *side("b", 30, 0)])
    columns = ["resource_id", "service", "instance", "pool", "attrs"]
    said = [[n, "vllm", f"{c}-p", "", {f"pd.compat.{name}": c}] for n, c in enumerate("ab")]
    store.insert("resources", said, columns)
    with pytest.raises(Unlike, match=name.replace("_", " ")):
        ask(store)


def conversations(cohort: str, late_turns_miss: int) -> list[dict[str, Any]]:
    """80 conversations of three turns; the first `late_turns_miss` miss on every turn after the first."""
    rows = []
    for number in range(80):
        for turn in range(3):
            late = turn > 0 and number < late_turns_miss
            rows.append(
                a_request(
                    number * 40 + turn * 10,
                    cohort=cohort,
                    conversation_id=f"{cohort}-{number}",
                    ttft=2.0 if late else 0.5,
                    cached_tokens=400 if turn else 0,
                    local_prompt_tokens=50 if turn else None,
                    local_prompt_reason="append" if number % 2 else "recompute",
                )
            )
    return rows


def test_a_design_that_hurts_later_turns_is_told(store: Store) -> None:
    insert(store, [*conversations("a", 0), *conversations("b", 40)])
    found = ask(store)
    first, later = found.turns
    assert (first.requests, later.requests) == ((80, 80), (160, 160))
    assert (first.attainment.better, later.attainment.better) == ("neither", "baseline")
    assert later.cached_fraction == (0.5, 0.5)
    assert (later.appended, later.recomputed) == ((80, 80), (80, 80))
    assert found.notes[0].startswith("candidate suits one-shot prompts and hurts later turns")


def test_years_between_requests_do_no_harm(store: Store) -> None:
    years = 5 * 365 * 86400
    old = [a_request(-years + number, cohort="a", ttft=2.0) for number in range(50)]
    insert(store, [*old, *side("a", 50, 0), *side("b", 100, 0)])
    ever = Scope(0, HOUR.to_ns)
    found = compare(store, (replace(ever, cohort="a"), replace(ever, cohort="b")), ONE_SECOND)
    joint = found.attainment["joint"].baseline
    assert (joint.value, found.baseline.evaluated.sum()) == (0.5, 100)
    assert found.baseline.counts[0].sum() > 0 < found.baseline.counts[-1].sum()


def test_turns_alike_are_not_remarked_on(store: Store) -> None:
    insert(store, [*conversations("a", 8), *conversations("b", 8)])
    assert not any("later turns" in note for note in ask(store).notes)


def test_a_conversation_begun_before_the_window_is_on_a_later_turn(store: Store) -> None:
    insert(store, [*conversations("a", 0), *conversations("b", 0)])
    middle = replace(HOUR, from_ns=NOON_NS + 5 * 10**9)
    found = compare(store, (replace(middle, cohort="a"), replace(middle, cohort="b")), ONE_SECOND)
    assert [item.requests for item in found.turns] == [(79, 79), (160, 160)]
