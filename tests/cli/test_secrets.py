"""Secrets come from files and end nowhere."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from analyzer.demo.capture import load
from collector.errors import ConfigError
from collector.settings import resolve
from tests.cli.conftest import FREE, environment
from tests.paths import PROJECT

SECRET = "s3cret-of-the-operator"
WRONG = "wr0ng-but-someone-elses"


def test_a_text_setting_may_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{SECRET}\n")
    assert resolve({}, {"PDSCOPE_TOKEN_FILE": str(file)}).token == SECRET
    with pytest.raises(ConfigError, match="PDSCOPE_TOKEN and PDSCOPE_TOKEN_FILE are both set"):
        resolve({}, {"PDSCOPE_TOKEN_FILE": str(file), "PDSCOPE_TOKEN": "x"})
    with pytest.raises(ConfigError, match=r"PDSCOPE_TOKEN_FILE: cannot read .*gone"):
        resolve({}, {"PDSCOPE_TOKEN_FILE": str(tmp_path / "gone")})
    file.write_text("\n")
    with pytest.raises(ConfigError, match="PDSCOPE_TOKEN_FILE: expected text"):
        resolve({}, {"PDSCOPE_TOKEN_FILE": str(file)})


def test_no_secret_is_written_anywhere(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(SECRET)
    data = tmp_path / "data"
    process = subprocess.Popen(
        [sys.executable, "-m", "analyzer.cli.main", "serve", "--data", str(data), "--json", *FREE],
        cwd=PROJECT,
        env=environment(PDSCOPE_TOKEN_FILE=str(tmp_path / "token")),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    addresses = json.loads(process.stdout.readline())
    body = load("vllm").exports[0].body
    kind = {"content-type": "application/x-protobuf"}
    for token, expected in ((SECRET, 200), (WRONG, 401)):
        given = {"authorization": f"Bearer {token}"}
        assert httpx.get(f"{addresses['api']}/api/v1/slo", headers=given).status_code == expected
        sent = httpx.post(f"{addresses['otlp_http']}/v1/traces", content=body, headers=kind | given)
        assert sent.status_code == expected
        asked = {"x-clickhouse-key": token}
        answer = httpx.post(addresses["clickhouse_http"], content="SELECT 1 FROM request_log", headers=asked)
        assert answer.status_code == expected
        imported = httpx.post(f"{addresses['api']}/api/v1/import", content=b"junk", headers=given)
        assert (imported.status_code == 401) == (expected == 401)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=30)
    files = [path for path in data.rglob("*") if path.is_file()]
    assert data / "audit.log" in files
    for secret in (SECRET, WRONG):
        assert secret not in out + err
        assert [path for path in files if secret.encode() in path.read_bytes()] == []
