"""Plays a scenario live over OTLP/gRPC, as its processes would export it, again and again until stopped."""

import threading
import time
from collections.abc import Iterator

import grpc

from analyzer.demo.scenarios.catalogue import Scenario
from analyzer.demo.scenarios.spans import Stage, metrics_body, spans, traces_body

_TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
_METRICS = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
EXPORT_EVERY_S = 1.0
MODEL = "demo-70b"


class Player:
    """Plays on a thread of its own. `address`: HOST:PORT of an OTLP/gRPC listener.

    With a `speed` above 1 the first round is told that many times as fast, and lies so far in the past at its
    start that it ends at the present; later rounds are played in real time.
    """

    def __init__(self, address: str, scenario: Scenario, speed: float, seed: int = 1):
        if not speed >= 1.0:
            raise ValueError(f"speed is {speed:g}; it must be at least 1 (real time)")
        self._channel = grpc.insecure_channel(address)
        self._export: dict[str, grpc.UnaryUnaryMultiCallable[bytes, bytes]] = {
            path: self._channel.unary_unary(path) for path in (_TRACES, _METRICS)
        }
        self._scenario, self._speed, self._seed = scenario, speed, seed
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._play, name="demo-scenario", daemon=True)
        self.failures: list[str] = []
        self.first_round = threading.Event()
        """Set when everything of the first round was sent."""
        self.window_ns = (0, 0)
        """Start and end of the first round, Unix nanoseconds; known once it began."""
        self.requests = 0
        """Requests of the first round."""

    def start(self) -> None:
        """Start playing."""
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether it plays."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Stop after the export under way."""
        self._stop.set()
        self._thread.join()
        self._channel.close()

    def _play(self) -> None:
        speed, number = self._speed, 0
        while not self._stop.is_set():
            stage = self._stage(number, speed)
            if not number:
                self.window_ns = (stage.base_ns, stage.stamp(stage.take.ended_s) + 1)
                self.requests = len(stage.take.trips)
            if not self._round(stage, speed):
                return
            self.first_round.set()
            speed, number = 1.0, number + 1

    def _stage(self, number: int, speed: float) -> Stage:
        take = self._scenario.play(self._seed + number)
        behind = take.ended_s * (1 - 1 / speed)
        base = time.time_ns() - round(behind * 1e9)
        return Stage(take, MODEL, base, f"{base:x}")

    def _round(self, stage: Stage, speed: float) -> bool:
        """Export every second what has ended by then; False when stopped."""
        began = time.monotonic()
        for at, path, body in exports(stage):
            if self._stop.wait(max(0.0, began + at / speed - time.monotonic())):
                return False
            try:
                self._export[path](body, timeout=30)
            except grpc.RpcError as error:
                self.failures.append(f"{self._scenario.name}: {error.code().name} {error.details()}")
                if self._stop.wait(1.0):
                    return False
        return True


def exports(stage: Stage) -> Iterator[tuple[float, str, bytes]]:
    """(when, where to, body): what had ended by each second of a take, and what the gauges read then."""
    waiting = spans(stage)
    done = 0
    readings = list(stage.take.gauges)
    tick = EXPORT_EVERY_S
    while done < len(waiting) or readings:
        upto = done
        while upto < len(waiting) and waiting[upto].at <= tick:
            upto += 1
        if upto > done:
            yield tick, _TRACES, traces_body(stage, waiting[done:upto])
            done = upto
        while readings and readings[0].at <= tick:
            yield tick, _METRICS, metrics_body(stage, readings.pop(0))
        tick += EXPORT_EVERY_S
