"""What the tap does to the traffic: nothing, and at once."""

import asyncio
import contextlib
import io
import itertools
import json
import socket
import subprocess
import sys
import time

import aiohttp
import pytest

from collector.errors import ConfigError
from collector.settings import Address
from collector.tap.server import Tap
from collector.tap.settings import TapSettings
from tests.tap.serving import chat, tapped, until
from tests.tap.upstream import SECRET

CHAT = "/v1/chat/completions"


def test_the_answer_arrives_byte_for_byte(run):
    async def story():
        async with tapped() as t:
            body = chat(chunks=20, gap=0)
            async with t.client.post(t.tap.settings.upstream + CHAT, json=body) as response:
                direct = await response.read()
            async with t.client.post(t.url + CHAT, json=body) as response:
                assert await response.read() == direct

    run(story())


def test_each_chunk_arrives_before_the_next_is_made(run):
    async def story():
        async with tapped() as t:
            times = []
            async with t.client.post(t.url + CHAT, json=chat(chunks=3, gap=0.2)) as response:
                async for line in response.content:
                    if SECRET.encode() in line:
                        times.append(time.monotonic())
            gaps = [after - before for before, after in itertools.pairwise(times)]
            assert len(gaps) == 2
            assert min(gaps) > 0.1

    run(story())


def test_headers_arrive_before_the_first_chunk(run):
    async def story():
        async with tapped() as t:
            started = time.monotonic()
            async with t.client.post(t.url + CHAT, json=chat(first=1.0)) as response:
                assert time.monotonic() - started < 0.5
                assert response.headers["Content-Type"] == "text/event-stream"

    run(story())


def test_a_client_that_leaves_mid_stream_cancels_the_upstream(run):
    async def story():
        async with tapped() as t:
            async with t.client.post(t.url + CHAT, json=chat(chunks=1000, gap=0.05)) as response:
                await response.content.readline()
                await asyncio.sleep(0.2)
                response.close()
            left = time.monotonic()
            await until(lambda: t.upstream.cancelled == 1 and t.spans())
            assert time.monotonic() - left < 1
            (span,) = t.spans()
            assert span.attributes["pd.outcome"] == "cancelled"
            assert [event.name for event in span.events] == ["first_token", "last_token"]
            assert len(t.tap.in_flight) == 0

    run(story())


def test_a_client_that_leaves_before_the_answer_cancels_the_upstream(run):
    async def story():
        async with tapped() as t:
            timeout = aiohttp.ClientTimeout(total=0.2)
            with pytest.raises(TimeoutError):
                await t.client.post(t.url + CHAT, json=chat(before=20), timeout=timeout)
            await until(lambda: t.upstream.cancelled == 1 and t.spans())
            (span,) = t.spans()
            assert (span.attributes["pd.outcome"], span.events) == ("cancelled", ())

    run(story())


def test_a_client_that_closes_once_it_has_everything_is_ok(run):
    async def story():
        async with tapped() as t:
            async with t.client.post(t.url + CHAT, json=chat(after=20)) as response:
                async for line in response.content:
                    if line.startswith(b"data: [DONE]"):
                        break
                response.close()
            await until(t.spans)
            assert t.spans()[0].attributes["pd.outcome"] == "ok"

    run(story())


@pytest.fixture
def program():
    """The upstream as a process of its own, and its address."""
    child = subprocess.Popen([sys.executable, "-m", "tests.tap.upstream"], stdout=subprocess.PIPE, text=True)
    yield child, child.stdout.readline().strip()
    child.kill()
    child.wait(10)
    child.stdout.close()


def test_an_upstream_that_is_killed_mid_stream_is_told_at_once(run, program):
    child, address = program

    async def story():
        async with (
            tapped(upstream_address=address) as t,
            t.client.post(t.url + CHAT, json=chat(chunks=1000, gap=0.05)) as response,
        ):
            await response.content.readline()
            await asyncio.sleep(0.2)
            child.kill()
            killed = time.monotonic()
            rest = b""
            with contextlib.suppress(aiohttp.ClientPayloadError):
                async for line in response.content:
                    rest += line
                pytest.fail("the stream ended as if nothing had happened")
            assert time.monotonic() - killed < 0.5
            assert b'"type": "upstream_lost"' in rest
            await until(t.spans)
            assert t.spans()[0].attributes["pd.outcome"] == "interrupted"
            assert t.spans()[0].status.status_code.name == "ERROR"
            async with t.client.post(t.url + CHAT, json=chat()) as refused:
                assert refused.status == 502
                assert (await refused.json())["error"]["type"] == "upstream_lost"
            await until(lambda: len(t.spans()) == 2)
            assert t.spans()[1].attributes["pd.outcome"] == "error"

    run(story())


def test_an_upstream_that_falls_silent_times_out(run):
    async def story():
        async with tapped(idle_timeout_s=0.2) as t:
            async with t.client.post(t.url + CHAT, json=chat(before=5)) as response:
                assert response.status == 504
            with pytest.raises(aiohttp.ClientPayloadError):
                async with t.client.post(t.url + CHAT, json=chat(chunks=2, gap=5)) as response:
                    await response.read()
            await until(lambda: len(t.spans()) == 2)
            assert [span.attributes["pd.outcome"] for span in t.spans()] == ["timeout", "timeout"]

    run(story())


