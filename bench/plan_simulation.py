"""Times the simulator against a plain per-step Python loop over the same steps, and prints the ratio.

    python -m bench.plan_simulation [--rounds 5]

Both draw the same three workloads and work out the same fifteen cells (five layouts at 8, 16 and 24
requests/s), percentiles included; the best round of each counts. Exits with 1 when the simulator takes a
third of the loop's time or more.
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import asdict

from analyzer.plan import plain_loop
from analyzer.plan.deployment import Deployment
from analyzer.plan.layout import Colocated, parse_layout
from analyzer.plan.outcome import Objective, Window, figures
from analyzer.plan.plain_loop import Constants
from analyzer.plan.simulate import simulate
from analyzer.plan.workload import Synthetic

SPECS = [Synthetic(rate) for rate in (8, 16, 24)]
LAYOUTS = [parse_layout(text) for text in ("4x512", "4x2048", "1P+3D", "2P+2D", "3P+1D")]
SETTINGS = Deployment().settings()
OBJECTIVE, WINDOW = Objective(), Window()


def stretches() -> tuple[int, int]:
    """Requests simulated, and 0: stretches do not count steps."""
    workloads = [spec.draw() for spec in SPECS]
    for layout in LAYOUTS:
        for workload in workloads:
            figures(simulate(workload, layout, SETTINGS), OBJECTIVE, WINDOW)
    return len(LAYOUTS) * sum(map(len, workloads)), 0


def single_steps() -> tuple[int, int]:
    """Requests and steps simulated."""
    model, transfer = SETTINGS.model, SETTINGS.transfer
    c = Constants(
        weights_s=model.weights_s,
        context_s=model.context_s_per_token,
        compute_s=model.compute_s_per_token,
        overhead_s=model.overhead_s,
        wire_s=transfer.seconds_per_token,
        hand_off_s=transfer.overhead_s,
        layers=transfer.layers,
        overlap=transfer.overlap,
        max_seqs=SETTINGS.max_seqs,
        exact=SETTINGS.exact,
    )
    workloads = [plain_loop.draw(asdict(spec)) for spec in SPECS]
    steps = 0
    for layout in LAYOUTS:
        for rows in workloads:
            if isinstance(layout, Colocated):
                trail = plain_loop.colocated(rows, layout.workers, layout.chunk, c)
            else:
                trail = plain_loop.disaggregated(
                    rows, layout.prefill, layout.decode, layout.prefill_budget, c
                )
            plain_loop.figures(
                trail, rows, (WINDOW.start_s, WINDOW.end_s), OBJECTIVE.ttft_s, OBJECTIVE.tpot_s
            )
            steps += trail.step_count
    return len(LAYOUTS) * sum(map(len, workloads)), steps


def cpu_seconds(work: Callable[[], tuple[int, int]]) -> tuple[float, int, int]:
    """CPU seconds of one round, and the requests and steps it simulated."""
    begun = time.process_time()
    requests, steps = work()
    return time.process_time() - begun, requests, steps


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = max(1, parser.parse_args().rounds)
    # in turn, so that a busy machine slows both alike
    pairs = [(cpu_seconds(single_steps), cpu_seconds(stretches)) for _ in range(rounds)]
    (slow, requests, steps), fast = min(slow for slow, _ in pairs), min(fast for _, (fast, _, _) in pairs)
    print(f"15 cells, {requests:,} requests, {steps:,} steps (CPU time, best of {rounds})")
    print(f"  plain loop  {slow:6.2f} s  {requests / slow * 60 / 1e6:5.1f} M requests/min")
    print(f"  stretches   {fast:6.2f} s  {requests / fast * 60 / 1e6:5.1f} M requests/min")
    print(f"  ratio       {fast / slow:6.2f}    (goal: below 0.33)")
    return int(fast / slow >= 1 / 3)


if __name__ == "__main__":
    sys.exit(main())
