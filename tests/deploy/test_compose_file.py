"""docker-compose.yml is one that Docker Compose takes, and lets nobody in by default."""

import re
import subprocess
import sys
import tomllib
from xml.etree import ElementTree

import pytest

from collector.settings import SETTINGS
from tests.deploy.compose_file import FILE, raw, services, variables
from tests.deploy.native import SECRETS
from tests.paths import PROJECT

SERVICES = raw()["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"].startswith("pdscope:")}
VERSION = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]["version"]


def test_it_follows_the_published_schema() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(FILE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_schema_refuses_what_is_wrong(tmp_path) -> None:
    wrong = tmp_path / "docker-compose.yml"
    wrong.write_text(FILE.read_text("utf-8").replace("read_only: true", "readonly: true", 1))
    command = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        "vendor.compose-spec",
        str(wrong),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "readonly" in done.stdout


@pytest.mark.parametrize("name", SERVICES)
def test_images_are_of_a_version(name: str) -> None:
    image = SERVICES[name]["image"]
    assert re.fullmatch(r"[\w./-]+:v?\d+(\.\d+)+", image), image
    if name in OURS:
        assert image == f"pdscope:{VERSION}"


def test_ports_are_published_on_loopback_unless_asked_otherwise() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert ports
    assert [port for port in ports if not port.startswith("${PDSCOPE_PUBLISH:-127.0.0.1}:")] == []


def test_no_secret_has_a_default() -> None:
    secrets = {name: kind for name, kind in variables().items() if re.search("PASSWORD|TOKEN", name)}
    assert secrets == dict.fromkeys(SECRETS, "?")
    with pytest.raises(KeyError, match=r"PDSCOPE_TOKEN: set it in \.env"):
        services("embedded", {})


def test_the_example_names_every_variable() -> None:
    example = (PROJECT / "deploy/compose/env.example").read_text("utf-8")
    assert set(re.findall(r"^#? ?([A-Z_]+)=", example, re.MULTILINE)) == set(variables())
    assert re.findall(r"^[A-Z_]+=.+", example, re.MULTILINE) == []


@pytest.mark.parametrize("name", OURS)
def test_pdscope_runs_without_rights(name: str) -> None:
    service = OURS[name]
    assert service["read_only"] is True
    assert (service["cap_drop"], service["security_opt"]) == (["ALL"], ["no-new-privileges:true"])


@pytest.mark.parametrize("name", OURS)
def test_settings_are_those_that_pdscope_knows(name: str) -> None:
    known = {setting.env for setting in SETTINGS} | {"PDSCOPE_ALERT_POST"}
    assert set(OURS[name].get("environment", {})) - known == set()


@pytest.mark.parametrize("name", set(SERVICES) - set(OURS))
def test_what_runs_on_has_a_health_check(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"][0] == "CMD"


def test_what_is_mounted_is_there() -> None:
    mounted = {volume.split(":")[0] for service in SERVICES.values() for volume in service.get("volumes", ())}
    named = set(raw()["volumes"])
    assert {source for source in mounted if not source.startswith("./")} == named
    assert [source for source in mounted - named if not (PROJECT / source).exists()] == []


def test_dependencies_are_of_the_same_profile() -> None:
    for name, service in SERVICES.items():
        for needed in service.get("depends_on", ()):
            assert set(service["profiles"]) <= set(SERVICES[needed]["profiles"]), (name, needed)


def test_the_cluster_has_the_nodes_and_the_name_it_is_asked_by() -> None:
    config = ElementTree.parse(PROJECT / "deploy/compose/clickhouse/cluster.xml").getroot()
    nodes = [name for name in SERVICES if re.fullmatch(r"clickhouse-\d", name)]
    cluster = OURS["collector-1"]["environment"]["PDSCOPE_STORE"].rpartition("?cluster=")[2]
    assert [host.text for host in config.findall(f"remote_servers/{cluster}/shard/replica/host")] == nodes
    assert [host.text for host in config.findall("keeper_server/raft_configuration/server/hostname")] == nodes
    assert [host.text for host in config.findall("zookeeper/node/host")] == nodes


def test_grafana_reads_as_the_user_that_clickhouse_has() -> None:
    users = ElementTree.parse(PROJECT / "deploy/compose/clickhouse/grafana-user.xml").getroot()
    environment = SERVICES["grafana"]["environment"]
    user = users.find(f"users/{environment['PDSCOPE_CLICKHOUSE_USER']}")
    assert user is not None
    assert user.findtext("profile") == "reader"
    assert user.findtext("grants/query") == f"GRANT SELECT ON {environment['PDSCOPE_CLICKHOUSE_DATABASE']}.*"
