"""Real vLLM in prefill/decode mode on this machine: both engines, vllm-router, and `pdscope tap` in front."""

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.integration.running import Server, environment
from tests.live.environments import bare
from tests.live.processes import Child, NotReady, free_ports, go_first
from tests.live.set_up import HERE, VLLM

MODEL = "tiny"
LEASE_S = 15
READY_S = 420.0
ROLES = {"prefill": "kv_producer", "decode": "kv_consumer"}


@dataclass(frozen=True)
class Ports:
    """Where everything listens."""

    prefill: int
    decode: int
    prefill_side: int
    decode_side: int
    router: int
    router_metrics: int


class VllmStack:
    """Started by `start`; `children` are the caller's to stop."""

    def __init__(self, server: Server, folder: Path, children: list[Child]) -> None:
        self.server = server
        self.folder = folder
        self.ports = Ports(*free_ports(6))
        self._children = children
        self.engines: dict[str, Child] = {}
        self.url = ""
        self.timed_first = False
        self.started_s: dict[str, float] = {}

    def start(self) -> None:
        """Start all; the engines at once, then the router and the tap."""
        for role in ROLES:
            self.engines[role] = self._engine(role)
        for role in ROLES:
            self.wait_for(role)
        self._router()
        self._tap()

    def wait_for(self, role: str) -> None:
        """Wait until an engine serves."""
        began = time.monotonic()
        self.engines[role].wait_for(f"{self.engine_url(role)}/health", READY_S)
        self.started_s[role] = time.monotonic() - began

    def revive(self, role: str) -> None:
        """Start an engine again that was killed, and wait until the router sends requests through it."""
        self.engines[role].restart()
        self.wait_for(role)
        body = {"model": MODEL, "prompt": [300, 301, 302], "max_tokens": 2}
        for _ in range(60):
            if httpx.post(f"{self.url}/v1/completions", json=body, timeout=120).status_code == 200:
                return
            time.sleep(2)
        raise NotReady(f"the router sends no request through {role} again:\n{self.engines[role].log_end()}")

    def engine_url(self, role: str) -> str:
        return f"http://127.0.0.1:{getattr(self.ports, role)}"

    def name(self, role: str) -> str:
        """The worker as requests name it."""
        return f"127.0.0.1:{getattr(self.ports, role)}"

    def metric(self, role: str, name: str) -> float:
        """Sum of an engine's metric over its labels; 0 when it has none."""
        page = httpx.get(f"{self.engine_url(role)}/metrics", timeout=30).text
        lines = (line for line in page.splitlines() if line.startswith((name + "{", name + " ")))
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines)

    def _engine(self, role: str) -> Child:
        transfer = {
            "kv_connector": "NixlConnector",
            "kv_connector_module_path": "collector.instrument.vllm_connector",
            "kv_role": ROLES[role],
            "kv_buffer_device": "cpu",
            "kv_connector_extra_config": {"kv_lease_duration": LEASE_S},
        }
        command = [
            # what times tokens goes before what makes them: two engines want all of two cores
            *("nice", "-n", "10", str(VLLM.folder / "bin/vllm"), "serve", str(VLLM.model)),
            *("--served-model-name", MODEL, "--host", "127.0.0.1", "--port", str(getattr(self.ports, role))),
            *("--dtype", "bfloat16", "--max-model-len", "4096", "--block-size", "32"),
            *("--max-num-seqs", "32", "--max-num-batched-tokens", "2048", "--enforce-eager"),
            "--enable-request-id-headers",
            *("--otlp-traces-endpoint", self._otlp(), "--kv-transfer-config", json.dumps(transfer)),
        ]
        return self._child(role, command, self._engine_environment(role))

    def _engine_environment(self, role: str) -> dict[str, str]:
        return {
            **bare(self.folder, VLLM),
            "OTEL_SERVICE_NAME": f"vllm-{role}",
            "OTEL_EXPORTER_OTLP_ENDPOINT": self._otlp(),
            "OTEL_BSP_SCHEDULE_DELAY": "1000",
            "VLLM_CPU_KVCACHE_SPACE": "1",
            "VLLM_CPU_OMP_THREADS_BIND": "nobind",
            "OMP_NUM_THREADS": "1",
            "OMP_WAIT_POLICY": "PASSIVE",
            "UCX_NET_DEVICES": "lo",
            "VLLM_NIXL_SIDE_CHANNEL_HOST": "127.0.0.1",
            "VLLM_NIXL_SIDE_CHANNEL_PORT": str(getattr(self.ports, f"{role}_side")),
        }

    def _router(self) -> None:
        ports = self.ports
        command = [
            *(str(VLLM.python), str(HERE / "traced_router.py"), self.server.otlp_grpc),
            *("--vllm-pd-disaggregation", "--prefill", self.engine_url("prefill")),
            *("--decode", self.engine_url("decode"), "--host", "127.0.0.1", "--port", str(ports.router)),
            *("--prometheus-host", "127.0.0.1", "--prometheus-port", str(ports.router_metrics)),
            *("--policy", "round_robin", "--kv-connector", "nixl", "--health-check-interval-secs", "5"),
        ]
        router = self._child(
            "router",
            command,
            {
                **bare(self.folder, VLLM),
                "OTEL_SERVICE_NAME": "vllm-router",
                "OTEL_BSP_SCHEDULE_DELAY": "1000",
            },
        )
        router.wait_for(f"http://127.0.0.1:{ports.router}/health", 60)

    def _tap(self) -> None:
        command = [
            *(sys.executable, "-m", "analyzer.cli.main", "tap", "--listen", "127.0.0.1:0"),
            *("--upstream", f"http://127.0.0.1:{self.ports.router}", "--otlp", self._otlp(), "--drain", "1"),
        ]
        tap = self._child("tap", command, environment(COLUMNS="300"))
        line = tap.wait_for_line("tap listening on")
        self.timed_first = go_first(tap.pid)
        self.url = line.split("listening on ")[1].split(" ")[0]

    def _otlp(self) -> str:
        return f"http://{self.server.otlp_grpc}"

    def _child(self, name: str, command: list[str], environment: dict[str, str]) -> Child:
        child = Child(name, command, environment, self.folder)
        self._children.append(child)
        return child
