"""The gate on a real store: deployments are played into it, the command is run as CI would run it."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from analyzer.gate.checklist import LINES
from tests.gate.deployments import BASELINE, CANDIDATE, DELAYED, LEAKING, receipt, tell
from tests.integration.running import Server, pdscope, serving

COHORTS = {"colocated": BASELINE, "disaggregated": CANDIDATE, "delayed": DELAYED, "leaking": LEAKING}


@dataclass(frozen=True)
class Played:
    """A server that was told of COHORTS, and a planning receipt of the candidate's layout."""

    server: Server
    plan: Path

    def gate(self, candidate: str, *options: str | Path) -> tuple[int, dict[str, Any]]:
        """Run the command; its exit code and its answer."""
        cohorts = ("--baseline", "colocated", "--candidate", candidate)
        ran = pdscope("gate", *cohorts, "--api", self.server.api, "--json", *options)
        assert ran.stdout, ran.stderr
        return ran.returncode, json.loads(ran.stdout)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    directory = tmp_path_factory.mktemp("gate")
    made, matrix = receipt()
    (directory / "plan.json").write_text(json.dumps(made))
    (directory / "plan.csv").write_text(matrix)
    with serving(directory / "data") as server:
        for cohort, setup in COHORTS.items():
            tell(server, setup, cohort)
        server.settle()
        yield Played(server, directory / "plan.json")


def waiving(lines: list[str]) -> list[str]:
    return [word for line in lines for word in ("--waive", line)]


def not_shown(answer: dict[str, Any]) -> list[str]:
    return [check["line"] for check in answer["checklist"] if check["status"] == "not_shown"]


pytestmark = pytest.mark.timeout(600)


def test_what_no_data_shows_is_not_assumed(played: Played) -> None:
    code, answer = played.gate("disaggregated", "--receipt", played.plan, "--tolerance", "0.5")

    assert (code, answer["verdict"]) == (3, "cannot_say")
    assert answer["refused"] == []
    assert [check["line"] for check in answer["checklist"]] == list(LINES)
    assert {"chunked_prefill_tried", "restarts", "ratio_sweep", "multi_turn"} <= set(not_shown(answer))
    told = {check["line"]: check["status"] for check in answer["checklist"]}
    for line in ("interference", "pinned_and_equal", "kv_measured", "equal_hardware", "pools_sized"):
        assert told[line] == "shown", answer["checklist"]
    for line in ("deadlines_carried", "identity_carried", "released_after_success", "orphans_bounded"):
        assert told[line] == "shown"


def test_a_candidate_that_keeps_its_promises_passes_once_the_rest_is_waived(played: Played) -> None:
    options = ("--receipt", played.plan, "--tolerance", "0.5")
    _, asked = played.gate("disaggregated", *options)

    code, answer = played.gate("disaggregated", *options, *waiving(not_shown(asked)))

    assert (code, answer["verdict"]) == (0, "pass"), answer["refused"] + answer["unsaid"]
    assert answer["plan"]["layout"] == "2P+2D"
    assert answer["plan"]["status"] == "verified"
    assert {line["kept"] for line in answer["promises"] if not line["prompts"]} == {"kept"}
    assert "itl_p99" in {line["name"] for line in answer["promises"]}
    by_prompt = [line for line in answer["promises"] if line["prompts"]]
    assert {line["prompts"] for line in by_prompt} == {"0-1K", "1-4K", "4-16K"}
    assert {line["kept"] for line in by_prompt} <= {"kept", "not_shown"}
    told = [line for line in by_prompt if line["measured"]["low"] is not None]
    assert {line["name"] for line in told} >= {"attainment", "ttft_p50", "ttft_p95", "tpot_p50"}
    assert "waived" in {check["status"] for check in answer["checklist"]}


def test_a_transfer_delayed_beyond_its_budget_is_refused(played: Played) -> None:
    options = ("--receipt", played.plan, "--tolerance", "0.5")
    _, asked = played.gate("delayed", *options)

    code, answer = played.gate("delayed", *options, *waiving(not_shown(asked)))

    assert (code, answer["verdict"]) == (1, "refuse")
    broken = {x["name"]: x for x in answer["promises"] if x["kept"] == "broken" and not x["prompts"]}
    assert {"transfer_time_over_budget_p50", "effective_bandwidth_p50"} <= broken.keys()
    assert broken["transfer_time_over_budget_p50"]["measured"]["low"] > 10
    assert any(reason.startswith("transfer_time_over_budget_p50") for reason in answer["refused"])


