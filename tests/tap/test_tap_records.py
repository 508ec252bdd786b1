"""What the tap writes down about a request."""

import asyncio
import time

import aiohttp
import pytest

from tests.tap.serving import chat, tapped, until
from tests.tap.upstream import SECRET

CHAT = "/v1/chat/completions"


async def _ask(t, body, headers=None):
    async with t.client.post(t.url + CHAT, json=body, headers=headers or {}) as response:
        return response.status, await response.read()


def _one(t):
    (span,) = t.spans()
    return span, dict(span.attributes), {event.name: event.timestamp for event in span.events}


def test_a_stream_is_recorded_as_the_client_saw_it(run):
    async def story():
        async with tapped() as t:
            sent = time.time_ns()
            arrivals = []
            async with t.client.post(
                t.url + CHAT, json=chat(usage=True, first=0.1, chunks=4, gap=0.05)
            ) as response:
                async for line in response.content:
                    if SECRET.encode() in line:
                        arrivals.append(time.time_ns())
            await until(t.spans)
            span, attributes, events = _one(t)
            assert span.name == "pd.request"
            assert span.kind.name == "SERVER"
            assert attributes["pd.outcome"] == "ok"
            assert attributes["gen_ai.request.model"] == "tiny"
            assert attributes["gen_ai.usage.input_tokens"] == 11
            assert (attributes["gen_ai.usage.output_tokens"], attributes["pd.output_tokens_by"]) == (
                8,
                "usage",
            )
            assert attributes["pd.finish_reason"] == "stop"
            assert attributes["http.response.status_code"] == 200
            assert abs(events["first_token"] - arrivals[0]) < 50e6
            assert abs(events["last_token"] - arrivals[-1]) < 50e6
            assert abs(span.start_time - sent) < 100e6
            assert 40 < attributes["pd.itl.p50_ms"] < 200
            assert attributes["pd.itl.p50_ms"] <= attributes["pd.itl.p99_ms"] <= attributes["pd.itl.max_ms"]
            assert attributes["pd.stream.stalled_ms"] < 5

    run(story())


def test_without_usage_chunks_are_counted_and_labelled(run):
    async def story():
        async with tapped() as t:
            await _ask(t, chat(chunks=5, gap=0))
            await until(t.spans)
            _, attributes, _ = _one(t)
            assert (attributes["gen_ai.usage.output_tokens"], attributes["pd.output_tokens_by"]) == (
                5,
                "chunks",
            )
            assert "gen_ai.usage.input_tokens" not in attributes

    run(story())


def test_an_answer_that_is_not_streamed_has_its_tokens(run):
    async def story():
        async with tapped() as t:
            status, body = await _ask(t, chat(stream=False))
            assert (status, SECRET.encode() in body) == (200, True)
            await until(t.spans)
            _, attributes, events = _one(t)
            assert attributes["pd.outcome"] == "ok"
            assert attributes["gen_ai.usage.output_tokens"] == 3
            assert attributes["pd.cached_tokens"] == 4
            assert "pd.itl.p50_ms" not in attributes
            assert "first_token" in events

    run(story())


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (429, "rejected"),
        (503, "rejected"),
        (400, "invalid"),
        (404, "invalid"),
        (500, "error"),
        (504, "timeout"),
    ],
)
def test_a_refusal_is_named_by_its_status(run, status, outcome):
    async def story():
        async with tapped() as t:
            assert (await _ask(t, chat(status=status)))[0] == status
            await until(t.spans)
            _, attributes, events = _one(t)
            assert (attributes["pd.outcome"], attributes["http.response.status_code"]) == (outcome, status)
            assert events == {}
            assert attributes["gen_ai.request.model"] == "tiny"

    run(story())


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ({"stop_without_end": True}, "interrupted"),
        ({"finish": "abort"}, "interrupted"),
        ({"finish": "error", "chunks": 0}, "error"),
        ({"chunks": 0, "stop_without_end": True}, "error"),
    ],
)
def test_a_success_status_does_not_hide_a_failure(run, script, outcome):
    async def story():
        async with tapped() as t:
            assert (await _ask(t, chat(**script)))[0] == 200
            await until(t.spans)
            assert _one(t)[1]["pd.outcome"] == outcome

    run(story())


