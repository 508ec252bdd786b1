"""Topology receipts: written, verified by other code, and rejected when anything is changed."""

import copy
import csv
import hashlib
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from analyzer.plan.deployment import Deployment
from analyzer.plan.errors import BadPlan
from analyzer.plan.evaluate import Contract, grid
from analyzer.plan.findings import Findings
from analyzer.plan.formula import evaluate_formula
from analyzer.plan.outcome import Objective, Window
from analyzer.plan.provenance import Input, Label
from analyzer.plan.receipt import Source, build_receipt, digest, schema_text
from analyzer.plan.sweep import sweep
from analyzer.plan.verify import verify
from analyzer.plan.workload import Synthetic

Made = tuple[dict[str, Any], str]
# slow steps: fewer of them to simulate again, one by one, in every test
SLOW = Deployment(transfer_overhead_s=0.002, step_overhead_s=0.03)
CONTRACT = Contract(Objective(2.0, 0.06), window=Window(30, 210))


def make(facts: Deployment, rates: tuple[float, ...] = (4, 12)) -> Made:
    specs = [Synthetic(rate, until_s=240) for rate in rates]
    workloads = [(spec.draw(), Source.synthetic(spec)) for spec in specs]
    settings = facts.settings()
    found = sweep([w for w, _ in workloads], grid(4, (512,)), settings, CONTRACT, processes=1)
    return build_receipt(
        found, workloads, settings, CONTRACT, facts.inputs("a test"), "2026-11-29T00:00:00+00:00"
    )


@pytest.fixture(scope="module")
def made() -> Made:
    return make(SLOW)


def changed(made: Made, change: Callable[[dict[str, Any]], None], matrix: str | None = None) -> Findings:
    """Verify a receipt after a change by someone who can seal it again."""
    receipt = copy.deepcopy(made[0])
    change(receipt)
    receipt["digest"] = digest(receipt)
    return verify(json.dumps(receipt), made[1] if matrix is None else matrix)


def scenario(receipt: dict[str, Any], layout: str) -> dict[str, Any]:
    """The second workload's scenario of a layout."""
    return [s for s in receipt["scenarios"] if s["layout"]["name"] == layout][1]  # type: ignore[no-any-return]


def assert_rejected(findings: Findings, reason: str) -> None:
    assert findings.status == "rejected"
    assert any(reason in problem for problem in findings.problems), findings.problems


def test_a_receipt_as_written_is_verified_in_full(made: Made) -> None:
    findings = verify(json.dumps(made[0]), made[1])

    assert findings.problems == []
    assert findings.status == "verified"
    assert "headline" in findings.checked


def test_the_published_schema_is_the_one_that_is_enforced() -> None:
    path = Path(__file__).resolve().parents[2] / "analyzer" / "plan" / "receipt_schema.json"

    assert path.read_text(encoding="utf-8") == schema_text()


def test_everything_promised_is_labelled_modelled_and_inputs_say_where_from(made: Made) -> None:
    receipt = made[0]

    assert receipt["label"] == receipt["headline"]["label"] == "modelled"
    assert {s["result"]["label"] for s in receipt["scenarios"]} == {"modelled"}
    assert {i["label"] for i in receipt["inputs"].values()} == {"supplied", "derived"}


def test_any_change_breaks_the_seal(made: Made) -> None:
    receipt = copy.deepcopy(made[0])
    receipt["written_at"] = "2020-01-01T00:00:00+00:00"

    assert_rejected(verify(json.dumps(receipt), made[1]), "digest: the content is not what was sealed")


def test_removed_transfer_overhead_is_found(made: Made) -> None:
    def change(receipt: dict[str, Any]) -> None:
        receipt["kv"]["transfer_overhead_s"] = 0.0

    assert_rejected(changed(made, change), "transfer overhead was removed")


def test_transfer_overhead_removed_everywhere_still_disagrees_with_the_figures(made: Made) -> None:
    def change(receipt: dict[str, Any]) -> None:
        receipt["kv"]["transfer_overhead_s"] = 0.0
        receipt["inputs"]["transfer_overhead_s"]["value"] = 0.0

    assert_rejected(changed(made, change), "ttft50_s: the receipt says")


