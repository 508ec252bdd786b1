"""How fast one trace is read through otel_traces, as Grafana's trace panel asks.

    python bench/otel_reads.py [--millions 4]

Reads: a store of its own with that many spans, merged or not as it comes; each question asked 20 times with
the query condition cache off; median and worst in milliseconds.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from collector.sql import read_sql
from collector.store import Store

QUESTIONS = {
    "window of a trace (otel_traces_trace_id_ts)": (
        "SELECT min(Start), max(End) FROM otel_traces_trace_id_ts WHERE TraceId = {id:String}"
    ),
    "spans of a trace, window known": (
        "SELECT * FROM otel_traces WHERE TraceId = {id:String} "
        "AND Timestamp >= toDateTime({start:UInt32}, 'UTC') AND Timestamp <= toDateTime({end:UInt32}, 'UTC')"
    ),
    "spans of a trace, window not known": "SELECT * FROM otel_traces WHERE TraceId = {id:String}",
}


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--millions", type=int, default=4)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as place:
        store = Store.open(place)
        for million in range(given.millions):
            store.command(read_sql(__file__, "otel_reads_fill"), {"offset": million * 1_000_000})
        reads(store, given.millions)
        store.close()


def reads(store: Store, millions: int) -> None:
    """Ask for a trace in the middle."""
    sql = "SELECT lower(hex(trace_id)), intDiv(start_ns, 1000000000) FROM spans LIMIT 1 OFFSET {n:UInt64}"
    trace, second = store.query(sql, {"n": millions * 450_000})[0]
    params = {"id": trace, "start": second - 1, "end": second + 1}
    print(f"{millions} million spans")
    for name, question in QUESTIONS.items():
        times = []
        for _ in range(20):
            began = time.perf_counter()
            store.query(question, params)
            times.append((time.perf_counter() - began) * 1e3)
        print(f"{name:46} {statistics.median(times):6.1f} ms, worst {max(times):6.1f} ms")


if __name__ == "__main__":
    main()
