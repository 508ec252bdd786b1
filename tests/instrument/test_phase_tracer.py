import asyncio
import logging
import random
import threading

import pytest

from collector.instrument import KvHandoff, Phase, PhaseTracer, Worker
from tests.instrument.test_openai_reader import CHAT, say, sse

CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def tracer(provider):
    return PhaseTracer(provider)


def named(exporter):
    return {span.name: span for span in exporter.get_finished_spans()}


def test_ten_lines_instrument_a_proxy(tracer, exporter):
    async def proxy(headers):
        with tracer.request(headers) as request:
            with request.phase(Phase.ROUTER_QUEUE):
                await asyncio.sleep(0.02)
            for chunk in (CHAT[:100], CHAT[100:]):
                request.sent(chunk)
            return request.outgoing_headers()

    onward = asyncio.run(proxy({"Traceparent": CALLER, "X-Request-ID": "r1"}))
    spans = named(exporter)
    request, queue = spans["pd.request"], spans["pd.router_queue"]
    assert request.attributes["pd.outcome"] == "ok"
    assert request.attributes["gen_ai.usage.output_tokens"] == 2
    assert [event.name for event in request.events] == ["first_token", "last_token"]
    assert f"{request.context.trace_id:032x}" == CALLER.split("-")[1]
    assert queue.parent.span_id == request.context.span_id
    assert queue.attributes == {"pd.phase": "router_queue", "pd.request.id": "r1"}
    assert 20e6 <= queue.end_time - queue.start_time < 200e6
    assert onward["traceparent"].split("-")[2] == f"{request.context.span_id:016x}"
    assert onward["x-request-id"] == "r1"


@pytest.mark.parametrize(
    ("headers", "flags"),
    [({}, "01"), ({"traceparent": CALLER}, "01"), ({"traceparent": CALLER[:-2] + "03"}, "01"),
     ({"traceparent": CALLER[:-2] + "02"}, "00")],
)  # fmt: skip
def test_a_router_of_level_1_can_read_the_trace_context_that_is_sent_on(tracer, headers, flags):
    """opentelemetry-rust takes any further flag for invalid: vllm-router then began a trace of its own."""
    assert tracer.request(headers).outgoing_headers()["traceparent"][-2:] == flags


def test_a_worker_joins_the_request_of_its_router(tracer, exporter):
    with tracer.request() as request:
        leg = tracer.leg(request.outgoing_headers())
        with leg.phase(Phase.PREFILL_COMPUTE) as phase:
            phase.set({"gen_ai.prompt": "secret", "enduser.id": "me", "batch": 3})
        leg.record(Phase.KV_PUBLISH, 10, 20, KvHandoff("t1", bytes=4096, lease_expires_unix_nano=99))
        leg.kv_release("t1", "imported")
    spans = named(exporter)
    assert {span.context.trace_id for span in spans.values()} == {spans["pd.request"].context.trace_id}
    assert {span.attributes["pd.request.id"] for span in spans.values()} == {request.request_id}
    assert "batch" in spans["pd.prefill_compute"].attributes
    assert not {"gen_ai.prompt", "enduser.id"} & set(spans["pd.prefill_compute"].attributes)
    assert spans["pd.kv_publish"].attributes["pd.kv.bytes"] == 4096
    assert spans["pd.kv_release"].attributes["pd.kv.reason"] == "imported"


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (RuntimeError("the prompt was: secret"), "error"),
        (TimeoutError(), "timeout"),
        (asyncio.CancelledError(), "cancelled"),
    ],
)
def test_a_request_that_fails_says_how_but_not_with_which_words(tracer, exporter, error, result):
    def fail():
        with tracer.request() as request, request.phase(Phase.TOKENIZE):
            raise error

    with pytest.raises(type(error)):
        fail()
    spans = named(exporter)
    assert spans["pd.request"].attributes["pd.outcome"] == result
    assert spans["pd.tokenize"].attributes["error.type"] == type(error).__name__
    assert "secret" not in "".join(span.to_json() for span in spans.values())


def test_a_failure_after_the_first_token_is_an_interruption(tracer, exporter):
    def fail():
        with tracer.request() as request:
            request.sent(sse(say("x")))
            raise ConnectionError

    with pytest.raises(ConnectionError):
        fail()
    assert named(exporter)["pd.request"].attributes["pd.outcome"] == "interrupted"


def test_requests_do_not_mix_across_tasks_and_threads(tracer, exporter):
    async def one(number):
        with tracer.request(request_id=f"r{number}") as request:
            await asyncio.sleep(random.random() / 100)
            thread = threading.Thread(target=lambda: request.record(Phase.KV_TRANSFER, 1, 2))
            thread.start()
            with request.phase(Phase.ROUTER_QUEUE):
                await asyncio.sleep(random.random() / 100)
            thread.join()
            request.token_sent(2)

    async def all_of_them():
        await asyncio.gather(*(one(number) for number in range(50)))

    asyncio.run(all_of_them())
    spans = exporter.get_finished_spans()
    traces = {}
    for span in spans:
        traces.setdefault(span.context.trace_id, set()).add(span.attributes["pd.request.id"])
    assert len(spans) == 150
    assert sorted(len(ids) for ids in traces.values()) == [1] * 50


def test_a_phase_open_in_a_generator_closed_elsewhere_is_ended(tracer, exporter, caplog):
    async def story():
        request = tracer.request()

        async def chunks():
            with request.phase(Phase.DECODE):
                yield 1
                yield 2

        generator = chunks()
        await asyncio.create_task(anext(generator))
        await asyncio.create_task(generator.aclose())
        request.end("cancelled")

    with caplog.at_level(logging.WARNING):
        asyncio.run(story())
    assert set(named(exporter)) == {"pd.decode", "pd.request"}
    assert caplog.records == []


def test_another_attempt_carries_its_number(tracer, exporter):
    with tracer.request() as request:
        request.next_attempt().record(Phase.PREFILL_QUEUE, 1, 2)
    assert named(exporter)["pd.prefill_queue"].attributes["pd.attempt"] == 2


def test_the_same_seed_gives_different_ids(tracer, exporter):
    for _ in range(2):
        random.seed(0)
        tracer.request().end("ok")
    first, second = exporter.get_finished_spans()
    assert first.context.span_id != second.context.span_id
    assert first.context.trace_id != second.context.trace_id


def test_wrong_words_are_refused(tracer):
    with pytest.raises(ValueError, match="pool 'prefil' is none of router, prefill"):
        Worker("x", "prefil").resource()
    with pytest.raises(ValueError, match="KV status 'done' is none of ok"):
        KvHandoff(status="done")
    with pytest.raises(ValueError, match="release reason 'freed' is none of"):
        tracer.leg(request_id="r").kv_release("t", "freed")


def test_the_resource_names_the_worker_and_what_it_must_agree_on():
    attributes = Worker("svc", "decode", "d-0", gpus=2, compat={"block_size": 32}).resource().attributes
    assert attributes["service.instance.id"] == "d-0"
    assert (attributes["pd.pool"], attributes["pd.gpus"], attributes["pd.compat.block_size"]) == (
        "decode",
        2,
        32,
    )


def test_all_that_a_process_sends_bears_one_name():
    spans, metrics = (Worker("tap", "router").resource().attributes for _ in range(2))
    assert spans["service.instance.id"] == metrics["service.instance.id"]
