"""What the tap adds to the first token, against a direct connection in the same run.

    python -m bench.tap_latency [--streams 200] [--rate 5] [--seconds 10] [--rounds 3] [--httpx]

Streams of 25 chunks start one after the other so that `--streams` run at a time. A first token's overhead is
(first content at the client - request sent - time the endpoint held it itself); "added" is the difference of
the quantiles with and without the tap. The harness reports its own event-loop lag.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import time

import uvloop

CHUNKS = 25
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def program(*arguments):
    """A child process that prints its port first."""
    child = subprocess.Popen([sys.executable, "-m", *arguments], stdout=subprocess.PIPE, text=True)
    try:
        yield int(child.stdout.readline()), child.pid
    finally:
        child.terminate()
        child.wait(10)
        child.stdout.close()


async def one_stream(port, rate, overheads, gaps):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps(
        {"model": "tiny", "stream": True, "chunks": CHUNKS, "rate": rate, "messages": ["x" * 2000]}
    )
    head = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    sent = time.monotonic_ns()
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
    last = None
    while data := await reader.read(65536):
        now = time.monotonic_ns()
        if b'"content": "held=' in data:
            held = int(data.partition(b"held=")[2].partition(b";")[0])
            overheads.append((now - sent - held) / 1e6)
        elif b'"content": "word' in data and last is not None:
            gaps.append((now - last) / 1e6)
        if b'"content": "' in data:
            last = now
    writer.close()


async def measure(port, arguments, lags):
    """Overheads (ms) of first tokens while the wanted number of streams runs."""
    overheads, gaps = [], []
    end = time.monotonic() + arguments.seconds
    length = CHUNKS / arguments.rate

    async def keep_busy(delay):
        await asyncio.sleep(delay)
        while time.monotonic() < end:
            await one_stream(port, arguments.rate, overheads, gaps)

    async def watch():
        while True:
            due = time.monotonic() + 0.01
            await asyncio.sleep(0.01)
            lags.append((time.monotonic() - due) * 1e3)

    watching = asyncio.create_task(watch())
    await asyncio.gather(*(keep_busy(random.uniform(0, length)) for _ in range(arguments.streams)))
    watching.cancel()
    return overheads, gaps


def quantile(values, q):
    return statistics.quantiles(values, n=1000, method="inclusive")[round(q * 1000) - 1]


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS


async def run(arguments, targets):
    found = {name: ([], []) for name in targets}
    lags, cpu = [], dict.fromkeys(targets, 0.0)
    for _ in range(arguments.rounds):
        for name, (port, pid) in targets.items():
            before = cpu_seconds(pid)
            overheads, gaps = await measure(port, arguments, lags)
            cpu[name] += cpu_seconds(pid) - before
            found[name][0].extend(overheads)
            found[name][1].extend(gaps)
    base = found["direct"][0]
    print(f"harness lag p50 {quantile(lags, 0.5):.2f} ms, p99 {quantile(lags, 0.99):.2f} ms")
    for name, (overheads, gaps) in found.items():
        p50, p99 = quantile(overheads, 0.5), quantile(overheads, 0.99)
        added = f"added p50 {p50 - quantile(base, 0.5):.2f} ms, p99 {p99 - quantile(base, 0.99):.2f} ms"
        cost = cpu[name] / (CHUNKS * len(overheads)) * 1e6
        print(f"{name:7} {len(overheads)} streams: first token p50 {p50:.2f} ms, p99 {p99:.2f} ms; {added};")
        print(f"        gap p99 {quantile(gaps, 0.99):.1f} ms; {cost:.0f} us CPU a chunk")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--rate", type=float, default=5)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--httpx", action="store_true", help="also a bare Starlette and httpx proxy")
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        upstream, pid = stack.enter_context(program("bench.tap_upstream"))
        sink, _ = stack.enter_context(program("bench.otlp_sink"))
        address = f"http://127.0.0.1:{upstream}"
        targets = {"direct": (upstream, pid)}
        targets["tap"] = stack.enter_context(
            program("bench.tap_program", address, f"http://127.0.0.1:{sink}")
        )
        if arguments.httpx:
            targets["httpx"] = stack.enter_context(program("bench.tap_httpx", address))
        uvloop.run(run(arguments, targets))


if __name__ == "__main__":
    main()
