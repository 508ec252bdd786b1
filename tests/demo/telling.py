"""Sends a whole take to a running pdscope."""

from collections import defaultdict

import httpx

from analyzer.demo.scenarios.player import exports
from analyzer.demo.scenarios.spans import Stage
from tests.integration.running import Server

AT_ONCE_S = 15.0


def tell(server: Server, stage: Stage) -> tuple[float, float]:
    """Send what the processes of a take export; returns the window it lies in, Unix seconds.

    Serialised exports of one kind are one valid export when they are joined.
    """
    joined: dict[tuple[int, str], list[bytes]] = defaultdict(list)
    for at, path, body in exports(stage):
        signal = "traces" if "Trace" in path else "metrics"
        joined[int(at / AT_ONCE_S), signal].append(body)
    with httpx.Client(timeout=120, headers={"content-type": "application/x-protobuf"}) as client:
        for (_, signal), bodies in joined.items():
            answer = client.post(f"{server.otlp_http}/v1/{signal}", content=b"".join(bodies))
            assert answer.status_code == 200, answer.text
    return stage.base_ns / 1e9, stage.base_ns / 1e9 + stage.take.ended_s + 1