def test_a_budget_given_by_hand_refuses_without_a_receipt(played: Played) -> None:
    code, slow = played.gate("delayed", "--transfer-budget-ms", "100", "--ttft", "30", "--tpot", "1")
    _, fast = played.gate("disaggregated", "--transfer-budget-ms", "100", "--ttft", "30", "--tpot", "1")

    assert (code, slow["verdict"]) == (1, "refuse")
    assert [line["kept"] for line in slow["promises"]] == ["broken"]
    assert slow["promises"][0]["promised_label"] == "supplied"
    assert [line["kept"] for line in fast["promises"]] == ["kept"]


def test_what_the_data_contradicts_is_refused(played: Played) -> None:
    code, answer = played.gate("leaking", "--receipt", played.plan)

    told = {check["line"]: check for check in answer["checklist"]}
    assert (code, answer["verdict"]) == (1, "refuse")
    for line in ("released_after_cancel", "orphans_bounded", "equal_hardware"):
        assert told[line]["status"] == "failed", told[line]
    assert told["released_after_cancel"]["facts"]["still_held"] > 0
    assert told["released_after_success"]["status"] == "shown"
    assert told["equal_hardware"]["facts"] == {"baseline_gpus": 4, "candidate_gpus": 5}


def test_a_line_the_data_contradicts_cannot_be_waived(played: Played) -> None:
    _, answer = played.gate("leaking", "--waive", "equal_hardware")

    told = {check["line"]: check["status"] for check in answer["checklist"]}
    assert told["equal_hardware"] == "failed"


def test_a_layout_the_receipt_says_nothing_of_is_no_promise_kept(played: Played) -> None:
    _, answer = played.gate("leaking", "--receipt", played.plan)

    assert answer["promises"] == []
    assert answer["plan"]["scenario"] is None
    assert any("ran as 3P+2D, of which the receipt says nothing" in reason for reason in answer["unsaid"])


def test_every_slice_has_both_sides_with_intervals(played: Played) -> None:
    _, answer = played.gate("delayed")

    slices = {(part["by"], part["key"]): part for part in answer["slices"]}
    assert {by for by, _ in slices} == {"all", "input_bucket", "tenant", "model"}
    everyone = {figure["name"]: figure for figure in slices["all", "all"]["figures"]}
    assert everyone["ttft_p50"]["better"] == "baseline"
    for figure in everyone.values():
        for side in ("baseline", "candidate"):
            assert figure[side]["low"] <= figure[side]["value"] <= figure[side]["high"]
    few = {figure["name"]: figure for figure in slices["input_bucket", "4-16K"]["figures"]}
    assert few["ttft_p99"]["candidate"]["value"] is None
    assert "p99 needs 200" in few["ttft_p99"]["reason"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda r: r["kv"].update(transfer_overhead_s=5.0), "the receipt is rejected"),
        (lambda r: r.update(label="measured"), "a planned figure is modelled"),
        (lambda r: r["scenarios"][0]["result"].update(ttft50_s=9.0), "the receipt is rejected"),
    ],
)
def test_a_receipt_that_does_not_verify_is_refused(
    played: Played, tmp_path: Path, change: Callable[[dict[str, Any]], None], reason: str
) -> None:
    made = json.loads(played.plan.read_text())
    change(made)
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(made))

    code, answer = played.gate("disaggregated", "--receipt", path)

    assert code == 1
    assert answer["plan"]["status"] == "rejected"
    assert any(reason in line for line in answer["refused"])
    assert answer["promises"] == []


def test_a_cohort_that_was_tried_too_is_measured(played: Played) -> None:
    _, answer = played.gate("disaggregated", "--tried", "routing:delayed", "--tried", "chunked-prefill:none")

    told = {check["line"]: check for check in answer["checklist"]}
    assert told["routing_tried"]["status"] == "shown"
    assert told["routing_tried"]["facts"]["met_delayed"] < 1
    assert told["chunked_prefill_tried"]["status"] == "not_shown"


