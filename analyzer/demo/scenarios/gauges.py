"""What the engines' metrics read at an instant."""

from collections.abc import Sequence
from dataclasses import dataclass

from analyzer.demo.scenarios.decode import DecodeWorker
from analyzer.demo.scenarios.prefill import PrefillWorker
from analyzer.demo.scenarios.trip import Trip


@dataclass(frozen=True)
class Reading:
    """One series' value: `labels` tell it from others of the name; `counts`: a cumulative sum."""

    worker: str
    name: str
    value: float
    labels: tuple[tuple[str, str], ...] = ()
    counts: bool = False


@dataclass(frozen=True)
class Gauges:
    """All readings of one instant, seconds from the start."""

    at: float
    readings: list[Reading]


def sample(
    now: float, trips: Sequence[Trip], prefill: Sequence[PrefillWorker], decode: Sequence[DecodeWorker]
) -> Gauges:
    """Read every worker and the router."""
    under_way = [trip for trip in trips if trip.alive]
    oldest = max((now - trip.arrived for trip in under_way), default=0.0)
    readings = [
        Reading("router-0", "pd.requests.in_flight", float(len(under_way))),
        Reading("router-0", "pd.requests.oldest_age", oldest),
    ]
    for worker in prefill:
        readings.append(Reading(worker.name, "up", float(worker.number < worker.setup.workers)))
        running = 1 if worker.running else 0
        readings += _engine(worker.name, len(worker.queue), running, worker.kv_used, worker.setup.kv_tokens)
        device = (("device", "mlx5_0"),)
        readings.append(
            Reading(worker.name, "node_network_transmit_bytes_total", worker.sent_bytes, device, True)
        )
    for each in decode:
        readings.append(Reading(each.name, "up", float(each.number < each.setup.workers)))
        waiting, running = len(each.queue), len(each.running)
        arriving = len(each.placed) - running
        readings += _engine(each.name, waiting + arriving, running, each.kv_used, each.setup.kv_tokens)
        for reason, count in (("capacity", waiting), ("deferred", arriving)):
            name = "vllm:num_requests_waiting_by_reason"
            readings.append(Reading(each.name, name, float(count), (("reason", reason),)))
        readings += [
            Reading(each.name, "vllm:num_preemptions_total", float(each.preemptions), (), True),
            Reading(each.name, "vllm:generation_tokens_total", float(each.generated), (), True),
        ]
    return Gauges(now, readings)


def _engine(worker: str, waiting: int, running: int, used: int, room: int) -> list[Reading]:
    blocks = (("block_size", "16"), ("num_gpu_blocks", str(room // 16)))
    return [
        Reading(worker, "vllm:num_requests_waiting", float(waiting)),
        Reading(worker, "vllm:num_requests_running", float(running)),
        Reading(worker, "vllm:kv_cache_usage_perc", min(1.0, used / room)),
        Reading(worker, "vllm:cache_config_info", 1.0, blocks),
    ]