def test_no_text_and_no_identity_is_recorded(run):
    async def story():
        async with tapped() as t:
            headers = {"Authorization": "Bearer sk-secret", "User-Agent": "someone", "Cookie": "id=someone"}
            for body in (chat(), chat(stream=False), chat(status=500), chat(die=True)):
                try:
                    await _ask(t, body, headers)
                except aiohttp.ClientPayloadError:
                    assert body["script"] == {"die": True}
            await until(lambda: len(t.spans()) == 4)
            told = "".join(span.to_json() for span in t.spans()) + t.tap.metrics.page().decode()
            assert [word for word in (SECRET, "sk-secret", "someone", "127.0.0.1") if word in told] == []

    run(story())


def test_the_trace_of_the_client_goes_on_to_the_upstream(run):
    async def story():
        async with tapped() as t:
            trace = "0af7651916cd43dd8448eb211c80319c"
            headers = {
                "traceparent": f"00-{trace}-b7ad6b7169203331-01",
                "tracestate": "vendor=1",
                "baggage": "a=b",
                "X-Request-Id": "mine-1",
            }
            await _ask(t, chat(), headers)
            await until(t.spans)
            span, attributes, _ = _one(t)
            got = {name.lower(): value for name, value in t.upstream.seen[0]["headers"].items()}
            assert got["traceparent"] == f"00-{trace}-{span.context.span_id:016x}-01"
            assert (got["tracestate"], got["baggage"], got["x-request-id"]) == ("vendor=1", "a=b", "mine-1")
            assert f"{span.parent.span_id:016x}" == "b7ad6b7169203331"
            assert attributes["pd.request.id"] == "mine-1"

    run(story())


def test_a_client_without_a_trace_gets_one_and_an_id(run):
    async def story():
        async with tapped() as t:
            await _ask(t, chat())
            await until(t.spans)
            span, attributes, _ = _one(t)
            got = {name.lower(): value for name, value in t.upstream.seen[0]["headers"].items()}
            assert f"{span.context.trace_id:032x}" in got["traceparent"]
            assert got["x-request-id"] == attributes["pd.request.id"] != ""

    run(story())


def test_a_client_that_does_not_sample_is_not_recorded_but_counted(run):
    async def story():
        async with tapped() as t:
            parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
            await _ask(t, chat(), {"traceparent": parent})
            await until(lambda: b'outcome="ok"' in t.tap.metrics.page())
            assert t.spans() == ()
            got = {name.lower(): value for name, value in t.upstream.seen[0]["headers"].items()}
            assert got["traceparent"].endswith("-00")
            assert "0af7651916cd43dd8448eb211c80319c" in got["traceparent"]

    run(story())


def test_the_tenant_comes_from_the_header_that_was_named(run):
    async def story():
        async with tapped(tenant_header="X-Team") as t:
            await _ask(t, chat(), {"X-Team": "search"})
            await until(t.spans)
            assert _one(t)[1]["pd.tenant"] == "search"

    run(story())


def test_running_requests_are_counted_with_the_age_of_the_oldest(run):
    async def story():
        async with tapped() as t:
            asking = asyncio.create_task(_ask(t, chat(first=0.5)))
            await until(lambda: len(t.upstream.seen) == 1)
            await asyncio.sleep(0.1)
            async with t.client.get(t.url + "/metrics") as response:
                page = (await response.text()).splitlines()
            labels = '{model="tiny",pool="router"}'
            assert f"pd_requests_in_flight{labels} 1.0" in page
            (age,) = [
                float(line.split()[1]) for line in page if line.startswith("pd_requests_oldest_age_seconds{")
            ]
            assert 0.09 < age < 0.5
            await asking
            after = t.tap.metrics.page().decode()
            assert f"pd_requests_in_flight{labels} 0.0" in after
            assert "pd_requests_oldest_age_seconds{" not in after
            assert 'pd_tap_requests_total{model="tiny",outcome="ok"} 1.0' in after

    run(story())
