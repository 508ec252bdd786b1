"""Commands against a pdscope of another process, and without one."""

import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from analyzer.client import Client
from collector.errors import ConfigError
from tests.cli.conftest import FREE, Run, Served, environment
from tests.paths import CAPTURES

CAPTURE = CAPTURES / "vllm-0.32.0" / "fault-d-prefill-saturated" / "otlp.jsonl.gz"
SINCE = ("--from", "2020-01-01T00:00:00Z")


@pytest.fixture(scope="module")
def imported(served: Served, pdscope: Run) -> dict[str, object]:
    """Load a capture into the running pdscope, found by its data directory."""
    done = pdscope("import", str(CAPTURE), "--data", str(served.data), "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    wait_until_settled(served)
    assert isinstance(report, dict)
    return report


def wait_until_settled(served: Served) -> None:
    for _ in range(100):
        sequences = httpx.get(f"{served.api}/api/v1/telemetry").json()["sequences"]
        if sequences["assembled"] >= sequences["stored"] > 0:
            return
        time.sleep(0.1)
    raise AssertionError(f"not settled: {sequences}")


def test_help_names_every_command_and_is_quick(pdscope: Run) -> None:
    shown = pdscope("--help")
    assert shown.returncode == 0
    for command in ("serve", "import", "report", "explain"):
        assert command in shown.stdout
        page = pdscope(command, "--help")
        assert page.returncode == 0
        assert "Examples:" in page.stdout


def test_help_imports_nothing_heavy(pdscope: Run) -> None:
    code = (
        "import sys; from analyzer.cli.main import app; "
        "heavy = {'chdb', 'clickhouse_connect', 'fastapi', 'grpc', 'numpy', 'pydantic', 'uvicorn'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert loaded.stdout.strip() == "[]"


def test_the_page_is_served_beside_rest(served: Served) -> None:
    page = httpx.get(served.api)
    assert page.status_code == 200
    assert "text/html" in page.headers["content-type"]


def test_serve_prints_its_addresses_and_is_found_by_its_directory(served: Served) -> None:
    holder = json.loads((served.data / "pdscope.lock").read_text())
    assert holder["api"] == served.api
    assert httpx.get(f"{served.api}/readyz").json()["status"] == "ok"


def test_import_says_what_became_of_every_span(imported: dict[str, list[dict[str, object]]]) -> None:
    (file,) = imported["files"]
    assert (file["spans"], file["exports"], file["refused"], file["error"]) == (500, 55, {}, None)


def test_report_on_real_telemetry(served: Served, pdscope: Run, imported: object) -> None:
    answer = json.loads(pdscope("report", *SINCE, "--data", str(served.data), "--json").stdout)
    (objective,) = answer["slo"]["objectives"]
    assert objective["requests"]["evaluated"] == 100
    assert answer["latency"]["ttft"]["count"] == 100
    assert answer["slowest"][0]["ttft"] == answer["latency"]["ttft"]["max"]
    drawn = pdscope("report", *SINCE, "--data", str(served.data)).stdout
    for word in (
        "Objectives",
        "default",
        "Where the time went",
        "prefill_queue",
        answer["slowest"][0]["key"],
    ):
        assert word in drawn


def test_report_on_an_empty_window_leads_to_the_newest(
    served: Served, pdscope: Run, imported: object
) -> None:
    drawn = pdscope("report", "--from", "100", "--to", "200", "--data", str(served.data)).stdout
    assert "There are none; the newest started at" in drawn


def test_explain_draws_the_wait(served: Served, pdscope: Run, imported: object) -> None:
    report = json.loads(pdscope("report", *SINCE, "--data", str(served.data), "--json").stdout)
    slowest = report["slowest"][0]
    shown = pdscope("explain", slowest["request_id"], "--api", served.api)
    assert shown.returncode == 0, shown.stderr
    line = next(line for line in shown.stdout.splitlines() if line.startswith("prefill_queue"))
    assert line.count("█") > 20
    for word in ("What TTFT is made of", "cause: pool_imbalance.prefill_starved"):
        assert word in shown.stdout
    found = json.loads(pdscope("explain", slowest["key"], "--api", served.api, "--json").stdout)
    assert found["request_id"] == slowest["request_id"]


def test_explain_of_an_unknown_request(served: Served, pdscope: Run) -> None:
    failed = pdscope("explain", "nonesuch", "--api", served.api)
    assert failed.returncode == 1
    assert "nonesuch" in failed.stderr


def test_an_id_that_is_no_text_is_a_line(served: Served, pdscope: Run) -> None:
    failed = pdscope("explain", "\udcff", "--api", served.api)
    assert failed.returncode == 2
    assert failed.stderr == "pdscope: an argument or a setting is not UTF-8 text\n"


def test_a_garbage_file_is_named_and_harms_nothing(served: Served, pdscope: Run, tmp_path: Path) -> None:
    (tmp_path / "garbage.bin").write_bytes(b"\x00\x01garbage" * 100)
    failed = pdscope("import", str(tmp_path / "garbage.bin"), "--api", served.api)
    assert failed.returncode == 1
    assert "garbage.bin" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert httpx.get(f"{served.api}/readyz").status_code == 200


def test_without_a_running_pdscope_the_store_is_opened(pdscope: Run, tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    loaded = pdscope("import", str(CAPTURE), "--data", data, "--json")
    assert loaded.returncode == 0, loaded.stderr
    report = json.loads(pdscope("report", *SINCE, "--data", data, "--json").stdout)
    assert report["slo"]["objectives"][0]["requests"]["evaluated"] == 100


def test_known_failures_are_one_line_and_exit_code_2(served: Served, pdscope: Run, tmp_path: Path) -> None:
    taken = served.api.removeprefix("http://")
    (tmp_path / "bad.yaml").write_text("objectives:\n- {name: a, tfft: 1}\n")
    (tmp_path / "file").write_text("")
    data = str(tmp_path / "data")
    cases: dict[str, tuple[str, ...]] = {
        "is in use by pdscope process": ("serve", "--data", str(served.data), *FREE),
        f"cannot listen on {taken}": ("serve", "--data", data, "--api", taken),
        "cannot write the data directory": ("serve", "--data", str(tmp_path / "file" / "data"), *FREE),
        "bad.yaml:2": ("serve", "--data", data, "--slo", str(tmp_path / "bad.yaml"), *FREE),
        "cannot read": ("serve", "--data", data, "--config", str(tmp_path / "none.yaml"), *FREE),
        "without a token": ("serve", "--data", data, "--api", "0.0.0.0:0"),
        "no such file or directory": ("import", str(tmp_path / "none"), "--data", data),
        "there is no store": ("report", "--data", str(tmp_path / "nothing")),
        "no pdscope answers at": ("report", "--api", f"127.0.0.1:{_closed_port()}"),
        "is not an address": ("report", "--api", "ftp://x"),
        "--listen: expected HOST:PORT": ("alert-webhook", "--listen", "nowhere"),
        "--upstream: 'nowhere'": ("tap", "--upstream", "nowhere"),
        "pdscope: layout '5Z'": ("plan", "size", "--layout", "5Z"),
    }
    for words, arguments in cases.items():
        failed = pdscope(*arguments)
        assert failed.returncode == 2, (words, failed.stderr)
        assert words in failed.stderr
        assert failed.stderr.count("\n") == 1, failed.stderr


def test_a_token_needs_somebody_to_be_for(pdscope: Run) -> None:
    failed = pdscope("token", " ")
    assert failed.returncode == 2
    assert "give the tenant a name" in failed.stderr


def _closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_a_read_only_directory_is_refused(pdscope: Run) -> None:
    failed = pdscope("serve", "--data", "/proc/pdscope", *FREE)
    assert failed.returncode == 2
    assert "/proc/pdscope" in failed.stderr


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("pdscope ex", "explain"), ("pdscope plan sw", "sweep"), ("pdscope serve --otlp-g", "--otlp-grpc")],
)
def test_the_shell_is_told_how_to_complete(typed: str, offered: str) -> None:
    shown = _completions(typed)
    assert shown == [offered]


def _completions(typed: str) -> list[str]:
    program = (
        "import sys; from analyzer.cli.main import app; sys.argv = ['pdscope']; app(prog_name='pdscope')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(
            _PDSCOPE_COMPLETE="complete_bash", COMP_WORDS=typed, COMP_CWORD=str(len(typed.split()) - 1)
        ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout.split()


def test_help_names_each_command_once(pdscope: Run) -> None:
    listed = pdscope("--help").stdout.partition("Commands:")[2].splitlines()
    names = [line.split()[0] for line in listed if line.startswith("  ") and line[2] != " "]
    assert sorted(names) == sorted(set(names))
    assert {"serve", "demo", "tap", "plan", "receipt"} <= set(names)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("http://[::1",), "is not an address"),
        (("h:",), "is not an address"),
        (("http://u:secret@h:1",), "names a user"),
        (("h:1", "a\nb"), "no HTTP header"),
        (("h:1", "☃"), "no HTTP header"),
    ],
)
def test_a_client_of_nothing_that_can_be_asked_is_refused(given: tuple[str, ...], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as told:
        Client(*given)
    assert "secret" not in str(told.value)