def test_a_missing_overhead_input_is_found(made: Made) -> None:
    def change(receipt: dict[str, Any]) -> None:
        del receipt["inputs"]["transfer_overhead_s"]

    assert_rejected(changed(made, change), "inputs: transfer_overhead_s missing")


def test_merged_queues_are_found(made: Made) -> None:
    def change(receipt: dict[str, Any]) -> None:
        s = scenario(receipt, "2P+2D")
        kept = [queue for queue in s["queues"] if queue["name"] == "prefill"]
        s["queues"] = [{**queue, "name": "colocated"} for queue in kept]

    assert_rejected(changed(made, change), "merged queues hide overloads")


def test_the_peak_in_place_of_the_effective_bandwidth_is_found(made: Made) -> None:
    def change(receipt: dict[str, Any]) -> None:
        receipt["kv"]["effective_bytes_per_s"] = receipt["kv"]["peak_bytes_per_s"]
        receipt["kv"]["transfer_s_per_token"] *= 0.8
        receipt["kv"]["transfer_to_recompute"] *= 0.8

    assert_rejected(changed(made, change), "the peak stands where the effective bandwidth belongs")


def test_an_ignored_overload_is_found(made: Made) -> None:
    def change(receipt: dict[str, Any]) -> None:
        s = scenario(receipt, "1P+3D")
        s["accepted"], s["reasons"] = True, []
        receipt["rejected"] = [item for item in receipt["rejected"] if item["scenario"] != s["id"]]

    assert_rejected(changed(made, change), "an overloaded pool was ignored")


def test_an_overload_hidden_behind_a_changed_utilisation_is_found(made: Made) -> None:
    def change(receipt: dict[str, Any]) -> None:
        for queue in scenario(receipt, "1P+3D")["queues"]:
            queue["service_per_s"], queue["utilisation"] = queue["offered_per_s"] * 2, 0.5

    assert_rejected(changed(made, change), "prefill at mean demand: service_per_s: the receipt says")


@pytest.mark.parametrize("word", ["measured", "observed"])
def test_modelled_figures_called_measured_are_found(made: Made, word: str) -> None:
    def change(receipt: dict[str, Any]) -> None:
        scenario(receipt, "2P+2D")["result"]["label"] = word

    assert_rejected(changed(made, change), f"is '{word}': a planned figure is modelled")


def test_a_headline_statement_that_drops_the_word_modelled_is_found(made: Made) -> None:
    def change(receipt: dict[str, Any]) -> None:
        receipt["headline"]["statement"] = receipt["headline"]["statement"].replace(
            "(modelled)", "(measured)"
        )

    assert_rejected(changed(made, change), "headline.statement")


def test_an_input_called_observed_without_its_window_is_found(made: Made) -> None:
    def change(receipt: dict[str, Any]) -> None:
        receipt["inputs"]["nics"]["label"] = "observed"

    assert_rejected(changed(made, change), "inputs.nics.observed")


def test_a_synthetic_workload_called_observed_is_found(made: Made) -> None:
    def change(receipt: dict[str, Any]) -> None:
        receipt["workloads"][0]["label"] = "observed"

    assert_rejected(changed(made, change), "is labelled observed but its source is synthetic")


FIGURES = ["met_count", "ttft50_s", "ttft95_s", "tpot50_s", "tpot95_s", "itl99_s"]


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("layout", ["4x512", "3P+1D"])
def test_one_changed_digit_of_a_figure_is_found(made: Made, layout: str, figure: str) -> None:
    def change(receipt: dict[str, Any]) -> None:
        value = scenario(receipt, layout)["result"][figure]
        scenario(receipt, layout)["result"][figure] = value + 1 if figure == "met_count" else value * 1.0001

    assert_rejected(changed(made, change), f"{figure}: the receipt says")


