"""Real NVIDIA Dynamo on this machine: its frontend with the KV router, and mock engines for both pools."""

import signal
import time
from pathlib import Path

import httpx

from tests.integration.running import Server
from tests.live.environments import bare
from tests.live.processes import Child, NotReady, free_ports
from tests.live.set_up import DYNAMO

MODEL = "tiny"
PREFILLS, DECODES = 1, 2


class DynamoStack:
    """Started by `start`; `children` are the caller's to stop."""

    def __init__(self, server: Server, folder: Path, children: list[Child]) -> None:
        self.server = server
        self.folder = folder
        self.workers: dict[str, Child] = {}
        self._children = children
        self._frontend_port, *self._system_ports = free_ports(1 + PREFILLS + DECODES)
        self.url = f"http://127.0.0.1:{self._frontend_port}"

    def start(self) -> None:
        """Start the workers, then the frontend; ready when it lists the model and answers."""
        names = [f"prefill-{n}" for n in range(PREFILLS)] + [f"decode-{n}" for n in range(DECODES)]
        for name, port in zip(names, self._system_ports, strict=True):
            self.workers[name] = self._worker(name, port)
        frontend = self._child(
            "frontend",
            ["dynamo.frontend", "--http-port", str(self._frontend_port), "--router-mode", "kv"],
            {},
        )
        frontend.wait_for(f"{self.url}/health", 120)
        self._wait_until_it_answers(frontend)

    def _worker(self, name: str, system_port: int) -> Child:
        command = [
            *("dynamo.mocker", "--model-path", str(DYNAMO.model), "--model-name", MODEL),
            *("--disaggregation-mode", name.partition("-")[0]),
        ]
        return self._child(name, command, {"DYN_SYSTEM_PORT": str(system_port)})

    def _wait_until_it_answers(self, frontend: Child, seconds: float = 120.0) -> None:
        body = {"model": MODEL, "prompt": "are you there", "max_tokens": 1}
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if httpx.post(f"{self.url}/v1/completions", json=body, timeout=60).status_code == 200:
                return
            time.sleep(1)
        raise NotReady(f"the frontend never served the model:\n{frontend.log_end()}")

    def kill(self, name: str) -> None:
        """Let a worker crash."""
        self.workers[name].signal(signal.SIGKILL)

    def _child(self, name: str, module: list[str], more: dict[str, str]) -> Child:
        loopback = ("HTTP", "SYSTEM", "TCP_RPC", "TCP_RESPONSE_STREAM", "EVENT_PLANE")
        environment = {
            **bare(self.folder, DYNAMO),
            **{f"DYN_{plane}_HOST": "127.0.0.1" for plane in loopback},
            "DYN_DISCOVERY_BACKEND": "file",
            "DYN_FILE_KV": str(self.folder / "discovery"),
            "DYN_REQUEST_PLANE": "tcp",
            "DYN_EVENT_PLANE": "zmq",
            "DYN_LOGGING_JSONL": "1",
            "OTEL_EXPORT_ENABLED": "1",
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"http://{self.server.otlp_grpc}",
            "OTEL_BSP_SCHEDULE_DELAY": "1000",
            "OTEL_SERVICE_NAME": f"dynamo-{name}",
            **more,
        }
        (self.folder / "discovery").mkdir(exist_ok=True)
        child = Child(name, ["nice", "-n", "5", str(DYNAMO.python), "-m", *module], environment, self.folder)
        self._children.append(child)
        return child
