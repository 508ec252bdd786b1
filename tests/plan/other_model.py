"""Deployments of the scenarios' own queueing model: a truth that shares no code with the planner.

    python -m tests.plan.other_model

calibrates on one of them and prints what is predicted of others beside what they did (docs/planning.md).
"""

from analyzer.assemble.assembler import Assembler
from analyzer.plan.compare import replay
from analyzer.plan.deployment import Deployment
from analyzer.plan.observed import Observed, read_observed
from analyzer.plan.observed_plan import Asked, fit
from analyzer.plan.outcome import Objective
from analyzer.plan.whatif import Grid
from analyzer.slo.scope import Scope
from collector.store import Store
from tests.scenarios.model import play
from tests.scenarios.processes import Stage
from tests.scenarios.scenario import Scenario
from tests.scenarios.spec import Cache, Decode, Links, Mode, Prefill, Router, Spec, Workload
from tests.scenarios.spec import Objective as Promise
from tests.scenarios.telemetry import exports
from tests.scenarios.truth import Truth

BASE_NS = 1_767_225_600_000_000_000
PROMISE = Objective(1.0, 0.022)
FACTS = Deployment(max_seqs=64, routing="least-loaded")
ASKED = Asked(PROMISE, facts=FACTS, by="a test", grid=Grid(4, prefill_budget=2048))
PREDICTED = ((3, 1, 6.0), (1, 3, 4.0), (2, 2, 9.0), (1, 3, 6.0), (3, 1, 9.0))


def served(
    store: Store, name: str, prefill: int, decode: int, rate: float, requests: int, per_stream_s: float = 0.0
) -> Observed:
    """Play a deployment, store its telemetry and read it: noise, shared links, a control path.

    `per_stream_s`: what each stream adds to a decode step, which the planner's step model has no term for.
    """
    load = Workload(
        requests=requests,
        rate=rate,
        prompt_median=1500,
        prompt_sigma=0.7,
        output_median=120,
        output_sigma=0.6,
    )
    spec = Spec(
        5, Mode.SEQUENTIAL, load, Router(), Prefill(workers=prefill, kv_tokens=400_000), Cache(), Links(),
        Decode(workers=decode, slots=64, kv_tokens=400_000, seq_s=per_stream_s),
    )  # fmt: skip
    truth = Truth(Promise(PROMISE.ttft_s, PROMISE.tpot_s), (), {frozenset(): play(spec)})
    number = sum(map(ord, name))  # ids are drawn from it: they must not repeat
    stage = Stage(Scenario(number, 1, "healthy", truth, {}, frozenset(), 0, 5), BASE_NS, name)
    store.insert_traces([export.body for export in exports(stage) if export.kind == "traces"])
    Assembler(store).catch_up()
    return read_observed(store, Scope(BASE_NS - 10**9, BASE_NS + 10**12, model=stage.model), PROMISE)


def main() -> None:
    store = Store.open(":memory:")
    for per_stream_s in (0.0, 0.0002):
        known = served(store, f"known{per_stream_s}", 2, 2, 6.0, 900, per_stream_s)
        settings = fit(known, ASKED).calibration.settings
        print(f"calibrated on 2P+2D at 6/s; each stream adds {per_stream_s * 1e3:g} ms to a step")
        for k, (prefill, decode, rate) in enumerate(PREDICTED):
            truth = served(
                store,
                f"other{'abcdefgh'[k] * (k + 1)}{per_stream_s}",
                prefill,
                decode,
                rate,
                700,
                per_stream_s,
            )
            found = replay(truth, truth.layout(None, 2048), settings)
            shown = [f"{f.name} {f.predicted:.4g} / {f.measured:.4g}" for f in found.figures]
            print(f"  {found.layout.name} at {rate:g}/s: {', '.join(shown)}")
    store.close()


if __name__ == "__main__":
    main()
