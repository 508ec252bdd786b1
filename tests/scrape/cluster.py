"""A Kubernetes API server in the API's own shape: lists in pages, watches that stream, 410 when too late."""

import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.scrape.pages import serving


def pod(name: str, ip: str = "127.0.0.1", port: int = 8100, **changes: Any) -> dict[str, Any]:
    """A running pod as the API gives it, shortened."""
    made: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "llm",
            "uid": f"uid-{name}",
            "resourceVersion": "1",
            "labels": {"app": "vllm", "llm-d.ai/role": name.split("-")[0]},
            "annotations": {},
        },
        "spec": {
            "nodeName": "node-1",
            "containers": [
                {"name": "vllm", "ports": [{"name": "metrics", "containerPort": port, "protocol": "TCP"}]}
            ],
        },
        "status": {"phase": "Running", "podIP": ip, "conditions": [{"type": "Ready", "status": "True"}]},
    }
    for path, value in changes.items():
        part, _, key = path.partition("__")
        if key:
            made[part][key] = value
        else:
            made[part] = value
    return made


@dataclass
class Cluster:
    """What the API server holds; `send` puts an event on the watch that is open."""

    pods: list[dict[str, Any]] = field(default_factory=list)
    version: int = 100
    page: int = 2
    asked: list[tuple[str, dict[str, list[str]]]] = field(default_factory=list)
    gone: bool = False
    """Watches are refused: what was listed is too old."""
    forbidden: bool = False
    kubeconfig: Path = Path()
    events: "queue.Queue[dict[str, Any] | None]" = field(default_factory=queue.Queue)
    watching: threading.Event = field(default_factory=threading.Event)

    def send(self, kind: str, what: dict[str, Any]) -> None:
        self.version += 1
        if kind != "ERROR":
            what = {**what, "metadata": {**what["metadata"], "resourceVersion": str(self.version)}}
        self.events.put({"type": kind, "object": what})

    def hang_up(self) -> None:
        self.events.put(None)

    @property
    def lists(self) -> int:
        return sum("watch" not in query and "continue" not in query for _, query in self.asked)


def status(code: int, reason: str, message: str) -> dict[str, Any]:
    """How the API says no."""
    return {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
        "reason": reason, "code": code,
    }  # fmt: skip


@contextmanager
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    held = Cluster()

    def answer(handler: Any) -> None:
        address = urlsplit(handler.path)
        query = parse_qs(address.query)
        held.asked.append((address.path, query))
        if held.forbidden:
            _json(
                handler,
                403,
                status(403, "Forbidden", 'pods is forbidden: User "x" cannot list resource "pods"'),
            )
        elif "watch" in query:
            _watch(handler, held)
        else:
            _list(handler, held, query)

    with serving({"/api/v1/namespaces/llm/pods": answer, "/api/v1/pods": answer}) as server:
        held.kubeconfig = tmp_path / "kubeconfig"
        held.kubeconfig.write_text(
            json.dumps(
                {
                    "current-context": "c",
                    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                    "clusters": [{"name": "c", "cluster": {"server": f"http://{server.address}"}}],
                    "users": [{"name": "u", "user": {"token": "t"}}],
                }
            )
        )
        yield held
        held.hang_up()


def _list(handler: Any, held: Cluster, query: dict[str, list[str]]) -> None:
    first = int(query.get("continue", ["0"])[0])
    items = held.pods[first : first + held.page]
    more = {"continue": str(first + held.page)} if first + held.page < len(held.pods) else {}
    metadata = {"resourceVersion": str(held.version), **more}
    _json(handler, 200, {"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items})


def _watch(handler: Any, held: Cluster) -> None:
    if held.gone:
        held.gone = False
        _json(handler, 410, status(410, "Expired", "too old resource version: 1 (100)"))
        return
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.end_headers()
    held.watching.set()
    while (event := held.events.get()) is not None:
        try:
            handler.wfile.write(json.dumps(event).encode() + b"\n")
            handler.wfile.flush()
        except OSError:
            return
    held.watching.clear()


def _json(handler: Any, code: int, body: dict[str, Any]) -> None:
    data = json.dumps(body).encode()
    handler.send_response(code)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)
