"""`pdscope plan` and `pdscope receipt` as a user runs them."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from analyzer.cli.plan import app, receipt_app
from tests.paths import SHARED

command = typer.Typer()
command.add_typer(app, name="plan")
command.add_typer(receipt_app, name="receipt")


def run(*args: str) -> Result:
    return CliRunner().invoke(command, list(args))


def test_simulate_shows_the_reference_figures_in_reference_mode() -> None:
    result = run("plan", "simulate", "--layout", "2P+2D", "--rate", "24", "--reference-compatible", "--json")

    (row,) = json.loads(result.stdout)
    assert result.exit_code == 0
    assert row["label"] == "modelled"
    assert f"{row['figures']['ttft95_s']:.2f} {100 * row['figures']['met']:.1f}" == "5.75 60.5"


def test_simulate_takes_a_trace_as_it_is() -> None:
    trace = SHARED / "data" / "AzureLLMInferenceTrace_code.csv"

    result = run("plan", "simulate", "--layout", "2P+2D", "--trace", str(trace), "--json")

    (row,) = json.loads(result.stdout)
    assert result.exit_code == 0
    assert row["workload"] == "trace AzureLLMInferenceTrace_code.csv, 8819 requests"


def test_tables_say_that_figures_are_modelled() -> None:
    assert run("plan", "simulate", "--layout", "4x512").stdout.startswith("Modelled.")
    assert run("plan", "size", "--layout", "4x512").stdout.startswith("Modelled from means")


def test_size_refuses_with_exit_code_1_and_names_the_queue() -> None:
    result = run("plan", "size", "--layout", "1P+3D", "--rate", "16", "--json")

    found = json.loads(result.stdout)["sizes"][0]
    assert result.exit_code == 1
    assert found["dominant"]["mean"] == "prefill"
    assert found["refused"][0].startswith("prefill at 1.31")
    assert found["moved_most_by"]["name"] == "requests_per_s"


def test_a_sweep_writes_a_receipt_that_verifies_and_a_changed_one_does_not(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"

    assert run("plan", "sweep", "--workers", "2", "--rate", "6", "--receipt", str(path)).exit_code == 0
    verified = run("receipt", "verify", str(path))
    path.write_text(path.read_text().replace('"seed": 7', '"seed": 8'))
    rejected = run("receipt", "verify", str(path))

    assert verified.exit_code == 0
    assert "verified" in verified.stdout
    assert rejected.exit_code == 1
    assert "digest" in rejected.stdout


def test_a_receipt_on_a_trace_needs_the_trace_to_be_verified(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    lines = (SHARED / "data" / "mooncake_conversation_trace.jsonl").read_text().splitlines()[:800]
    trace.write_text("\n".join(lines) + "\n")
    path = tmp_path / "plan.json"
    run("plan", "sweep", "--workers", "2", "--chunk", "512", "--trace", str(trace), "--receipt", str(path))

    trace = trace.rename(tmp_path / "elsewhere.jsonl")
    without, given = (
        run("receipt", "verify", str(path)),
        run("receipt", "verify", str(path), "--trace", str(trace)),
    )

    assert without.exit_code == 3
    assert without.stdout.count("was not given") == 1  # one line for all that rests on it
    assert given.exit_code == 0, given.stdout


def test_the_printed_deployment_can_be_passed_back(tmp_path: Path) -> None:
    path = tmp_path / "deployment.yaml"
    path.write_text(run("plan", "deployment").stdout)

    same = run("plan", "simulate", "--layout", "4x512", "--deployment", str(path), "--json")

    assert same.stdout == run("plan", "simulate", "--layout", "4x512", "--json").stdout


def test_kv_prints_bytes_and_the_ratio(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(
        '{"num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8, "hidden_size": 8192}'
    )

    found = json.loads(
        run("plan", "kv", str(path), "--tensor", "8", "--parameters", "70.6e9", "--json").stdout
    )

    assert found["bytes_per_token"] == 327_680
    assert found["bytes_per_token_fullest_rank"] == 40_960
    assert f"{100 * found['transfer_to_recompute']:.1f}" == "3.5"
    unknown = json.loads(run("plan", "kv", str(path), "--json").stdout)
    assert unknown["prefill_us_per_token"] is None
    assert "--parameters" in unknown["reason"]


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["plan", "simulate", "--rate", "-1"], "rate_per_s is -1.0"),
        (["plan", "simulate", "--rate", "nan"], "rate_per_s is nan"),
        (["plan", "simulate", "--layout", "4D"], "layout '4D'"),
        (["plan", "simulate", "--layout", "4x16"], "has no room"),
        (["plan", "simulate", "--seconds", "1e9"], "shorten until_s"),
        (["plan", "simulate", "--seconds", "20"], "at least 20 are needed"),
        (["plan", "simulate", "--ttft", "0"], "TTFT objective is 0"),
        (["plan", "simulate", "--attainment", "95"], "attainment is 95"),
        (["plan", "simulate", "--trace", "none.csv"], "none.csv: cannot be read"),
        (["plan", "simulate", "--trace", "none.csv", "--rate", "3"], "both given"),
        (["plan", "simulate", "--lose", "decode:0:5", "--layout", "4x512"], "no decode worker 0"),
        (["plan", "sweep", "--workers", "0"], "workers is 0"),
        (["plan", "sweep", "--workers", "1024", "--rate", "300"], "the limit is"),
        (["plan", "sweep", "--receipt", "plan.csv", "--workers", "1"], "name it .json"),
        (["plan", "simulate", "--lose", "decode:0:nan"], "worker loss at_s is nan"),
        (["plan", "kv", "none.json"], "none.json: cannot be read"),
        (["plan", "size", "--deployment", "none.yaml"], "none.yaml: cannot be read"),
        (["receipt", "verify", "none.json"], "none.json: cannot be read"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(args: list[str], problem: str) -> None:
    result = run(*args)

    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("pdscope: ")
    assert problem in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nics: 0", "nics is 0"),
        ("nics: eight", "field nics is 'eight'; it must be a whole number"),
        ("nic: 8", "unknown fields nic"),
        ("overlap: 3", "field overlap is 3; it must be true or false"),
        ("lease_s: soon", "field lease_s is 'soon'; it must be a number or null"),
        ("link_efficiency: 1.2", "link efficiency is 1.2"),
        ("routing: random", "routing is 'random'"),
        ("weight_bytes: 9e12\nlimit_kv: true", "leave nothing"),
        ("- 1", "not fields with values"),
        ("a: [", "is not YAML"),
        ("[" * 3000, "is not YAML"),
    ],
)
def test_a_bad_deployment_names_file_and_field(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)

    result = run("plan", "simulate", "--deployment", str(path))

    assert result.exit_code == 2
    assert "bad.yaml: " in result.stderr
    assert problem in result.stderr


def test_a_what_if_on_a_trace_recommends_draws_and_writes_a_receipt_that_verifies(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    lines = (SHARED / "data" / "AzureLLMInferenceTrace_conv.csv").read_text().splitlines()[:1200]
    trace.write_text("\n".join(lines) + "\n")
    path, plots = tmp_path / "plan.json", tmp_path / "plots"

    found = run(
        "plan", "--trace", str(trace), "--workers", "2", "--chunk", "512", "--json",
        "--receipt", str(path), "--plots", str(plots),
    )  # fmt: skip

    answer = json.loads(found.stdout)
    assert found.exit_code == 0, found.output
    assert answer["recommendation"]["layout"] == "1x512"
    assert {file.name for file in plots.iterdir()} == {"frontier.svg", "ratios.svg", "lanes.svg"}
    assert run("receipt", "verify", str(path)).exit_code == 0  # the trace is found beside it
    elsewhere = trace.rename(tmp_path / "elsewhere.csv")
    assert run("receipt", "verify", str(path)).exit_code == 3
    assert run("receipt", "verify", str(path), "--trace", str(elsewhere)).exit_code == 0


def test_a_what_if_that_finds_nothing_ends_with_1_and_prints_why(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    lines = (SHARED / "data" / "AzureLLMInferenceTrace_code.csv").read_text().splitlines()[:1500]
    trace.write_text("\n".join(lines) + "\n")

    found = run("plan", "--trace", str(trace), "--workers", "1", "--chunk", "512", "--ttft", "0.05")

    assert found.exit_code == 1
    assert "No layout tried meets the contract" in found.stdout
    assert "1 layouts" in found.stderr


def test_a_receipt_never_overwrites_what_is_not_its_matrix(tmp_path: Path) -> None:
    trace = tmp_path / "plan.csv"
    trace.write_text((SHARED / "data" / "AzureLLMInferenceTrace_code.csv").read_text())

    found = run("plan", "--trace", str(trace), "--receipt", str(tmp_path / "plan.json"))

    assert found.exit_code == 2
    assert "belongs to no receipt" in found.stderr
    assert trace.read_text().startswith("TIMESTAMP")


def test_the_real_command_takes_receipt_verify_by_name(tmp_path: Path) -> None:
    from analyzer.cli.main import app as whole

    path = tmp_path / "none.json"

    assert "cannot be read" in CliRunner().invoke(whole, ["receipt", "verify", str(path)]).stderr


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["plan", "--trace", "none.csv"], "none.csv: cannot be read"),
        (["plan", "--trace", "a.csv", "--from", "0"], "both given"),
        (["plan", "--trace", "a.csv", "--receipt", "plan.csv"], "name it .json"),
    ],
)
def test_a_what_if_with_bad_input_is_one_clear_line(args: list[str], problem: str) -> None:
    found = run(*args)

    assert found.exit_code == 2
    assert problem in found.stderr


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--workers", "0"], "workers is 0"),
        (["--workers", "500"], "the limit is 2,000"),
        (["--headroom", "-1"], "headroom is -1"),
        (["--chunk", "16"], "has no room"),
        (["--tpot-ms", "0"], "TPOT objective is 0"),
        (["--reserve", "1.5"], "transfer reserve is 1.5"),
    ],
)
def test_a_grid_that_cannot_be_tried_is_refused_before_it_starts(options: list[str], problem: str) -> None:
    trace = SHARED / "data" / "AzureLLMInferenceTrace_code.csv"

    found = run("plan", "--trace", str(trace), *options)

    assert found.exit_code == 2
    assert problem in found.stderr


def test_plan_alone_shows_its_help() -> None:
    found = run("plan")

    assert found.exit_code == 0
    assert "backtest" in found.stdout
