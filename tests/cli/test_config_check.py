"""`pdscope config check` reads what `pdscope serve` would, and says what is wrong with it."""

import json
from pathlib import Path

import pytest
import trustme

from collector.errors import ConfigError
from collector.settings import SETTINGS, misspelt, resolve
from tests.cli.conftest import Run

SLO = "objectives:\n  - {name: chat, ttft: 1, tpot: 0.05}\n"


def files(folder: Path, slo: str = SLO, **settings: str) -> Path:
    (folder / "slo.yaml").write_text(slo)
    lines = {"slo": str(folder / "slo.yaml"), **settings}
    (folder / "pdscope.yaml").write_text("".join(f"{key}: {value}\n" for key, value in lines.items()))
    return folder / "pdscope.yaml"


def test_good_settings_are_shown_with_where_each_was_given(pdscope: Run, tmp_path: Path) -> None:
    done = pdscope("config", "check", "--config", str(files(tmp_path)), "--json", PDSCOPE_RETENTION_SPANS="3")
    assert done.returncode == 0, done.stdout
    shown = {row["setting"]: (row["value"], row["from"]) for row in json.loads(done.stdout)["settings"]}
    assert shown["retention_spans"] == ("3", "PDSCOPE_RETENTION_SPANS")
    assert shown["slo"][1] == f"{tmp_path}/pdscope.yaml:1: slo"


def test_every_problem_is_told_at_once(pdscope: Run, tmp_path: Path) -> None:
    config = files(tmp_path, SLO.replace("tpot", "tpt"), role="collect", tls_cert="cert.pem")
    done = pdscope("config", "check", "--config", str(config), PDSCOPE_RETENTION_SPAN="3")
    assert done.returncode == 1
    assert "unknown key 'tpt'; did you mean 'tpot'?" in done.stdout
    assert "role collect: an embedded store belongs to one process" in done.stdout
    assert "tls_cert and tls_key go together" in done.stdout
    assert "PDSCOPE_RETENTION_SPAN is no setting and is not read; did you mean PDSCOPE_RETENTION_SPANS?" in (
        done.stdout
    )


def test_a_key_that_is_no_setting_is_told_with_the_nearest(pdscope: Run, tmp_path: Path) -> None:
    done = pdscope("config", "check", "--config", str(files(tmp_path, otlp_gprc="127.0.0.1:1")))
    assert done.returncode == 1
    assert "pdscope.yaml:2: settings: unknown key 'otlp_gprc'; did you mean 'otlp_grpc'?" in done.stdout


def test_no_secret_is_shown(pdscope: Run, tmp_path: Path) -> None:
    store = "clickhouse://pdscope:hunter2@clickhouse:8123/pdscope"
    done = pdscope("config", "check", PDSCOPE_TOKEN="swordfish", PDSCOPE_STORE=store)
    assert done.returncode == 0
    assert "clickhouse://clickhouse:8123/pdscope" in done.stdout
    assert not {"hunter2", "swordfish"} & set(done.stdout.replace("@", " ").replace(":", " ").split())


def test_a_key_that_does_not_fit_its_certificate_is_told(pdscope: Run, tmp_path: Path) -> None:
    authority = trustme.CA()
    for name in ("one", "two"):
        pair = authority.issue_cert("localhost")
        pair.private_key_pem.write_to_path(tmp_path / f"{name}.key")
        pair.cert_chain_pems[0].write_to_path(tmp_path / f"{name}.pem")
    for key, code in (("one", 0), ("two", 1)):
        done = pdscope(
            *("config", "check"),
            PDSCOPE_TLS_CERT=str(tmp_path / "one.pem"),
            PDSCOPE_TLS_KEY=str(tmp_path / f"{key}.key"),
        )
        assert done.returncode == code, done.stdout


@pytest.mark.parametrize(
    "name", ["PDSCOPE_PORT", "PDSCOPE_SERVICE_HOST", "PDSCOPE_API_PORT_8080_TCP", "PATH"]
)
def test_variables_that_others_set_are_no_misspelling(name: str) -> None:
    assert misspelt({name: "x"}) == []


def test_a_setting_is_no_misspelling_of_another() -> None:
    assert misspelt({setting.env: "x" for setting in SETTINGS}) == []


def test_a_part_alone_needs_a_store_that_others_share() -> None:
    with pytest.raises(ConfigError, match=r"role analyze.*--store"):
        resolve({"role": "analyze"}, {}).refuse_lone_role()
    resolve({"role": "analyze", "store": "clickhouse://h/d"}, {}).refuse_lone_role()
    with pytest.raises(ConfigError, match="--role: expected one of all, collect, analyze, not 'both'"):
        resolve({"role": "both"}, {})
