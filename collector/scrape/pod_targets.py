"""Targets from the pods of a Kubernetes cluster: listed, then watched, and listed again when that ends."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from collector.errors import ConfigError, Unavailable
from collector.scrape.config import Job, PodsOf
from collector.scrape.target import POOLS, Target

PAGE = 500
"""Pods asked for at once."""
WATCH_S = 240
"""How long one watch lasts before it is begun anew."""
_GONE = 410
_ANNOTATIONS = ("prometheus.io/port", "prometheus.io/path", "prometheus.io/scheme")


@dataclass(frozen=True)
class Change:
    """Targets that came, and those that went with (why, whether nobody took them away on purpose)."""

    come: Collection[Target] = ()
    gone: Mapping[Target, tuple[str, bool]] = field(default_factory=dict)


async def pod_changes(job: Job, known: dict[str, Target]) -> AsyncIterator[Change]:
    """List, then watch; ends when the watch does. known: targets by pod uid, kept up to date here.

    Raises Unavailable when the cluster does not answer, ConfigError when it can't be asked at all.
    """
    import httpx2
    from lightkube.core.exceptions import ApiError
    from lightkube.resources.core_v1 import Pod
    from msgspec import MsgspecError

    pods = job.pods
    assert pods is not None
    client = _client(pods)
    asked: dict[str, Any] = {"namespace": pods.namespace, "labels": _selector(pods)}
    try:
        listed = client.list(Pod, chunk_size=PAGE, **asked)
        now = {pod.metadata.uid: pod async for pod in listed}
        yield _listed(job, known, now)
        leaving = {uid for uid, pod in now.items() if pod.metadata.deletionTimestamp}
        watch = client.watch(Pod, resource_version=listed.resourceVersion, server_timeout=WATCH_S, **asked)
        events = aiter(watch)
        while True:
            # A connection that died without a word would be listened to for ever.
            event, pod = await asyncio.wait_for(anext(events), WATCH_S + 30)
            change = _changed(job, known, event, pod, leaving)
            if change:
                yield change
    except (StopAsyncIteration, TimeoutError):
        return
    except httpx2.HTTPStatusError as error:
        status = error.status if isinstance(error, ApiError) else None
        code = (status and status.code) or (error.response.status_code if error.response else 0)
        if code == _GONE:
            # What was listed is too old to go on from: it is listed again.
            return
        raise Unavailable(f"Kubernetes refuses: {(status and status.message) or f'HTTP {code}'}") from error
    except (httpx2.HTTPError, MsgspecError, OSError) as error:
        raise Unavailable(f"Kubernetes does not answer: {error or type(error).__name__}") from error
    finally:
        await client.close()


def _listed(job: Job, known: dict[str, Target], pods: Mapping[str, Any]) -> Change:
    """What changed since the last list or watch; a pod that is not there any more went unseen."""
    found = {uid: target for uid, pod in pods.items() if (target := pod_target(job, pod))}
    gone = {
        known[uid]: _why(pods[uid], set()) if uid in pods else ("deleted", True)
        for uid in known
        if known[uid] != found.get(uid)
    }
    come = [target for uid, target in found.items() if known.get(uid) != target]
    known.clear()
    known.update(found)
    return Change(come, gone)


def _changed(job: Job, known: dict[str, Target], event: str, pod: Any, leaving: set[str]) -> Change | None:
    uid = pod.metadata.uid
    before = known.get(uid)
    now = None if event == "DELETED" else pod_target(job, pod)
    if pod.metadata.deletionTimestamp and event != "DELETED":
        leaving.add(uid)
    if before == now:
        return None
    gone = {before: _why(pod, leaving) if now is None else ("changed", False)} if before else {}
    if now is None:
        known.pop(uid, None)
        if event == "DELETED":
            leaving.discard(uid)
    else:
        known[uid] = now
    return Change([now] if now else (), gone)


def _why(pod: Any, leaving: Collection[str]) -> tuple[str, bool]:
    """Why a pod is no target any more, and whether that was nobody's wish."""
    phase = pod.status.phase if pod.status else ""
    if phase == "Failed":
        return (pod.status.reason or "Failed"), True
    if phase == "Succeeded":
        return "Succeeded", False
    asked_to_go = pod.metadata.uid in leaving or bool(pod.metadata.deletionTimestamp)
    return "deleted", not asked_to_go


def pod_target(job: Job, pod: Any) -> Target | None:
    """The target that a pod is; None when it does not run, has no address, or says no port."""
    pods, status = job.pods, pod.status
    assert pods is not None
    if not status or status.phase != "Running" or not status.podIP:
        return None
    annotations, labels = pod.metadata.annotations or {}, pod.metadata.labels or {}
    said_port, said_path, said_scheme = (annotations.get(name, "") for name in _ANNOTATIONS)
    port = _port(pod, pods.port or said_port)
    if port is None:
        return None
    told = {"pod": pod.metadata.name, "k8s.namespace.name": pod.metadata.namespace or ""}
    if pod.spec.nodeName:
        told["k8s.node.name"] = pod.spec.nodeName
    if labels.get(pods.pool_label, "").lower() in POOLS:
        told["pool"] = labels[pods.pool_label]
    if said_path and not job.path:
        told["__metrics_path__"] = said_path
    if said_scheme in ("http", "https"):
        told["__scheme__"] = said_scheme
    host = f"[{status.podIP}]" if ":" in status.podIP else status.podIP
    return job.target(f"{host}:{port}", told)


def _port(pod: Any, wanted: str) -> int | None:
    if wanted.isdecimal():
        return int(wanted)
    ports = [port for container in pod.spec.containers for port in container.ports or ()]
    if wanted:
        return next((port.containerPort for port in ports if port.name == wanted), None)
    return int(ports[0].containerPort) if len(ports) == 1 else None


def _selector(pods: PodsOf) -> Any:
    """Labels as the client takes them: a value, a list of values, or None for a label that is there."""
    return {
        name: values[0] if len(values) == 1 else list(values) or None for name, values in pods.labels
    } or None


def _client(pods: PodsOf) -> Any:
    try:
        from lightkube import AsyncClient, KubeConfig
        from lightkube.core.exceptions import ConfigError as NoCluster
    except ImportError as error:
        raise ConfigError(
            "targets from Kubernetes need the lightkube package: pip install 'pdscope[kubernetes]'"
        ) from error
    try:
        config = KubeConfig.from_file(pods.kubeconfig) if pods.kubeconfig else KubeConfig.from_env()
        return AsyncClient(config=config)
    except (NoCluster, OSError, ValueError, KeyError) as error:
        where = pods.kubeconfig or "this pod's service account, KUBECONFIG or ~/.kube/config"
        raise ConfigError(f"no way to Kubernetes by {where}: {error}") from error
