"""What the engines' metrics read during a run: the workers' logs, sampled, under the engines' names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality

from .decode import DecodeWorker
from .life import Load
from .otlp import SCOPE, Export, Scalar, attributes
from .prefill import PrefillWorker
from .processes import ENGINE, Stage
from .spec import NS
from .stream import ROUTER

Values = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Series:
    """One stream of one process: a gauge or a cumulative sum, a value for each sampling instant."""

    name: str
    process: str
    values: Values
    cumulative: bool = False
    labels: dict[str, Scalar] = field(default_factory=dict)


def instants(stage: Stage) -> np.ndarray[Any, np.dtype[np.int64]]:
    """When everything is sampled, ns from the start; never more than 60 times."""
    end, every = stage.scenario.run.end, stage.scenario.scrape_s * NS
    return np.arange(0, end + 1, max(every, end // 60), dtype=np.int64)


def metric_exports(stage: Stage) -> list[Export]:
    """All series of a scenario in one export."""
    request = ExportMetricsServiceRequest()
    t = instants(stage)
    scopes: dict[str, Any] = {}
    items = 0
    for series in all_series(stage):
        if series.process not in scopes:
            resource_metrics = request.resource_metrics.add(resource=stage.resource(series.process))
            scopes[series.process] = resource_metrics.scope_metrics.add()
            scopes[series.process].scope.name = SCOPE
        metric = scopes[series.process].metrics.add(name=series.name)
        labels = attributes(_labels(stage, series))
        points = metric.sum.data_points if series.cumulative else metric.gauge.data_points
        if series.cumulative:
            metric.sum.is_monotonic = True
            metric.sum.aggregation_temporality = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
        for at, value in zip(t.tolist(), series.values.tolist(), strict=True):
            point = points.add(
                time_unix_nano=stage.stamp(series.process, at), as_double=value, attributes=labels
            )
            if series.cumulative:
                point.start_time_unix_nano = stage.stamp(series.process, 0)
            items += 1
    return [Export("metrics", request.SerializeToString(deterministic=True), items)]


def _labels(stage: Stage, series: Series) -> dict[str, Scalar]:
    key = "gen_ai.request.model" if series.process == ROUTER else "model_name"
    return {key: stage.model, **series.labels}


def all_series(stage: Stage) -> list[Series]:
    """Router, prefill and decode."""
    run, t = stage.scenario.run, instants(stage)
    out = _router(stage, t)
    sglang = ENGINE[stage.mode] == "sglang"
    for prefill in run.prefill:
        out += (_sglang_prefill if sglang else _vllm_prefill)(stage, prefill, t)
    for decode in run.decode:
        out += (_sglang_decode if sglang else _vllm_decode)(stage, decode, t)
    return out


def _sample(log: list[Load], column: int, t: np.ndarray) -> Values:
    at = np.array([load.at for load in log])
    values = np.array([load[column] for load in log], dtype=float)
    return values[np.searchsorted(at, t, side="right") - 1]


def _count(times: list[int], t: np.ndarray) -> Values:
    return np.searchsorted(np.sort(np.array(times, dtype=np.int64)), t, side="right").astype(float)


def _accumulate(events: list[tuple[int, int]], t: np.ndarray) -> Values:
    if not events:
        return np.zeros(len(t))
    ordered = sorted(events)
    total = np.concatenate([[0.0], np.cumsum([amount for _, amount in ordered])])
    return total[np.searchsorted(np.array([at for at, _ in ordered]), t, side="right")]


def _vllm(
    stage: Stage, name: str, loads: dict[str, Values], kv_tokens: int, log: list[Load], t: Any
) -> list[Series]:
    config = {"block_size": "16", "num_gpu_blocks": str(kv_tokens // 16)}
    used = np.clip(_sample(log, 4, t) / kv_tokens, 0.0, 1.0)
    return [
        *(Series(f"vllm:{key}", name, values) for key, values in loads.items()),
        Series("vllm:kv_cache_usage_perc", name, used),
        Series("vllm:cache_config_info", name, np.ones(len(t)), labels=dict(config)),
    ]


def _vllm_prefill(stage: Stage, worker: PrefillWorker, t: Any) -> list[Series]:
    loads = {
        "num_requests_waiting": _sample(worker.log, 1, t),
        "num_requests_running": _sample(worker.log, 3, t),
    }
    expired = [at for at, number in stage.scenario.run.handover.expired if number == worker.number]
    return [
        *_vllm(stage, worker.name, loads, worker.spec.kv_tokens, worker.log, t),
        Series("vllm:nixl_num_kv_expired_reqs_total", worker.name, _count(expired, t), cumulative=True),
        _sent(stage, worker, t),
    ]


def _vllm_decode(stage: Stage, worker: DecodeWorker, t: Any) -> list[Series]:
    queue, deferred = _sample(worker.log, 1, t), _sample(worker.log, 2, t)
    loads = {"num_requests_waiting": queue + deferred, "num_requests_running": _sample(worker.log, 3, t)}
    failed = [at for at, number in stage.scenario.run.handover.failed if number == worker.number]
    by_reason = "vllm:num_requests_waiting_by_reason"
    return [
        *_vllm(stage, worker.name, loads, worker.spec.kv_tokens, worker.log, t),
        Series(by_reason, worker.name, queue, labels={"reason": "capacity"}),
        Series(by_reason, worker.name, deferred, labels={"reason": "deferred"}),
        Series("vllm:num_preemptions_total", worker.name, _count(worker.preemptions, t), cumulative=True),
        Series("vllm:nixl_num_failed_transfers_total", worker.name, _count(failed, t), cumulative=True),
        Series(
            "vllm:generation_tokens_total", worker.name, _accumulate(worker.tokens_out, t), cumulative=True
        ),
    ]


def _sglang(name: str, loads: dict[str, Values], kv_tokens: int, log: list[Load], t: Any) -> list[Series]:
    used = np.clip(_sample(log, 4, t) / kv_tokens, 0.0, 1.0)
    return [
        *(Series(f"sglang:{key}", name, values) for key, values in loads.items()),
        Series("sglang:token_usage", name, used),
        Series("sglang:max_total_num_tokens", name, np.full(len(t), float(kv_tokens))),
    ]


def _sglang_prefill(stage: Stage, worker: PrefillWorker, t: Any) -> list[Series]:
    loads = {
        "num_queue_reqs": _sample(worker.log, 1, t),
        "num_prefill_bootstrap_queue_reqs": _sample(worker.log, 2, t),
        "num_running_reqs": _sample(worker.log, 3, t),
    }
    return [*_sglang(worker.name, loads, worker.spec.kv_tokens, worker.log, t), _sent(stage, worker, t)]


def _sglang_decode(stage: Stage, worker: DecodeWorker, t: Any) -> list[Series]:
    loads = {
        "num_queue_reqs": np.zeros(len(t)),
        "num_decode_prealloc_queue_reqs": _sample(worker.log, 1, t),
        "num_decode_transfer_queue_reqs": _sample(worker.log, 2, t),
        "num_running_reqs": _sample(worker.log, 3, t),
    }
    failed = [at for at, number in stage.scenario.run.handover.failed if number == worker.number]
    retracted = "sglang:num_retracted_requests_total"
    return [
        *_sglang(worker.name, loads, worker.spec.kv_tokens, worker.log, t),
        Series(retracted, worker.name, _count(worker.preemptions, t), cumulative=True),
        Series("sglang:num_transfer_failed_reqs_total", worker.name, _count(failed, t), cumulative=True),
    ]


def _sent(stage: Stage, worker: PrefillWorker, t: Any) -> Series:
    moved = [
        (end, nbytes) for _, end, nbytes, number in stage.scenario.run.handover.nic if number == worker.number
    ]
    name = "node_network_transmit_bytes_total"
    return Series(name, worker.name, _accumulate(moved, t), cumulative=True, labels={"device": "mlx5_0"})


def _router(stage: Stage, t: Any) -> list[Series]:
    lives = stage.scenario.run.lives
    start = np.array([life.ask.arrival for life in lives])
    end = np.array([life.ended for life in lives])
    open_at = (start[None, :] <= t[:, None]) & (end[None, :] > t[:, None])
    ages = np.where(open_at, t[:, None] - start[None, :], 0)
    return [
        Series("pd.requests.in_flight", ROUTER, open_at.sum(axis=1).astype(float)),
        Series("pd.requests.oldest_age", ROUTER, ages.max(axis=1) / NS),
    ]