def test_a_cohort_nobody_ran_cannot_be_judged(played: Played) -> None:
    code, answer = played.gate("no-such-cohort")

    assert answer["refused"] == []
    assert (code, answer["verdict"]) == (3, "cannot_say")
    assert "no-such-cohort has 0 evaluated requests; 20 are needed" in answer["unsaid"]
    assert answer["candidate"]["layout"] is None


def test_tables_and_markdown_say_the_same_word(played: Played, tmp_path: Path) -> None:
    page = tmp_path / "gate.md"
    cohorts = ("--baseline", "colocated", "--candidate", "delayed", "--api", played.server.api)

    shown = pdscope("gate", *cohorts, "--receipt", played.plan, "--markdown", page)

    assert shown.returncode == 1
    assert shown.stdout.startswith("REFUSE")
    text = page.read_text()
    assert text.startswith("# Rollout gate: REFUSE")
    assert "| transfer\\_time" in text or "transfer_time_over_budget_p50 (ratio) |" in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len({row.count(" | ") for row in rows}) <= 4


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"baseline": "a", "candidate": "a"}, "candidate"),
        ({"baseline": "a"}, "candidate"),
        ({"baseline": "a\0", "candidate": "b"}, "baseline"),
        ({"baseline": "a", "candidate": "b", "cohort": "a"}, "cohort"),
        ({"baseline": "a", "candidate": "b", "waive": "nothing"}, "waive"),
        ({"baseline": "a", "candidate": "b", "tried": "luck:c"}, "tried"),
        ({"baseline": "a", "candidate": "b", "tolerance": "-1"}, "tolerance"),
        ({"baseline": "a", "candidate": "b", "baseline_from": "0"}, "baseline_from"),
        ({"baseline": "a", "candidate": "b", "baseline_from": "9", "baseline_to": "1"}, "baseline_from"),
    ],
)
def test_bad_questions_name_their_field(played: Played, params: dict[str, str], field: str) -> None:
    answer = httpx.post(f"{played.server.api}/api/v1/gate", params=params, timeout=60)

    assert answer.status_code == 400
    assert answer.json()["error"]["field"] == field


def test_objectives_come_from_the_receipt_alone(played: Played) -> None:
    body = {"receipt": json.loads(played.plan.read_text())}
    params = {"baseline": "colocated", "candidate": "disaggregated", "ttft": "1"}

    answer = httpx.post(f"{played.server.api}/api/v1/gate", params=params, json=body, timeout=120)

    assert answer.status_code == 400
    assert "the receipt's contract sets the objectives" in answer.json()["error"]["message"]


def test_a_benchmark_that_is_none_is_refused_by_name(played: Played) -> None:
    params = {"baseline": "colocated", "candidate": "disaggregated"}

    answer = httpx.post(
        f"{played.server.api}/api/v1/gate",
        params=params,
        json={"benchmarks": {"b.json": {"a": 1}}},
        timeout=60,
    )

    assert answer.status_code == 422
    assert "b.json" in answer.json()["error"]["message"]


def test_a_file_that_cannot_be_read_is_one_line(played: Played, tmp_path: Path) -> None:
    cohorts = ("--baseline", "colocated", "--candidate", "delayed", "--api", played.server.api)
    broken = tmp_path / "broken.json"
    broken.write_text("[")

    for path, words in ((tmp_path / "none.json", "cannot be read"), (broken, "is not JSON")):
        ran = pdscope("gate", *cohorts, "--receipt", path)
        assert ran.returncode == 2
        assert words in ran.stderr
        assert ran.stderr.count("\n") == 1


def test_what_is_still_under_way_is_not_settled(played: Played) -> None:
    _, before = played.gate("disaggregated")
    assert before["settled"] is True
    export = ExportTraceServiceRequest()
    span = export.resource_spans.add().scope_spans.add().spans.add()
    span.trace_id, span.span_id, span.parent_span_id = b"a leg of somehow", b"the-leg-", b"its-root"
    span.name = "pd.prefill_queue"
    span.end_time_unix_nano = time.time_ns()
    span.start_time_unix_nano = span.end_time_unix_nano - 10**9
    header = {"Content-Type": "application/x-protobuf"}
    sent = httpx.post(
        f"{played.server.otlp_http}/v1/traces", content=export.SerializeToString(), headers=header
    )
    assert sent.status_code == 200
    _, after = played.gate("disaggregated")
    assert after["settled"] is False