@pytest.mark.parametrize("figure", ["measured", "met_count", "ttft50_s", "ttft95_s", "tpot95_s"])
def test_one_changed_digit_of_a_prompt_lengths_figure_is_found(made: Made, figure: str) -> None:
    def change(receipt: dict[str, Any]) -> None:
        part = scenario(receipt, "3P+1D")["result"]["by_prompt"][1]
        assert part["prompts"] == "1-4K"
        part[figure] = part[figure] + 1 if isinstance(part[figure], int) else part[figure] * 1.0001

    assert_rejected(changed(made, change), f"prompts 1-4K: {figure}: the receipt says")


def test_a_prompt_length_left_out_is_found(made: Made) -> None:
    def change(receipt: dict[str, Any]) -> None:
        scenario(receipt, "3P+1D")["result"]["by_prompt"].pop()

    assert_rejected(changed(made, change), "by_prompt leaves prompts out")


@pytest.mark.parametrize(
    "place",
    ["attainment", "ttft95_s", "tpot95_s", "highest_utilisation", "accelerators", "layout", "scenario"],
)
def test_a_changed_headline_is_found(made: Made, place: str) -> None:
    def change(receipt: dict[str, Any]) -> None:
        value = receipt["headline"][place]
        receipt["headline"][place] = value + "x" if isinstance(value, str) else value + 1

    assert_rejected(changed(made, change), "headline")


def test_an_input_that_no_longer_follows_from_the_hardware_is_found(made: Made) -> None:
    def change(receipt: dict[str, Any]) -> None:
        receipt["inputs"]["parameters"]["value"] *= 1.01

    assert_rejected(changed(made, change), "inputs.step_compute_s_per_token: the receipt says")


def test_another_seed_gives_other_figures(made: Made) -> None:
    def change(receipt: dict[str, Any]) -> None:
        receipt["workloads"][1]["source"]["seed"] = 8

    assert_rejected(changed(made, change), "mean_prompt: the receipt says")


def test_a_refusal_left_out_of_the_list_is_found(made: Made) -> None:
    def change(receipt: dict[str, Any]) -> None:
        receipt["rejected"].pop()

    assert_rejected(changed(made, change), "rejected: the list does not match")


def test_a_changed_matrix_is_found(made: Made) -> None:
    row = made[1].splitlines()[1]

    findings = changed(made, lambda receipt: None, made[1].replace(row, row.replace("true", "false")))

    assert_rejected(findings, "matrix: the CSV is not the one the receipt names")
    assert_rejected(findings, "matrix: s1 accepted is 'false', the receipt says true")


def resealed(
    made: Made, rewrite: Callable[[str], str], change: Callable[[dict[str, Any]], None] = lambda r: None
) -> Findings:
    """Verify after a change of the CSV by someone who names its new digest and seals the receipt again."""
    matrix = rewrite(made[1])

    def named(receipt: dict[str, Any]) -> None:
        receipt["matrix"]["sha256"] = hashlib.sha256(matrix.encode()).hexdigest()
        change(receipt)

    return changed(made, named, matrix)


@pytest.mark.parametrize("column", range(3, 12))
def test_a_changed_cell_of_a_resealed_matrix_is_found(made: Made, column: int) -> None:
    def rewrite(text: str) -> str:
        lines = text.splitlines(keepends=True)
        cells = next(csv.reader([lines[2]]))
        cells[column] = "9" + cells[column]
        row = io.StringIO()
        csv.writer(row, lineterminator="\n").writerow(cells)
        return "".join([*lines[:2], row.getvalue(), *lines[3:]])

    assert_rejected(resealed(made, rewrite), "matrix: s2 ")


def test_a_column_dropped_from_a_resealed_matrix_is_found(made: Made) -> None:
    def rewrite(text: str) -> str:
        out = io.StringIO()
        rows = [row[:-1] for row in csv.reader(io.StringIO(text))]
        csv.writer(out, lineterminator="\n").writerows(rows)
        return out.getvalue()

    assert_rejected(resealed(made, rewrite), "matrix: the header is scenario,layout")


