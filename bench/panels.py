"""How long each panel's SQL takes on many requests: CPU time over two cores, best of three, slowest first.

python -m bench.panels [REQUESTS]
"""

import sys
import tempfile
import time
from pathlib import Path

from analyzer.minutes import Minutes
from analyzer.slo.objectives import Objectives
from analyzer.slo.objectives_table import write_objectives
from collector.store import Store
from dashboards.boards import BOARDS
from dashboards.grafana.queries import Sql, sql_text
from dashboards.grafana.variables import OBJECTIVES
from tests.dashboards.grafana import Window

START = 1_790_000_040
SECONDS = 4 * 3600


def main(requests: int) -> None:
    """Fill a store and time every panel over all of it."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(folder)
        for name in ("rest_fill", "panels_transfers", "panels_signals"):
            fill = (Path(__file__).parent / f"{name}.sql").read_text("utf-8").strip().rstrip(";")
            store.command(fill, {"start": START, "seconds": SECONDS, "count": requests})
        write_objectives(store, Objectives())
        began = time.process_time()
        blocks = Minutes(store, Objectives, lambda: requests + 1).catch_up()
        print(f"{time.process_time() - began:.1f} CPU-seconds to count {blocks} blocks of five minutes")
        for taken, name in sorted(_timings(store), reverse=True):
            print(f"{taken * 1000:7.0f} ms  {name}")
        store.close()


def _timings(store: Store) -> list[tuple[float, str]]:
    hidden = {
        o.name: [store.query(Window(0, 1).expand(sql_text(f"variables/{o.name}")))[0][0]] for o in OBJECTIVES
    }
    window = Window(
        START, START + SECONDS, 60, {**hidden, "percentile": ["0.95"], "request": ["request-100"]}
    )
    names = {
        q.name for board in BOARDS for panel in board.panels for q in panel.queries if isinstance(q, Sql)
    }
    return [(min(_cpu(store, window.expand(sql_text(name))) for _ in range(3)), name) for name in names]


def _cpu(store: Store, sql: str) -> float:
    """Half of the CPU seconds: what two free cores take. Without the cache that makes repeats look quick."""
    began = time.process_time()
    store.query(f"{sql}\nSETTINGS use_query_condition_cache = 0")
    return (time.process_time() - began) / 2


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
