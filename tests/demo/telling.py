"""Sends a whole take to a running pdscope."""

from collections import defaultdict
from typing import Protocol

import httpx

from analyzer.demo.scenarios.player import exports
from analyzer.demo.scenarios.spans import Stage

AT_ONCE_S = 15.0


class Receives(Protocol):
    """Something that takes OTLP/HTTP at an address."""

    @property
    def otlp_http(self) -> str: ...


def tell(server: Receives, stage: Stage, token: str = "", metrics: bool = True) -> tuple[float, float]:
    """Send what the processes of a take export; returns the window it lies in, Unix seconds.

    Serialised exports of one kind are one valid export when they are joined.
    """
    joined: dict[tuple[int, str], list[bytes]] = defaultdict(list)
    for at, path, body in exports(stage):
        signal = "traces" if "Trace" in path else "metrics"
        if signal == "metrics" and not metrics:
            continue
        joined[int(at / AT_ONCE_S), signal].append(body)
    headers = {"content-type": "application/x-protobuf"}
    if token:
        headers["authorization"] = f"Bearer {token}"
    with httpx.Client(timeout=120, headers=headers) as client:
        for (_, signal), bodies in joined.items():
            answer = client.post(f"{server.otlp_http}/v1/{signal}", content=b"".join(bodies))
            assert answer.status_code == 200, answer.text
    return stage.base_ns / 1e9, stage.base_ns / 1e9 + stage.take.ended_s + 1
