"""A benchmark receipt: what a replay measured. Everything in it was observed by the client that replayed.

Its published JSON Schema, `benchmark_schema.json`, is generated from here.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from analyzer.plan.errors import BadReceipt
from analyzer.plan.receipt_model import Part, Versions

SCHEMA = "pdscope.benchmark-receipt/1"
TOKEN_EDGES = (0, 1024, 4096, 16384)
BUCKET_NAMES = ("0-1K", "1-4K", "4-16K", "16K+")


class TracePart(Part):
    """What was replayed: a trace file by name and digest, or a store's window."""

    kind: Literal["azure", "mooncake", "store"]
    name: str
    sha256: str | None = Field(pattern="^[0-9a-f]{64}$")
    first: int = Field(ge=0)
    requests: int = Field(ge=0)
    speed: float = Field(gt=0)


class TargetPart(Part):
    """Where it went; the address without credentials."""

    url: str
    path: str
    model: str
    cohort: str | None
    layout: str | None


class ClientPart(Part):
    """How well the client kept the arrival times; `kept_up`: its own lag did not distort the load."""

    concurrency_limit: int = Field(ge=1)
    most_in_flight: int = Field(ge=0)
    lag_p50_s: float | None
    lag_p99_s: float | None
    lag_max_s: float | None
    held_back: int = Field(ge=0)
    kept_up: bool
    statement: str


class LengthsPart(Part):
    """How prompt lengths were reached, and how far off they were where the server told."""

    how: str
    words_per_token: float | None
    asked_mean: float | None
    told_mean: float | None
    told: int = Field(ge=0)


class ObjectivePart(Part):
    """What the client's latencies are held to."""

    ttft_s: float = Field(gt=0)
    tpot_s: float = Field(gt=0)


class BucketPart(Part):
    """Requests by asked prompt length."""

    name: str
    requests: int = Field(ge=0)
    ttft50_s: float | None
    ttft95_s: float | None


class FiguresPart(Part):
    """What the client saw; null where nothing was measured."""

    label: Literal["measured"]
    sent: int = Field(ge=0)
    answered: int = Field(ge=0)
    met_count: int = Field(ge=0)
    failed: dict[str, int]
    ttft50_s: float | None
    ttft95_s: float | None
    ttft99_s: float | None
    tpot50_s: float | None
    tpot95_s: float | None
    tpot99_s: float | None
    itl99_s: float | None
    requests_per_s: float | None
    output_tokens_per_s: float | None
    output_tokens_by: Literal["usage", "chunks", "both"] | None


class Benchmark(Part):
    """A benchmark receipt; `complete` is false when it was interrupted. `digest` seals all other fields."""

    schema_version: Literal["pdscope.benchmark-receipt/1"]
    label: Literal["measured"]
    complete: bool
    why_incomplete: str | None
    started_at: str
    ended_at: str
    versions: Versions
    trace: TracePart
    target: TargetPart
    client: ClientPart
    lengths: LengthsPart
    objective: ObjectivePart
    figures: FiguresPart
    buckets: list[BucketPart]
    digest: str = Field(pattern="^[0-9a-f]{64}$")

    @property
    def layout(self) -> str | None:
        """The layout that was said to be measured."""
        return self.target.layout


def seal(fields: dict[str, Any]) -> dict[str, Any]:
    """The receipt with its digest. ValidationError when a field is not what it must be."""
    receipt = {**fields, "digest": _digest(fields)}
    Benchmark.model_validate(receipt)
    return receipt


def parse_benchmark(text: str, where: str) -> Benchmark:
    """A benchmark receipt from its JSON. Raises BadReceipt naming `where` and the field."""
    try:
        found = Benchmark.model_validate_json(text)
        raw = json.loads(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise BadReceipt(
            f"{where}: {place}: {first['msg']}; expected a receipt of `pdscope replay`"
        ) from error
    if _digest(raw) != found.digest:
        raise BadReceipt(f"{where}: digest: the receipt was changed after it was written; replay again")
    return found


def read_benchmark(path: Path) -> Benchmark:
    """The benchmark receipt in a file. Raises BadReceipt."""
    try:
        return parse_benchmark(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise BadReceipt(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadReceipt(f"{path}: is not UTF-8 text: {error.reason}") from error


def schema_text() -> str:
    """The published JSON Schema, as in `benchmark_schema.json`."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Benchmark.model_json_schema()}
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


def _digest(fields: dict[str, Any]) -> str:
    body = {key: value for key, value in fields.items() if key != "digest"}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
