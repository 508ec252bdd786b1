"""The manifests are ones that Kubernetes takes, and say the same as each other and as pdscope's settings."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from collector.scrape import read_scrape_config
from collector.settings import SETTINGS
from tests.paths import PROJECT

FOLDER = PROJECT / "deploy/kubernetes"
OVERLAYS = ("base", "embedded", "node-collectors")
FILES = [path for path in sorted(FOLDER.glob("*/*.yaml")) if path.name != "kustomization.yaml"]
Manifest = dict[str, Any]


def documents(path: Path) -> list[Manifest]:
    return [found for found in yaml.safe_load_all(path.read_text("utf-8")) if found]


def resources(folder: Path) -> list[Manifest]:
    """What a kustomization lists, its bases included, as written."""
    found: list[Manifest] = []
    for name in yaml.safe_load((folder / "kustomization.yaml").read_text("utf-8"))["resources"]:
        path = (folder / name).resolve()
        found += resources(path) if path.is_dir() else documents(path)
    return found


def of_kind(overlay: str, *kinds: str) -> list[Manifest]:
    return [found for found in resources(FOLDER / overlay) if found["kind"] in kinds]


def pods(overlay: str) -> list[Manifest]:
    return [found["spec"]["template"] for found in of_kind(overlay, "Deployment", "StatefulSet", "DaemonSet")]


def validate(path: Path) -> "subprocess.CompletedProcess[str]":
    command = [Path(sys.executable).with_name("kubernetes-validate"), "--strict", "-k", "1.34", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_manifest_follows_the_published_schemas(path: Path, tmp_path: Path) -> None:
    # The schemas of Kubernetes itself say nothing of the Prometheus operator's kinds.
    ours = [found for found in documents(path) if found["kind"] != "ServiceMonitor"]
    if not ours:
        assert path.name == "service-monitor.yaml"
        return
    (tmp_path / path.name).write_text(yaml.safe_dump_all(ours))
    done = validate(tmp_path / path.name)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_schemas_refuse_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(
        (FOLDER / "base/analyzer.yaml").read_text().replace("replicas:", "replica:")
    )
    done = validate(tmp_path / "x.yaml")
    assert done.returncode != 0
    assert "replica" in done.stdout + done.stderr


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_file_is_listed(overlay: str) -> None:
    kustomization = yaml.safe_load((FOLDER / overlay / "kustomization.yaml").read_text("utf-8"))
    assert kustomization["namespace"] == "pdscope"
    listed = {name for name in kustomization["resources"] if name.endswith(".yaml")}
    assert listed == {path.name for path in FILES if path.parent.name == overlay}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_pods_run_without_rights(overlay: str) -> None:
    for pod in pods(overlay):
        assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
        for container in pod["spec"]["containers"]:
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] is True
            assert context["allowPrivilegeEscalation"] is False
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert {"readinessProbe", "livenessProbe"} <= container.keys()
            assert container["resources"].keys() == {"requests", "limits"}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_settings_are_those_that_pdscope_knows_and_no_secret_is_written_down(overlay: str) -> None:
    known = {setting.env: setting for setting in SETTINGS}
    for pod in pods(overlay):
        for container in pod["spec"]["containers"]:
            for variable in container["env"]:
                assert variable["name"] in known or variable["name"] == "PDSCOPE_ALERT_POST"
                if variable["name"] in ("PDSCOPE_TOKEN", "PDSCOPE_STORE"):
                    assert variable["valueFrom"]["secretKeyRef"]["name"] == "pdscope"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_services_monitors_and_policies_lead_to_pods(overlay: str) -> None:
    labels = [pod["metadata"]["labels"] for pod in pods(overlay)]
    ports = {
        port["name"] for pod in pods(overlay) for one in pod["spec"]["containers"] for port in one["ports"]
    }
    services = of_kind(overlay, "Service")
    for service in services:
        assert any(service["spec"]["selector"].items() <= pod.items() for pod in labels), service["metadata"]
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports
    for policy in of_kind(overlay, "NetworkPolicy"):
        chosen = policy["spec"]["podSelector"]["matchLabels"]
        assert any(chosen.items() <= pod.items() for pod in labels)
        named = {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]}
        assert named <= ports
    for monitor in of_kind(overlay, "ServiceMonitor"):
        wanted = monitor["spec"]["selector"]["matchLabels"]
        (service,) = [one for one in services if wanted.items() <= one["metadata"]["labels"].items()]
        (endpoint,) = monitor["spec"]["endpoints"]
        assert endpoint["port"] in {port["name"] for port in service["spec"]["ports"]}
        assert endpoint["authorization"]["credentials"] == {"name": "pdscope", "key": "token"}


def test_every_pod_is_behind_a_policy() -> None:
    for overlay in OVERLAYS:
        chosen = [
            policy["spec"]["podSelector"]["matchLabels"] for policy in of_kind(overlay, "NetworkPolicy")
        ]
        for pod in pods(overlay):
            assert any(one.items() <= pod["metadata"]["labels"].items() for one in chosen)


def test_of_further_analyzers_only_what_they_say_of_themselves_is_kept() -> None:
    """Rules add up what is scraped: figures of the store are the same from every analyzer."""
    monitors = of_kind("base", "ServiceMonitor")
    (analyzer,) = [one["spec"]["endpoints"][0] for one in monitors if one["metadata"]["name"] == "pdscope"]
    (by_pod,) = analyzer["metricRelabelings"]
    compose = yaml.safe_load((PROJECT / "deploy/compose/prometheus.yml").read_text("utf-8"))
    (by_job,) = compose["scrape_configs"][1]["metric_relabel_configs"]
    store, own = (PROJECT / "docs/metrics.md").read_text("utf-8").split("## Of pdscope itself")
    for name in re.findall(r"^\| `(pdscope_\w+)`", store, re.MULTILINE):
        drops = name != "pdscope_export_timestamp_seconds"
        assert bool(re.fullmatch(by_job["regex"], name)) is drops, name
        assert bool(re.fullmatch(by_pod["regex"], f"pdscope-analyzer-1;{name}")) is drops, name
        assert not re.fullmatch(by_pod["regex"], f"pdscope-analyzer-0;{name}")
    for name in re.findall(r"^\| `(pdscope_\w+)`", own, re.MULTILINE):
        assert not re.fullmatch(by_job["regex"], name), name


ENGINES = sorted((PROJECT / "deploy/engines").glob("*.yaml"))


@pytest.mark.parametrize("path", ENGINES, ids=lambda path: path.stem)
def test_engines_send_to_the_service_of_the_base(path: Path) -> None:
    text = path.read_text("utf-8")
    assert list(yaml.safe_load_all(text))
    services = {found["metadata"]["name"]: found for found in of_kind("base", "Service")}
    addresses = re.findall(r"\b([\w-]+)\.pdscope:(\d+)", text)
    assert addresses
    for name, port in addresses:
        assert int(port) in {one["port"] for one in services[name]["spec"]["ports"]}


@pytest.mark.parametrize("path", ENGINES, ids=lambda path: path.stem)
def test_engines_names_say_their_pool(path: Path) -> None:
    """A service's name is what pdscope knows a pool by where nothing better says it."""
    text = path.read_text("utf-8")
    names = re.findall(r"(?:OTEL_SERVICE_NAME, value: |--otlp-service-name, )([\w-]+)", text)
    assert path.stem == "ray-serve" or any("prefill" in name for name in names)


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not here")
@pytest.mark.parametrize(
    ("overlay", "receives"),
    [
        ("base", ("StatefulSet", "pdscope-collector")),
        ("embedded", ("StatefulSet", "pdscope")),
        ("node-collectors", ("DaemonSet", "pdscope-collector")),
    ],
)
def test_kustomize_renders_what_kubernetes_takes(
    overlay: str, receives: tuple[str, str], tmp_path: Path
) -> None:
    command = ["kubectl", "kustomize", str(FOLDER / overlay)]
    rendered = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = [one for one in yaml.safe_load_all(rendered) if one["kind"] != "ServiceMonitor"]
    assert {one["metadata"]["namespace"] for one in found} == {"pdscope"}
    takes_telemetry = [
        (one["kind"], one["metadata"]["name"])
        for one in found
        if "containerPort: 4317" in yaml.safe_dump(one.get("spec", {}))
    ]
    assert takes_telemetry == [receives]
    images = re.findall(r"image: (\S+)", rendered)
    assert set(images) == {"pdscope:0.1.0"}
    (tmp_path / "rendered.yaml").write_text(yaml.safe_dump_all(found))
    done = validate(tmp_path / "rendered.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(params=OVERLAYS)
def scraping(request: pytest.FixtureRequest, tmp_path: Path) -> list[Manifest]:
    """What a kustomization of one's own makes that adds scraping to one of ours."""
    if not shutil.which("kubectl"):
        pytest.skip("kubectl is not here")
    ours = os.path.relpath(FOLDER.resolve(), tmp_path.resolve())
    (tmp_path / "kustomization.yaml").write_text(
        f"resources: [{ours}/{request.param}]\ncomponents: [{ours}/scraping]\n"
    )
    done = subprocess.run(
        ["kubectl", "kustomize", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def one(found: list[Manifest], kind: str, name: str) -> Manifest:
    (wanted,) = [made for made in found if (made["kind"], made["metadata"]["name"]) == (kind, name)]
    return wanted


def test_who_scrapes_may_read_pods_and_nothing_else(scraping: list[Manifest]) -> None:
    scraper = {"kind": "ServiceAccount", "name": "pdscope-scraper", "namespace": "pdscope"}
    account = one(scraping, "ServiceAccount", scraper["name"])
    assert account["metadata"]["namespace"] == scraper["namespace"]
    (binding,) = [made for made in scraping if made["kind"] == "ClusterRoleBinding"]
    assert binding["subjects"] == [scraper]
    role = one(scraping, binding["roleRef"]["kind"], binding["roleRef"]["name"])
    assert role["rules"] == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]
    for made in scraping:
        if made["kind"] in ("Deployment", "StatefulSet", "DaemonSet"):
            spec = made["spec"]["template"]["spec"]
            scrapes = "PDSCOPE_SCRAPE" in yaml.safe_dump(spec)
            receives = "containerPort: 4317" in yaml.safe_dump(spec)
            assert scrapes == receives == (spec.get("serviceAccountName") == scraper["name"])
            assert scrapes == spec.get("automountServiceAccountToken", False)


def test_the_scrape_file_is_where_pdscope_looks_and_is_one_it_takes(
    scraping: list[Manifest], tmp_path: Path
) -> None:
    text = one(scraping, "ConfigMap", "pdscope-scrape")["data"]["scrape.yaml"]
    (tmp_path / "scrape.yaml").write_text(text)
    (job,) = read_scrape_config(tmp_path / "scrape.yaml").jobs
    assert job.pods
    assert job.pods.labels
    collector = one(scraping, "ServiceAccount", "pdscope-scraper")["metadata"]["name"]
    (spec,) = [
        made["spec"]["template"]["spec"]
        for made in scraping
        if made.get("spec", {}).get("template", {}).get("spec", {}).get("serviceAccountName") == collector
    ]
    (container,) = spec["containers"]
    (setting,) = [item["value"] for item in container["env"] if item["name"] == "PDSCOPE_SCRAPE"]
    (mount,) = [item for item in container["volumeMounts"] if item["name"] == "scrape"]
    assert setting == f"{mount['mountPath']}/scrape.yaml"
    assert {"name": "scrape", "configMap": {"name": "pdscope-scrape"}} in spec["volumes"]


def test_kubernetes_takes_what_scraping_adds(scraping: list[Manifest], tmp_path: Path) -> None:
    file = tmp_path / "rendered.yaml"
    file.write_text(yaml.safe_dump_all(made for made in scraping if made["kind"] != "ServiceMonitor"))
    done = validate(file)
    assert done.returncode == 0, done.stdout + done.stderr