def test_rows_dropped_from_a_resealed_matrix_are_found(made: Made) -> None:
    def rewrite(text: str) -> str:
        return "".join(text.splitlines(keepends=True)[:-1])

    assert_rejected(resealed(made, rewrite), "rows for")


@pytest.mark.parametrize("text", ["", "\n", "scenario\n", "\0", '"'])
def test_what_is_no_matrix_is_rejected(made: Made, text: str) -> None:
    assert resealed(made, lambda _: text).status == "rejected"


def test_a_matrix_that_is_not_given_leaves_the_receipt_unverified(made: Made) -> None:
    findings = verify(json.dumps(made[0]), None)

    assert findings.status == "incomplete"
    assert "the CSV matrix was not given" in findings.unchecked


def test_the_peak_bandwidth_everywhere_still_disagrees_with_the_figures(made: Made) -> None:
    def change(receipt: dict[str, Any]) -> None:
        kv = receipt["kv"]
        receipt["inputs"]["link_efficiency"]["value"] = 1.0
        kv["effective_bytes_per_s"] = kv["peak_bytes_per_s"]
        for name in ("transfer_s_per_token", "transfer_to_recompute"):
            kv[name] *= 0.8
        for item in receipt["scenarios"]:
            for queue in item["queues"]:
                if queue["name"] == "transfer":
                    queue["service_per_s"] /= 0.8
                    queue["utilisation"] *= 0.8

    findings = changed(made, change)

    assert_rejected(findings, "ttft50_s: the receipt says")
    assert not any("service_per_s" in problem for problem in findings.problems)


def test_an_overloading_workload_left_out_for_one_layout_is_found(made: Made) -> None:
    def change(receipt: dict[str, Any]) -> None:
        gone = scenario(receipt, "1P+3D")
        receipt["scenarios"] = [s for s in receipt["scenarios"] if s["layout"]["kind"] == "disaggregated"]
        receipt["scenarios"] = [s for s in receipt["scenarios"] if s["id"] != gone["id"]]
        receipt["scenarios"] = [s for s in receipt["scenarios"] if s["layout"]["name"] == "1P+3D"]
        only = receipt["scenarios"][0]
        receipt["rejected"] = []
        receipt["matrix"]["rows"] = 1
        receipt["headline"] |= {
            "layout": "1P+3D", "scenario": only["id"], "accelerators": only["layout"]["accelerators"],
        }  # fmt: skip

    assert_rejected(changed(made, change), "headline: 1P+3D was not simulated under synthetic, Poisson 12/s")


def test_a_scenario_told_twice_is_found(made: Made) -> None:
    def change(receipt: dict[str, Any]) -> None:
        receipt["scenarios"][1]["id"] = receipt["scenarios"][0]["id"]

    assert_rejected(changed(made, change), "scenarios: s1 appear more than once")


def test_a_receipt_satisfies_its_published_schema_and_a_misspelt_one_does_not(made: Made) -> None:
    schema = json.loads(schema_text())

    jsonschema_rs.validate(schema, made[0])
    with pytest.raises(jsonschema_rs.ValidationError):
        jsonschema_rs.validate(schema, {**made[0], "lable": "modelled"})


@pytest.mark.parametrize(
    "text",
    ["", "[]", "null", "{}", '{"a": 1, "a": 2}', '{"schema_version": NaN}', "[" * 5000, '{"a": "\\ud800"}'],
)
def test_what_is_no_receipt_is_rejected_with_a_reason(text: str) -> None:
    findings = verify(text, None)

    assert findings.status == "rejected"
    assert findings.problems


def test_lost_workers_that_the_receipt_does_not_name_are_said_and_not_passed_over(made: Made) -> None:
    findings = changed(made, lambda r: r["settings"].update(losses=1))

    assert findings.status == "incomplete"
    assert any("lost workers, and the receipt does not say which" in line for line in findings.unchecked)


