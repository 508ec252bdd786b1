"""Engine-thread time of the traced KV connector's hooks, per request, beside one SDK span made on the spot.

    python -m bench.kv_hooks [--requests 5000] [--pause-us 5000]

Each request makes every call that vLLM makes of a connector for it, on the producing and the consuming side,
once with the bare connector and once with the traced one, each after a pause; the worker thread builds and
drops the spans meanwhile. As in vLLM's engine (`freeze_gc_heap` once it has started), the garbage collector
leaves alone what was there before. "Added" is the difference of the quantiles. CPU is the engine thread's
own; wall time also holds what other processes and the worker thread took from it.
"""

import argparse
import gc
import statistics
import time

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from collector.instrument import vllm_attach, vllm_connector
from collector.instrument.export import EXPORT_EVERY_MS
from collector.instrument.ids import EntropyIds
from tests.instrument.nixl_shape import Engine, NixlConnector

CALLER = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}


class Dropping(SpanExporter):
    """Takes spans and keeps none."""

    seen = 0

    def export(self, spans):
        Dropping.seen += len(spans)
        return SpanExportResult.SUCCESS

    def shutdown(self):
        pass


def provider():
    made = TracerProvider(id_generator=EntropyIds(), shutdown_on_exit=False)
    made.add_span_processor(BatchSpanProcessor(Dropping(), schedule_delay_millis=EXPORT_EVERY_MS))
    return made


def engine(make, side):
    producer = side == "producer"
    settings = {
        "kv_role": "kv_producer" if producer else "kv_consumer",
        "engine_id": "engine-p" if producer else "engine-d",
    }
    return Engine(make, **settings)


def attached(inner):
    """The traced class, its spans going to the dropping exporter instead of an endpoint."""
    made = vllm_connector.traced(inner)

    def make(vllm_config, role, cache):
        connector = made(vllm_config, role, cache)
        if role.name == "SCHEDULER":
            connector._pd = vllm_attach.attach_scheduler(connector, vllm_config, cache, provider())
        else:
            connector._pd = vllm_attach.attach_worker(connector, vllm_config)
        return connector

    return make


def life(engine, side, name):
    """All connector calls of one request and its last step: nanoseconds of this thread's CPU, and wall."""
    wall, start = time.perf_counter_ns(), time.thread_time_ns()
    if side == "producer":
        made = engine.publish(name, CALLER)
        engine.step()
        engine.ranks[0].connector_worker.pulled = {made.request_id}
        engine.step()
    else:
        asked = engine.pull(name, CALLER)
        engine.step()
        engine.scheduler.request_finished_all_groups(asked, ([],))
    return time.thread_time_ns() - start, time.perf_counter_ns() - wall


def one_sdk_span(tracer):
    start = time.thread_time_ns()
    span = tracer.start_span("pd.kv_transfer", attributes={f"pd.kv.a{n}": n for n in range(10)})
    span.end()
    return time.thread_time_ns() - start


def quantiles(values):
    """p50 and p99, microseconds."""
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    return cuts[49] / 1e3, cuts[98] / 1e3


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--pause-us", type=float, default=5000, help="between requests, as a step would take")
    arguments = parser.parse_args()
    tracer = provider().get_tracer("bench")
    pause_s = arguments.pause_us / 1e6
    for side in ("producer", "consumer"):
        bare, traced = engine(NixlConnector, side), engine(attached(NixlConnector), side)
        gc.collect()
        gc.freeze()
        plain, hooked, spans = [], [], []
        for number in range(arguments.requests):
            plain.append(life(bare, side, f"b{number}"))
            time.sleep(pause_s)
            hooked.append(life(traced, side, f"t{number}"))
            time.sleep(pause_s)
            spans.append(one_sdk_span(tracer))
            time.sleep(pause_s)
        traced.scheduler.shutdown()
        for what, index in (("CPU", 0), ("wall", 1)):
            without, having = (quantiles([each[index] for each in lives]) for lives in (plain, hooked))
            print(
                f"{side}, {what} us at p50, p99: bare {without[0]:.1f}, {without[1]:.1f}; "
                f"traced {having[0]:.1f}, {having[1]:.1f}; "
                f"added {having[0] - without[0]:.1f}, {having[1] - without[1]:.1f}"
            )
        print(f"{side}, CPU us of one SDK span: p50 {quantiles(spans)[0]:.1f}, p99 {quantiles(spans)[1]:.1f}")
    print(f"{Dropping.seen} spans were built meanwhile")


if __name__ == "__main__":
    main()
