"""What is scraped, from a YAML file: `pdscope serve --scrape FILE`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collector.config_file import Node, read_config
from collector.errors import ConfigError
from collector.scrape.target import POOLS, Target, pool_named, target

METRICS, PERF_METRICS = "metrics", "trtllm_perf_metrics"
KINDS = {METRICS: "/metrics", PERF_METRICS: "/perf_metrics"}
"""What can be scraped, and the path where it is by default."""


@dataclass(frozen=True)
class TargetTls:
    """How to trust https targets, and who to be for them. Files are PEM."""

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    server_name: str | None = None
    insecure: bool = False
    """Trust any certificate."""


@dataclass(frozen=True)
class PodsOf:
    """Which pods of a Kubernetes cluster are targets."""

    namespace: str = "*"
    labels: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Labels they must have, and the values one of which each must have; none: any."""
    port: str = ""
    """Number or name of the port; '' means what the pod's annotations say, else its only port."""
    pool_label: str = "llm-d.ai/role"
    kubeconfig: Path | None = None
    """None: the cluster pdscope runs in, else KUBECONFIG or ~/.kube/config."""


@dataclass(frozen=True)
class Job:
    """Targets that are scraped alike."""

    name: str
    kind: str = METRICS
    interval_s: float = 10.0
    timeout_s: float = 5.0
    pool: str = ""
    scheme: str = "http"
    path: str = ""
    targets: tuple[Target, ...] = ()
    files: tuple[str, ...] = ()
    """File names or patterns in the format of Prometheus' file_sd."""
    pods: PodsOf | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    bearer_token_file: Path | None = None
    tls: TargetTls | None = None
    max_bytes: int = 16 << 20
    """Largest page, decompressed."""
    max_series: int = 20_000
    """Most series kept of one page."""
    also: tuple[str, ...] = ()
    """Families to keep beside those that the adapters name."""
    only: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def where(self) -> str:
        """Path of its pages."""
        return self.path or KINDS[self.kind]

    def target(self, address: str, labels: Mapping[str, str]) -> Target:
        """A target of this job. Raises ConfigError."""
        given = {**({"pool": self.pool} if self.pool else {}), **self.labels, **labels}
        return target(address, given, self.name, self.scheme, self.where)


@dataclass(frozen=True)
class ScrapeConfig:
    """All jobs."""

    jobs: tuple[Job, ...] = ()


_JOB = (
    "job", "kind", "interval_s", "timeout_s", "pool", "scheme", "path", "targets", "files", "kubernetes",
    "labels", "bearer_token_file", "tls", "max_bytes", "max_series", "also", "only",
)  # fmt: skip
_PODS = ("namespace", "port", "pool_label", "labels", "kubeconfig")
_TLS = ("ca", "cert", "key", "server_name", "insecure")


def read_scrape_config(path: Path) -> ScrapeConfig:
    """Read and check the file. Raises ConfigError naming file and line."""
    root = read_config(path)
    if root.value is None:
        return ScrapeConfig()
    top = root.fields("scrape file", ("jobs",))
    jobs = tuple(_job(node, path.parent) for node in top["jobs"].items("jobs")) if "jobs" in top else ()
    names = [job.name for job in jobs]
    for name in names:
        if names.count(name) > 1:
            raise root.error(f"two jobs are called {name!r}")
    return ScrapeConfig(jobs)


def _job(node: Node, base: Path) -> Job:
    given = node.fields("job", _JOB)
    if "job" not in given:
        raise node.error("a job needs a name: job: vllm-prefill")
    kind = _text(given["kind"]) if "kind" in given else METRICS
    if kind not in KINDS:
        raise given["kind"].error(f"kind {kind!r} is none of {', '.join(KINDS)}")
    interval = _number(given, "interval_s", 10.0, 1.0, 3600.0)
    timeout = _number(given, "timeout_s", min(5.0, interval), 0.1, 60.0)
    if timeout > interval:
        raise node.error(f"timeout_s {timeout:g} is longer than interval_s {interval:g}")
    job = Job(
        name=_text(given["job"]),
        kind=kind,
        interval_s=interval,
        timeout_s=timeout,
        pool=_pool(given),
        scheme=_scheme(given),
        path=_text(given["path"]) if "path" in given else "",
        files=tuple(str(base / name) for name in _texts(given, "files")),
        pods=_pods(given["kubernetes"], base) if "kubernetes" in given else None,
        labels=_labels(given["labels"]) if "labels" in given else {},
        bearer_token_file=_file(given, "bearer_token_file", base),
        tls=_tls(given["tls"], base) if "tls" in given else None,
        max_bytes=int(_number(given, "max_bytes", 16 << 20, 1024, 1 << 30)),
        max_series=int(_number(given, "max_series", 20_000, 1, 1_000_000)),
        also=tuple(_texts(given, "also")),
        only=_choices(given["only"], "only") if "only" in given else (),
    )
    targets = (
        tuple(_target(job, item) for item in given["targets"].items("targets")) if "targets" in given else ()
    )
    if not (targets or job.files or job.pods):
        raise node.error(f"job {job.name!r} has no targets, files or kubernetes: nothing would be scraped")
    return Job(**{**job.__dict__, "targets": targets})


