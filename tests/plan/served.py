"""What a store would say of a simulated run, without a store: for tests of calibration."""

from dataclasses import replace

import numpy as np

from analyzer.plan.lanes import lanes
from analyzer.plan.layout import Colocated, Settings
from analyzer.plan.observed import HandOffs, Observed
from analyzer.plan.outcome import End, Floats, Objective, Run
from analyzer.plan.provenance import Label


def observed(run: Run, settings: Settings, objective: Objective | None = None) -> Observed:
    """The columns that telemetry of `run` gives when all of it arrives."""
    promise = objective or Objective()
    at, load = lanes(run), run.workload.columns
    one = isinstance(run.layout, Colocated)
    origin = load.arrival_s[0]
    arrival = load.arrival_s - origin
    steps = load.output - 1
    ttft, spread = run.first_s - load.arrival_s, run.last_s - run.first_s
    tpot = np.where(steps > 0, spread / np.maximum(steps, 1), np.nan)
    stream = at.decode_worker if one else at.decode_worker + 1 + int(at.prefill_worker.max())
    wire: Floats = load.prompt * settings.transfer.seconds_per_token
    size: Floats = load.prompt * float(settings.transfer.bytes_per_token)
    none = np.empty(0)
    return Observed(
        workload=replace(run.workload, arrival_s=tuple(arrival.tolist()), label=Label.OBSERVED),
        window="a simulated hour",
        objective=promise,
        evaluated=np.ones(len(arrival), bool),
        met=(run.end == End.OK) & (ttft <= promise.ttft_s) & (spread <= promise.tpot_s * steps),
        ttft=ttft,
        tpot=tpot,
        front=np.zeros(len(arrival)),
        prefill_from=at.prefill_from - origin,
        prefill_until=at.prefill_until - origin,
        prompt_worker=at.prefill_worker,
        stream_worker=stream.astype(np.int32),
        workers=(),
        gpus=8,
        hand_offs=HandOffs(none, none, none) if one else HandOffs(wire, size, load.prompt.astype(np.float64)),
        left_out={},
    )