TIED = {
    "least loaded": replace(SLOW, routing="least-loaded"),
    "KV that is never short": replace(SLOW, limit_kv=True),
    "KV that runs out": replace(SLOW, limit_kv=True, runtime_bytes=489e9),
    "leases that end": replace(SLOW, lease_s=0.00205, retries=1, retry_after_s=0.5),
}


@pytest.mark.parametrize("facts", TIED.values(), ids=TIED.keys())
def test_workers_that_influence_each_other_are_simulated_again(facts: Deployment) -> None:
    made = make(facts, rates=(4,))

    assert verify(json.dumps(made[0]), made[1]).status == "verified"


def test_leases_and_retries_that_are_hushed_up_are_found() -> None:
    made = make(TIED["leases that end"], rates=(4,))
    split = next(s for s in made[0]["scenarios"] if s["layout"]["name"] == "2P+2D")
    at = made[0]["scenarios"].index(split)

    assert split["result"]["retried"] > 0
    found = changed(made, lambda r: r["scenarios"][at]["result"].update(retried=0))
    assert_rejected(found, f"{split['id']}: retried: the receipt says 0")
    found = changed(made, lambda r: r["scenarios"][at]["result"].update(failed={}))
    assert_rejected(found, f"{split['id']}: failed lease: the receipt says 0")


def test_a_receipt_is_not_written_with_inputs_the_simulation_did_not_use() -> None:
    facts = Deployment()
    spec = Synthetic(8, until_s=240)
    inputs = [Input("nics", 4.0, "NICs", Label.SUPPLIED, "a test") if i.name == "nics" else i
              for i in facts.inputs("a test")]  # fmt: skip

    with pytest.raises(BadPlan, match=r"input nics is 4\.0, the simulation used 8"):
        build_receipt([], [(spec.draw(), Source.synthetic(spec))], facts.settings(), CONTRACT, inputs, "now")


def test_an_observed_input_needs_its_window() -> None:
    with pytest.raises(BadPlan, match="without the window"):
        Input("rate", 1.0, "1/s", Label.OBSERVED, "SELECT 1")
    with pytest.raises(BadPlan, match="labelled modelled"):
        Input("rate", 1.0, "1/s", Label.MODELLED, "simulation")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda r: r["inputs"].pop("flop_per_s"), "its formula needs 'flop_per_s'"),
        (lambda r: r["inputs"]["layers"].update(value=0.5), "inputs: layers out of range"),
        (lambda r: r["inputs"]["step_compute_s_per_token"].update(value=1e-320), "out of range"),
        (lambda r: r["inputs"]["nics"].update(unit="furlongs"), "unit is 'furlongs'"),
        (lambda r: r["workloads"][0]["buckets"].pop(), "leave prompts out"),
        (lambda r: r["scenarios"][0]["queues"][0].update(unit="bytes"), "queue in 'bytes'"),
        (lambda r: r["workloads"][0]["source"].update(until_s=50.0), "is shorter than 200 s"),
        (lambda r: r["scenarios"][0]["layout"].update(workers=10**9), "scenarios.0.layout.workers"),
    ],
)
def test_other_tampering_is_found(made: Made, change: Callable[[dict[str, Any]], None], reason: str) -> None:
    assert_rejected(changed(made, change), reason)


def test_a_kv_limit_that_does_not_follow_from_the_memory_is_found() -> None:
    limited = make(replace(SLOW, limit_kv=True), rates=(4,))

    findings = changed(limited, lambda r: r["inputs"]["runtime_bytes"].update(value=1e9))

    assert_rejected(findings, "settings.kv_tokens: the receipt says")


@pytest.mark.parametrize(
    "formula", ["__import__('os')", "a ** 9", "(" * 400, "a if a else b", "'x' * 9", "fit of steps"]
)
def test_a_formula_is_plain_arithmetic_and_nothing_else(formula: str) -> None:
    assert evaluate_formula("2 * a / b - 1", {"a": 3.0, "b": 4.0}) == 0.5
    with pytest.raises(ValueError, match="not plain arithmetic"):
        evaluate_formula(formula, {"a": 1.0, "b": 1.0})
