"""Objectives for OpenSLO, Sloth and Pyrra, and from OpenSLO."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.slo.objectives import DEFAULT, INPUT_BUCKETS, Objective, Objectives, Selector, load_objectives
from collector.errors import ConfigError
from dashboards.exchange.indicator import unique_names
from dashboards.exchange.openslo import openslo
from dashboards.exchange.openslo_import import Imported, check_not_empty, import_openslo
from dashboards.exchange.pyrra import pyrra
from dashboards.exchange.slo_yaml import slo_yaml
from dashboards.exchange.sloth import sloth, unfit_for_sloth

RFC1123 = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
TEXT = st.text(
    st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=("Cs", "Cc")),
    min_size=1,
    max_size=40,
)
SECONDS = st.floats(1e-6, 86_399, allow_nan=False)
OBJECTIVES = st.builds(
    Objective,
    TEXT,
    SECONDS,
    SECONDS,
    st.floats(0.001, 0.99999),
    st.integers(1, 366),
    st.builds(
        Selector,
        st.just("") | TEXT,
        st.just("") | TEXT,
        st.just("") | TEXT,
        st.sampled_from(["", *INPUT_BUCKETS]),
    ),
)
TWO = Objectives(
    (
        Objective("Chat, short", 0.8, 0.03, 0.999, 30, Selector(model="Llama 70B", input_bucket="0-1K")),
        Objective("chat short", 1.5, 0.04, 0.9, 7),
        DEFAULT,
    )
)


def imported(tmp_path: Path, text: str, **given_: Any) -> Imported:
    (tmp_path / "in.yaml").write_text(text, "utf-8")
    return import_openslo([tmp_path / "in.yaml"], **given_)


@settings(deadline=None)
@given(items=st.lists(OBJECTIVES, min_size=1, max_size=4, unique_by=lambda item: item.name))
def test_what_is_exported_comes_back_as_it_was(tmp_path_factory, items: list[Objective]) -> None:
    folder = tmp_path_factory.mktemp("exchange")
    found = imported(folder, openslo(Objectives(tuple(items))))
    assert found.objectives == items
    (folder / "slo.yaml").write_text(slo_yaml(items), "utf-8")
    assert list(load_objectives(folder / "slo.yaml").items[: len(items)]) == items


def test_an_export_has_the_shape_of_the_specification() -> None:
    documents = list(yaml.safe_load_all(openslo(TWO)))
    assert [(item["kind"], item["metadata"]["name"]) for item in documents] == [
        ("Service", "llama-70b"),
        ("Service", "llm-serving"),
        ("SLO", "chat-short"),
        ("SLO", "chat-short-2"),
    ]
    assert {item["apiVersion"] for item in documents} == {"openslo/v1"}
    spec = documents[2]["spec"]
    assert (spec["service"], spec["budgetingMethod"]) == ("llama-70b", "Occurrences")
    assert spec["timeWindow"] == [{"duration": "30d", "isRolling": True}]
    assert spec["objectives"] == [{"displayName": "TTFT and TPOT", "target": 0.999}]
    ratio = spec["indicator"]["spec"]["ratioMetric"]
    assert ratio["counter"] is True
    assert ratio["good"]["metricSource"] == {
        "type": "Prometheus",
        "spec": {"query": 'sum(pdscope_slo_requests_total{slo="Chat, short", result="met"})'},
    }
    assert set(map(type, documents[2]["metadata"]["annotations"].values())) == {str}


@settings(deadline=None)
@given(st.lists(st.text(max_size=80), max_size=8))
def test_names_are_dns_labels_and_differ(texts: list[str]) -> None:
    names = unique_names(texts)
    assert all(RFC1123.fullmatch(name) for name in names)
    assert len(set(names)) == len(texts)


def test_the_default_is_exported_when_nothing_is_configured() -> None:
    assert [item["metadata"]["name"] for item in yaml.safe_load_all(openslo(Objectives()))] == [
        "llm-serving",
        "default",
    ]


def test_sloth_gets_errors_over_all_and_per_cent() -> None:
    found = yaml.safe_load(sloth(TWO))
    first, second = found["slos"]
    assert (found["version"], first["objective"], second["objective"]) == ("prometheus/v1", 99.9, 90)
    counter = 'pdscope_slo_requests_total{slo="Chat, short", result'
    assert first["sli"]["events"] == {
        "error_query": f'sum(rate({counter}="missed"}}[{{{{.window}}}}]))',
        "total_query": f'sum(rate({counter}=~"met|missed"}}[{{{{.window}}}}]))',
    }
    assert [note.partition(":")[0] for note in unfit_for_sloth(TWO)] == ["chat short"]


def test_pyrra_gets_a_document_each() -> None:
    first, second = yaml.safe_load_all(pyrra(TWO))
    assert (first["spec"]["target"], second["spec"]["target"]) == ("99.9", "90")
    assert second["spec"]["window"] == "7d"
    assert second["spec"]["indicator"]["ratio"] == {
        "errors": {"metric": 'pdscope_slo_requests_total{slo="chat short", result="missed"}'},
        "total": {"metric": 'pdscope_slo_requests_total{slo="chat short", result=~"met|missed"}'},
    }


def threshold(name: str, metric: str, **given_: Any) -> dict[str, Any]:
    """An SLO of another tool that limits a quantile."""
    objective = {"op": "lte", "value": 1.5, "target": 0.99} | given_.pop("objective", {})
    spec: dict[str, Any] = {
        "service": "chat",
        "indicator": {
            "metadata": {"name": "sli"},
            "spec": {"thresholdMetric": {"metricSource": {"type": "Prometheus", "spec": {"query": metric}}}},
        },
        "budgetingMethod": "Occurrences",
        "timeWindow": [{"duration": "4w", "isRolling": True}],
        "objectives": [objective],
    }
    return {"apiVersion": "openslo/v1", "kind": "SLO", "metadata": {"name": name}, "spec": spec | given_}


TTFT = 'histogram_quantile(0.99, rate(vllm:time_to_first_token_seconds_bucket{model_name="llama"}[5m]))'
TPOT = 'histogram_quantile(0.99, rate(vllm:time_per_output_token_seconds_bucket{model_name="llama"}[5m]))'


def test_two_limits_of_a_service_become_one_objective(tmp_path: Path) -> None:
    pair = [threshold("a", TTFT), threshold("b", TPOT, objective={"value": 0.05})]
    found = imported(tmp_path, yaml.safe_dump_all(pair))
    assert found.objectives == [Objective("chat", 1.5, 0.05, 0.99, 28, Selector(model="llama"))]
    assert found.notes == ["a and b become one objective: a request must keep both limits to meet it"]


def test_limits_with_other_targets_stay_apart(tmp_path: Path) -> None:
    pair = [threshold("a", TTFT), threshold("b", TPOT, objective={"value": 0.05, "target": 0.9})]
    found = imported(tmp_path, yaml.safe_dump_all(pair), ttft=9.0, tpot=0.2)
    assert [(item.name, item.ttft, item.tpot, item.target) for item in found.objectives] == [
        ("a", 1.5, 0.2, 0.99),
        ("b", 9.0, 0.05, 0.9),
    ]


def test_a_limit_can_be_a_bucket_of_an_indicator_elsewhere(tmp_path: Path) -> None:
    query = 'sum(dynamo_frontend_time_to_first_token_ms_bucket{le="500"})'
    good = {"metricSource": {"spec": {"query": query}}}
    ratio = {"counter": True, "good": good, "total": good}
    sli = {
        "apiVersion": "openslo/v1",
        "kind": "SLI",
        "metadata": {"name": "quick"},
        "spec": {"ratioMetric": ratio},
    }
    slo = threshold("a", "")
    del slo["spec"]["indicator"]
    slo["spec"] |= {"indicatorRef": "quick", "objectives": [{"targetPercent": 99.5}]}
    (item,) = imported(tmp_path, yaml.safe_dump_all([slo, sli]), tpot=0.1).objectives
    assert (item.ttft, item.tpot, item.target) == (0.5, 0.1, 0.995)


@pytest.mark.parametrize(
    ("given_", "why"),
    [
        ({"budgetingMethod": "Timeslices"}, "pdscope counts requests"),
        ({"objectives": []}, "no objectives"),
        ({"objective": {"target": 1}}, "no fraction"),
        ({"objective": {"op": "gte"}}, "limited from above"),
        ({"objective": {"value": "fast"}}, "'fast' is no number"),
        ({"objective": {"value": 0}}, "not above 0"),
        ({"objective": {"value": 10**400}}, "is no number"),
        ({"objective": {"target": None, "targetPercent": 10**400}}, "no fraction"),
        ({"objective": {"target": None, "targetPercent": True}}, "no fraction"),
        ({"indicator": None, "indicatorRef": ["a"]}, "is not among"),
        ({"timeWindow": [{"duration": "30 days", "isRolling": True}]}, "no OpenSLO duration"),
        ({"timeWindow": [{"duration": "36h", "isRolling": True}]}, "whole days"),
        ({"timeWindow": [{"duration": "2Y", "isRolling": True}]}, "366"),
        ({"objectives": [{"target": 0.9, "indicatorRef": "x"}]}, "composite"),
        ({"indicator": None, "indicatorRef": "nowhere"}, "'nowhere' is not among"),
        ({"indicator": {"spec": {}}}, "no query"),
    ],
)
def test_what_does_not_fit_is_left_out_and_said(tmp_path: Path, given_: dict[str, Any], why: str) -> None:
    found = imported(tmp_path, yaml.safe_dump(threshold("odd", TTFT, **given_)), tpot=0.1)
    assert found.objectives == []
    assert why in found.notes[0]
    with pytest.raises(ConfigError, match="no objective could be made"):
        check_not_empty(found)


def with_matchers(matchers: str) -> str:
    return f"histogram_quantile(0.99, rate(vllm:time_to_first_token_seconds_bucket{{{matchers}}}[5m]))"


@pytest.mark.parametrize(
    ("matchers", "selector"),
    [
        ('model_name="llama", tenant="acme"', Selector(model="llama", tenant="acme")),
        ('http_route="/v1/chat", input_bucket="0-1K"', Selector(route="/v1/chat", input_bucket="0-1K")),
        ('gen_ai.request.model=~"llama-3.1"', Selector(model="llama-3.1")),
        (r'model="say \"hi\"{}"', Selector(model='say "hi"{}')),
        ("", Selector()),
    ],
)
def test_label_matchers_become_the_selector(tmp_path: Path, matchers: str, selector: Selector) -> None:
    found = imported(tmp_path, yaml.safe_dump(threshold("a", with_matchers(matchers), value=1.5)), tpot=0.05)
    assert [item.selector for item in found.objectives] == [selector]
    assert not [note for note in found.notes if "without" in note]


def test_matchers_of_where_series_come_from_are_left_off_and_said(tmp_path: Path) -> None:
    query = with_matchers('job="vllm", model_name="llama", namespace!="test"')
    found = imported(tmp_path, yaml.safe_dump(threshold("a", query, value=1.5)), tpot=0.05)
    assert [item.selector for item in found.objectives] == [Selector(model="llama")]
    assert [note for note in found.notes if 'is read without job="vllm", namespace!="test"' in note]


@pytest.mark.parametrize(
    ("matchers", "why"),
    [
        ('customer="x"', 'customer="x": an objective tells requests apart by model, route'),
        ('model_name!="llama"', "one model, or for all"),
        ('model_name=~"llama.*"', "one model, or for all"),
        ('tenant=~"a|b"', "one tenant, or for all"),
        ('tenant=""', "one tenant, or for all"),
        ('model="a", model_name="b"', "names another model, 'a', as well"),
        ('input_bucket="0-2K"', "is not one of 0-1K"),
    ],
)
def test_matchers_no_objective_can_say_leave_the_slo_out(tmp_path: Path, matchers: str, why: str) -> None:
    found = imported(tmp_path, yaml.safe_dump(threshold("a", with_matchers(matchers), value=1.5)), tpot=0.05)
    assert found.objectives == []
    assert [note for note in found.notes if "is left out" in note and why in note], found.notes


def test_limits_for_different_tenants_stay_apart(tmp_path: Path) -> None:
    documents = [
        threshold(f"{tenant}-ttft", with_matchers(f'tenant="{tenant}"'), value=1.5) for tenant in ("a", "b")
    ]
    found = imported(tmp_path, yaml.safe_dump_all(documents), tpot=0.05)
    assert [item.selector.tenant for item in found.objectives] == ["a", "b"]


def test_an_availability_target_is_no_latency(tmp_path: Path) -> None:
    found = imported(tmp_path, yaml.safe_dump(threshold("up", "avg(up)")))
    assert "names no TTFT or TPOT" in found.notes[0]


@pytest.mark.parametrize(
    ("window", "days", "note"),
    [
        ([{"duration": "48h", "isRolling": True}], 2, None),
        ([{"duration": "1M", "isRolling": True}], 30, "read as 30 days"),
        ([{"duration": "1w", "isRolling": False, "calendar": {}}], 7, "read as a rolling one"),
        (None, 30, "no timeWindow"),
    ],
)
def test_periods_are_days(tmp_path: Path, window: Any, days: int, note: str | None) -> None:
    found = imported(tmp_path, yaml.safe_dump(threshold("a", TTFT, timeWindow=window)), tpot=0.1)
    assert found.objectives[0].period_days == days
    assert [text for text in found.notes if note and note in text] == found.notes


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "holds no document"),
        ("a: [", "not valid YAML"),
        ("- 1", "no `kind`"),
        ("kind: SLO", "apiVersion None"),
        (
            "apiVersion: openslo/v1alpha\nkind: SLO\nmetadata: {name: a}",
            "'openslo/v1alpha' is not 'openslo/v1'",
        ),
        ("apiVersion: openslo/v1\nkind: SLO", "metadata.name is missing"),
        ('apiVersion: openslo/v1\nkind: SLO\nmetadata: {name: "a\\0"}', "metadata.name is missing"),
        ("x" * 2_000_000, "larger than"),
        ("[" * 5000, "not valid YAML"),
    ],
)
def test_a_file_that_is_none_is_refused_by_place(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(why)) as refused:
        imported(tmp_path, text)
    assert "in.yaml" in str(refused.value)
