"""Streams captures over OTLP/gRPC as the recorded processes did, in real time, again and again."""

import threading
import time
from collections.abc import Sequence

import grpc

from analyzer.demo.capture import Capture, renew

_EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


class Streamer:
    """Plays each capture on its own thread until stopped. `address`: HOST:PORT of an OTLP/gRPC listener."""

    def __init__(self, address: str, captures: Sequence[Capture]):
        self._channel = grpc.insecure_channel(address)
        self._call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = self._channel.unary_unary(_EXPORT)
        self._captures = captures
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self.failures: list[str] = []

    def start(self) -> None:
        """Start streaming; the first lap begins now."""
        lap = time.time_ns()
        for capture in self._captures:
            thread = threading.Thread(
                target=self._play, args=(capture, lap), name=f"demo-{capture.name}", daemon=True
            )
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Stop after the export under way."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._channel.close()

    def _play(self, capture: Capture, lap: int) -> None:
        while not self._stop.is_set():
            began = time.time_ns()
            for export in capture.exports:
                wait_s = (began + export.after_ns - time.time_ns()) / 1e9
                # Asked also where the recording is behind its time: a slow machine must be able to stop.
                if self._stop.wait(max(0.0, wait_s)):
                    return
                try:
                    self._call(renew(export.body, began - capture.started_ns, lap), timeout=30)
                except grpc.RpcError as error:
                    self.failures.append(f"{capture.name}: {error.code().name} {error.details()}")
                    if self._stop.wait(1.0):
                        return
            lap += 1
