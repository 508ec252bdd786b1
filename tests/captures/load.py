"""Real captures: the OTLP bodies that were received and what the client saw."""

import gzip
import json
import struct
from functools import cache

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.paths import CAPTURES

VLLM = CAPTURES / "vllm-0.32.0"
DYNAMO = CAPTURES / "dynamo-1.6.1"


@cache
def bodies(name: str) -> tuple[bytes, ...]:
    """Exports of `vllm/NAME` or `dynamo/NAME`, in order of arrival."""
    system, run = name.split("/")
    return tuple(_vllm(run) if system == "vllm" else _dynamo(run))


def _vllm(run: str) -> list[bytes]:
    with gzip.open(VLLM / run / "otlp.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [
            ParseDict(json.loads(line)["body"], ExportTraceServiceRequest()).SerializeToString()
            for line in lines
        ]


def _dynamo(run: str) -> list[bytes]:
    data = gzip.decompress((DYNAMO / run / "otlp_traces.bin.gz").read_bytes())
    found, at = [], 0
    while at < len(data):
        _, length = struct.unpack_from(">QI", data, at)
        at += 12
        found.append(data[at : at + length])
        at += length
    return found


def client(name: str, file: str = "client") -> list[dict]:
    """What the client saw of each request."""
    system, run = name.split("/")
    path = (VLLM if system == "vllm" else DYNAMO) / run / f"{file}.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
