"""Many workers' metrics pages, for bench/scrape.py: `WORKERS`. Prints the first of their ports.

One process, one port a worker. Each answer is a real vLLM page, the next one of a capture at every scrape, so
that counters and histograms move as they do under load.
"""

import asyncio
import gzip
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.paths import CAPTURES

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: %d\r\n\r\n"
PAGES = CAPTURES / "vllm-0.32.0" / "traced-clean"


def pages(side):
    text = gzip.decompress((PAGES / f"metrics_{side}.prom.txt.gz").read_bytes()).decode()
    return [page.encode() for page in re.split(r"(?m)^# SCRAPE.*\n", text)[1:]]


async def main(workers):
    sides = [pages("prefill"), pages("decode")]
    ports = []
    for number in range(workers):
        turn, answers = iter(range(10**9)), sides[number % 2]

        async def serve(reader, writer, turn=turn, answers=answers):
            while await reader.readuntil(b"\r\n\r\n"):
                page = answers[next(turn) % len(answers)]
                writer.write(HEAD % len(page) + page)
                await writer.drain()

        def quiet(reader, writer, serve=serve):
            task = asyncio.ensure_future(serve(reader, writer))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())

        server = await asyncio.start_server(quiet, "127.0.0.1", 0)
        ports.append(server.sockets[0].getsockname()[1])
    print(*ports, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
