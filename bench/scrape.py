"""What scraping costs: CPU of scraping alone, and of scraping into the journal and the store.

    python -m bench.scrape [--workers 200] [--interval 10] [--seconds 60]

Workers answer with real vLLM pages (about 740 lines, 62 kB) that move from scrape to scrape, from a process
of their own whose CPU does not count. The first interval, in which every page is parsed once, is told apart.
"""

import argparse
import gc
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import Future
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from bench.scrape_workers import PAGES
from collector.engines import ADAPTERS
from collector.journal import Journal
from collector.receive import OtlpReceiver, ReceiveSettings
from collector.scrape import Scraper, read_scrape_config
from collector.scrape.page import Layout, split
from collector.scrape.wanted import wanted
from collector.store import Store


def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def one_page():
    """Milliseconds of CPU for one page: parsed whole, laid out once, and filled in."""
    import gzip

    text = gzip.decompress((PAGES / "metrics_decode.prom.txt.gz").read_bytes()).decode()
    page = re.split(r"(?m)^# SCRAPE.*\n", text)[-1]
    families = wanted(ADAPTERS)
    keys, _, _ = split(page, families)
    layout = Layout(keys, [], families)

    def best(work, times=20):
        found = []
        for _ in range(times):
            began = time.process_time()
            work()
            found.append(time.process_time() - began)
        return round(min(found) * 1e3, 3)

    def again():
        now, numbers, _ = split(page, families)
        assert now == layout.keys
        layout.fill(numbers, time.time_ns())

    return {
        "lines": page.count("\n"),
        "bytes": len(page),
        "points kept": layout.points,
        "whole page by prometheus-client, ms": best(lambda: list(text_string_to_metric_families(page))),
        "first scrape: laid out, ms": best(lambda: Layout(keys, [], families)),
        "every further scrape, ms": best(again),
    }


def scraping(ports, arguments, submit):
    """(share of a core in the first interval, and after it, scrapes, points) of this process."""
    registry = CollectorRegistry()
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        targets = ", ".join(f"'127.0.0.1:{port}'" for port in ports)
        file.write(f"jobs: [{{job: vllm, interval_s: {arguments.interval}, targets: [{targets}]}}]")
        file.flush()
        scraper = Scraper(read_scrape_config(Path(file.name)), submit, registry)
    began, at = cpu(), time.monotonic()
    scraper.start()
    time.sleep(arguments.interval)
    first = (cpu() - began) / (time.monotonic() - at)
    gc.collect()
    before = registry.get_sample_value("pdscope_scrapes_total", {"job": "vllm"}) or 0
    began, at = cpu(), time.monotonic()
    time.sleep(arguments.seconds)
    after = (cpu() - began) / (time.monotonic() - at)
    done = registry.get_sample_value("pdscope_scrapes_total", {"job": "vllm"}) - before
    failed = sum(
        sample.value
        for metric in registry.collect()
        if metric.name in ("pdscope_scrape_failures", "pdscope_scrape_refused")
        for sample in metric.samples
        if sample.name.endswith("_total")
    )
    scraper.stop()
    return {
        "first interval, % of a core": round(100 * first, 2),
        "after it, % of a core": round(100 * after, 2),
        "scrapes a second": round(done / arguments.seconds, 2),
        "ms of CPU a scrape": round(1e3 * after * arguments.seconds / max(done, 1), 2),
        "failed or refused": failed,
    }


def nowhere(*_):
    done = Future()
    done.set_result({})
    return done


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=200)
    parser.add_argument("--interval", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=30)
    arguments = parser.parse_args()
    found = {"one page": one_page()}
    command = [sys.executable, "-m", "bench.scrape_workers", str(arguments.workers)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        ports = child.stdout.readline().split()
        found["scraping alone"] = scraping(ports, arguments, nowhere)
        with tempfile.TemporaryDirectory() as place:
            store = Store.open(Path(place) / "store")
            journal = Journal(Path(place) / "journal")
            settings = ReceiveSettings(grpc_address="127.0.0.1:0", http_address="127.0.0.1:0")
            receiver = OtlpReceiver(store, settings, CollectorRegistry(), journal)
            receiver.start()
            found["with the journal and the store"] = scraping(ports, arguments, receiver.submit)
            receiver.stop(10)
            (row,) = store.rows("SELECT count() AS points, uniqExact(worker) AS workers FROM signals")
            found["with the journal and the store"] |= row
            journal.close()
            store.close()
    finally:
        child.terminate()
        child.wait(10)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