def test_a_reader_that_stops_is_counted_as_stalled_and_holds_the_upstream(run):
    async def story():
        async with tapped() as t:
            reader = socket.socket()
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(reader, (t.tap.address.host, t.tap.address.port))
            head = f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            text = json.dumps(chat(chunks=200, gap=0, pad=100_000))
            await loop.sock_sendall(reader, f"{head}Content-Length: {len(text)}\r\n\r\n{text}".encode())
            await asyncio.sleep(0.6)
            held = t.upstream.written
            assert held < 15_000_000
            await asyncio.sleep(0.4)
            assert t.upstream.written == held
            while await loop.sock_recv(reader, 1 << 20):
                if t.spans():
                    break
            reader.close()
            await until(t.spans)
            (span,) = t.spans()
            assert span.attributes["pd.outcome"] == "ok"
            assert 700 < span.attributes["pd.stream.stalled_ms"] < 5000

    run(story())


def test_other_paths_are_passed_on_and_not_recorded(run):
    async def story():
        async with tapped() as t:
            big = {"model": "tiny", "input": "x" * 2_000_000}
            async with t.client.post(
                t.url + "/v1/embeddings?a=b%26c", data=io.BytesIO(json.dumps(big).encode())
            ) as response:
                assert response.status == 200
            assert t.upstream.seen[0]["path"] == "/v1/embeddings?a=b%26c"
            assert t.upstream.seen[0]["body"] == big
            await asyncio.sleep(0.05)
            assert t.spans() == ()

    run(story())


def test_a_prompt_too_large_to_parse_is_passed_on_whole(run):
    async def story():
        async with tapped() as t:
            big = {**chat(), "padding": "x" * 3_000_000}
            async with t.client.post(t.url + CHAT, data=io.BytesIO(json.dumps(big).encode())) as response:
                await response.read()
            assert t.upstream.seen[0]["body"] == big
            await until(t.spans)
            assert t.spans()[0].attributes["gen_ai.request.model"] == "tiny"

    run(story())


def test_an_upload_in_chunks_is_passed_on(run):
    async def story():
        async with tapped() as t:
            body = chat()

            async def parts():
                for piece in (json.dumps(body)[:20], json.dumps(body)[20:]):
                    yield piece.encode()
                    await asyncio.sleep(0.05)

            async with t.client.post(t.url + CHAT, data=parts()) as response:
                assert b"[DONE]" in await response.read()
            assert t.upstream.seen[0]["body"] == body

    run(story())


def test_a_client_that_asks_before_it_sends_its_body_is_told_to_go_on(run):
    async def story():
        async with tapped() as t:
            reader, writer = await asyncio.open_connection(t.tap.address.host, t.tap.address.port)
            body = json.dumps(chat()).encode()
            head = f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nConnection: close\r\n"
            writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode())
            assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
            writer.write(body)
            answer = await reader.read()
            assert answer.startswith(b"HTTP/1.1 200 OK")
            assert b"[DONE]" in answer
            writer.close()
            await writer.wait_closed()

    run(story())


def test_hop_by_hop_headers_stay_on_their_hop(run):
    async def story():
        async with tapped() as t:
            headers = {"Connection": "keep-alive, X-Hop", "X-Hop": "1", "X-Kept": "2", "TE": "trailers"}
            async with t.client.post(t.url + CHAT, json=chat(), headers=headers) as response:
                await response.read()
            got = {name.lower(): value for name, value in t.upstream.seen[0]["headers"].items()}
            assert got["x-kept"] == "2"
            assert {"x-hop", "te"} & set(got) == set()
            assert got["host"] in t.tap.settings.upstream

    run(story())


def test_streams_may_end_when_the_tap_stops(run):
    async def story():
        async with tapped(drain_s=5.0) as t:
            response = await t.client.post(t.url + CHAT, json=chat(chunks=5, gap=0.1))
            stopping = asyncio.create_task(t.tap.stop())
            assert b"[DONE]" in await response.read()
            await stopping
            assert t.spans()[0].attributes["pd.outcome"] == "ok"

    run(story())


def test_a_stream_cut_by_the_stop_of_the_tap_is_interrupted(run):
    async def story():
        async with tapped(drain_s=0.1) as t:
            response = await t.client.post(t.url + CHAT, json=chat(chunks=1000, gap=0.05))
            await response.content.readline()
            await asyncio.sleep(0.1)
            await t.tap.stop()
            assert t.spans()[0].attributes["pd.outcome"] == "interrupted"
            response.close()

    run(story())


def test_a_port_in_use_is_said_clearly(run):
    async def story():
        async with tapped() as t:
            second = Tap(
                TapSettings("http://127.0.0.1:9", Address("127.0.0.1", t.tap.address.port), otlp=None)
            )
            with pytest.raises(ConfigError, match=rf"--listen: {t.tap.address} can't be listened on"):
                await second.start()

    run(story())