def _target(job: Job, node: Node) -> Target:
    labels: dict[str, str] = {}
    address = node
    if isinstance(node.value, dict):
        given = node.fields("target", ("target", "pool", "worker", "pod", "labels"))
        if "target" not in given:
            raise node.error("a target needs an address: target: 10.0.0.5:8100")
        address = given["target"]
        labels = _labels(given["labels"]) if "labels" in given else {}
        labels |= {name: _text(given[name]) for name in ("pool", "worker", "pod") if name in given}
    try:
        return job.target(_text(address), labels)
    except ConfigError as error:
        raise address.error(str(error)) from error


def _pool(given: dict[str, Node]) -> str:
    return pool_named(_text(given["pool"]), given["pool"].where) if "pool" in given else ""


def _scheme(given: dict[str, Node]) -> str:
    scheme = _text(given["scheme"]) if "scheme" in given else "http"
    if scheme not in ("http", "https"):
        raise given["scheme"].error(f"scheme {scheme!r} is neither http nor https")
    return scheme


def _pods(node: Node, base: Path) -> PodsOf:
    given = node.fields("kubernetes", _PODS)
    texts = {name: _text(given[name]) for name in _PODS[:3] if name in given}
    labels = _choices(given["labels"], "labels") if "labels" in given else ()
    return PodsOf(**texts, labels=labels, kubeconfig=_file(given, "kubeconfig", base))


def _tls(node: Node, base: Path) -> TargetTls:
    given = node.fields("tls", _TLS)
    files = {name: _file(given, name, base) for name in ("ca", "cert", "key")}
    if bool(files["cert"]) != bool(files["key"]):
        raise node.error("cert and key go together")
    insecure = given["insecure"].value if "insecure" in given else False
    if not isinstance(insecure, bool):
        raise given["insecure"].error("insecure is yes or no")
    name = _text(given["server_name"]) if "server_name" in given else None
    return TargetTls(**files, server_name=name, insecure=insecure)


def _labels(node: Node) -> dict[str, str]:
    if not isinstance(node.value, dict):
        raise node.error("labels must be a mapping of names and texts")
    return {name: _text(value) for name, value in node.value.items()}


def _choices(node: Node, what: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Labels with one value, a list of values, or none."""
    if not isinstance(node.value, dict):
        raise node.error(f"{what} must be a mapping of label names and the values they may have")
    return tuple((name, _values(value)) for name, value in node.value.items())


def _values(node: Node) -> tuple[str, ...]:
    if node.value is None:
        return ()
    return tuple(map(_text, node.value)) if isinstance(node.value, list) else (_text(node),)


def _file(given: dict[str, Node], name: str, base: Path) -> Path | None:
    return base / Path(_text(given[name])).expanduser() if name in given else None


def _texts(given: dict[str, Node], name: str) -> list[str]:
    return [_text(item) for item in given[name].items(name)] if name in given else []


def _text(node: Node) -> str:
    if isinstance(node.value, bool) or not isinstance(node.value, str | int | float) or node.value == "":
        raise node.error(f"expected text, not {node.value!r}")
    return str(node.value)


def _number(given: dict[str, Node], name: str, default: float, least: float, most: float) -> float:
    value: Any = given[name].value if name in given else default
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise given[name].error(f"{name} {value!r} is no number from {least:g} to {most:g}")
    return float(value)


__all__ = ["KINDS", "METRICS", "PERF_METRICS", "POOLS", "Job", "PodsOf", "ScrapeConfig", "TargetTls"]
