"""One place to scrape, and who is found there."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from collector.errors import ConfigError

POOLS = {
    "prefill": "prefill",
    "producer": "prefill",
    "context": "prefill",
    "decode": "decode",
    "consumer": "decode",
    "generation": "decode",
    "router": "router",
    "frontend": "router",
    "colocated": "colocated",
    "both": "colocated",
    "prefill-decode": "colocated",
    "unified": "colocated",
}
"""Words for pools that configurations and labels use, and the convention's."""

_RESOURCE = ("gpus", "cohort", "tenant")


@dataclass(frozen=True)
class Target:
    """Where a worker's page is. Two that are equal are the same worker, scraped the same way."""

    url: str
    worker: str
    """Name by which requests know it: HOST:PORT unless its labels say otherwise."""
    job: str
    pool: str = ""
    """'' where neither configuration nor labels tell: then the engine may."""
    attributes: tuple[tuple[str, str], ...] = ()
    """Further resource attributes."""
    pod: str = ""
    """Name by which exporters of the infrastructure know it."""

    @property
    def resource(self) -> dict[str, str]:
        """Its resource attributes."""
        found = {"service.name": self.job, "service.instance.id": self.worker, **dict(self.attributes)}
        if self.pod:
            found["k8s.pod.name"] = self.pod
        if self.pool:
            found["pd.pool"] = self.pool
        return found


def target(
    address: str, labels: Mapping[str, str], job: str, scheme: str = "http", path: str = "/metrics"
) -> Target:
    """A target of an address (HOST:PORT or a URL) and labels in Prometheus' manner.

    pool, worker, pod and job mean what they say; pd_gpus, pd_cohort and pd_compat_* are the convention's
    attributes; `__scheme__` and `__metrics_path__` as in Prometheus, other `__` labels are not kept.
    Raises ConfigError.
    """
    labels = dict(labels)
    scheme = labels.pop("__scheme__", scheme)
    path = labels.pop("__metrics_path__", path)
    url = address if "://" in address else f"{scheme}://{address}{path}"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ConfigError(f"target {address!r}: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
        raise ConfigError(f"target {address!r}: expected HOST:PORT or http(s)://HOST:PORT/PATH")
    if parts.path in ("", "/"):
        url = f"{parts.scheme}://{parts.netloc}{path}"
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    default = f"{host}:{port or (443 if parts.scheme == 'https' else 80)}"
    worker = labels.pop("worker", "") or default
    pool = labels.pop("pool", "") or labels.pop("pd_pool", "")
    return Target(
        url=url,
        worker=worker,
        job=labels.pop("job", "") or job,
        pool=pool_named(pool, f"target {address!r}") if pool else "",
        pod=labels.pop("pod", ""),
        attributes=tuple(
            sorted((_attribute(name), value) for name, value in labels.items() if name[:2] != "__")
        ),
    )


def pool_named(word: str, where: str) -> str:
    """The convention's word for a pool. Raises ConfigError."""
    found = POOLS.get(word.lower())
    if found is None:
        raise ConfigError(f"{where}: pool {word!r} is none of {', '.join(POOLS)}")
    return found


def _attribute(label: str) -> str:
    """Labels can't hold dots in Prometheus."""
    if label.startswith("pd_compat_"):
        return "pd.compat." + label.removeprefix("pd_compat_")
    bare = label.removeprefix("pd_")
    return f"pd.{bare}" if bare != label and bare in _RESOURCE else label
