"""`pdscope doctor` against a pdscope of another process, and without one."""

import json

from tests.cli.conftest import Run, Served


def test_an_empty_pdscope_lacks_everything_and_says_the_line_that_brings_it(
    served: Served, pdscope: Run
) -> None:
    window = ("--from", "2020-01-01T00:00:00Z", "--to", "2020-01-01T01:00:00Z")
    done = pdscope("doctor", "--api", served.api, "--json", *window)
    assert done.returncode == 1
    (told,) = [check for check in json.loads(done.stdout)["checks"] if check["severity"] == "critical"]
    assert (told["check"], told["kind"]) == ("no_request_traces", "missing")
    shown = pdscope("doctor", "--api", served.api, *window)
    assert shown.returncode == 1
    assert "no request traces arrive" in shown.stdout
    assert "http://HOST:4317" in shown.stdout
    assert "merely worth knowing" in shown.stdout


def test_nobody_to_ask_is_another_exit_code(pdscope: Run) -> None:
    assert pdscope("doctor", "--api", "http://127.0.0.1:1").returncode == 2
