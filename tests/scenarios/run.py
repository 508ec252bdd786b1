"""Play random scenarios against pdscope and say how often it is right.

    python -m tests.scenarios.run --in-process --count 1000 --seed 1 [--ablate] [--jobs 2] [--keep DIR]
    python -m tests.scenarios.run --otlp http://127.0.0.1:4318 --api http://127.0.0.1:8080
        --count 100 --seed 1 [--ablate] [--requests N] [--only FAULT] [--batch 20] [--wait 60] [--json]

Every scenario has a model, workers and ids of its own, so runs can share a server; a server takes no more
than 200 models a day. In process every batch has a store of its own. Exit status: 0 when every promised
figure holds, 1 when one does not, 2 when the server could not be reached.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from .ablate import ablated
from .faults import KINDS
from .processes import Stage
from .scenario import Scenario, scenario
from .score import Judged, Report, bars, judge, report
from .server import Server, Unreachable
from .spec import NS
from .telemetry import exports, request_id, window

AGO_S = 3.0  # windows end this long before now

Pair = tuple[list[Judged], list[Judged]]
"""Answers about whole scenarios, and about those answered rightly again less one signal."""


def main(arguments: list[str] | None = None) -> int:
    """Parse, play, print. Returns the exit status."""
    options = _parser().parse_args(arguments)
    indices = list(range(options.first, options.first + options.count))
    batches = [indices[at : at + options.batch] for at in range(0, len(indices), options.batch)]
    play = _in_process if options.in_process else _at_server
    judged: list[Judged] = []
    less: list[Judged] = []
    try:
        for whole, again in play(options, batches):
            judged += whole
            less += again
            for answer in (*whole, *again):
                print(_line(answer), file=sys.stderr, flush=True)
    except Unreachable as error:
        print(error, file=sys.stderr)
        return 2
    result = report(judged, less)
    document = json.dumps(_document(options, result, judged, less), indent=1)
    print(document if options.json else text(result, options.ablate))
    return 0 if all(bar.passed for bar in bars(result, options.ablate)) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tests.scenarios.run", description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--otlp", default="http://127.0.0.1:4318", help="OTLP/HTTP address")
    add("--api", default="http://127.0.0.1:8080", help="REST address")
    add("--token", help="bearer token for both")
    add("--count", type=int, default=1000, help="scenarios")
    add("--first", type=int, default=0, help="number of the first one")
    add("--seed", type=int, default=1)
    add("--only", choices=sorted(KINDS), help="only scenarios with this fault")
    add("--ablate", action="store_true", help="play those answered rightly again, less one signal")
    add("--requests", type=int, default=0, metavar="N", help="ask about N missed requests of each")
    add("--batch", type=int, default=20, help="scenarios sent before the answers are asked for")
    add("--wait", type=float, default=60.0, help="seconds until an answer must be final")
    add("--json", action="store_true")
    add("--in-process", action="store_true", help="use stores of this process instead of a server")
    add("--jobs", type=int, default=1, help="processes; in process only")
    add("--keep", type=Path, help="keep what the store gave, and use what is kept; in process only")
    return parser


def _scenario(options: argparse.Namespace, index: int) -> Scenario:
    if options.only:
        return scenario(options.seed, index, "one", (options.only,))
    return scenario(options.seed, index)


def _in_process(options: argparse.Namespace, batches: list[list[int]]) -> Iterator[Pair]:
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(partial(_batch_in_process, options), batches)


def _batch_in_process(options: argparse.Namespace, indices: list[int]) -> Pair:
    from . import in_process

    scenarios = [_scenario(options, index) for index in indices]
    seen = [in_process.kept(options.keep, one) if options.keep else None for one in scenarios]
    new = [one for one, known in zip(scenarios, seen, strict=True) if known is None]
    shown = iter(in_process.show(new, options.ablate) if new else [])
    judged: list[Judged] = []
    less: list[Judged] = []
    for one, known in zip(scenarios, seen, strict=True):
        found = known or next(shown)
        if options.keep and known is None:
            in_process.keep(options.keep, one, found)
        judged.append(in_process.answer(one, found.whole))
        if options.ablate and judged[-1].right and found.less is not None:
            less.append(in_process.answer(one, found.less))
    return judged, less


def _at_server(options: argparse.Namespace, batches: list[list[int]]) -> Iterator[Pair]:
    """Send a batch, then ask about each of it: what has to settle settles meanwhile."""
    server = Server(options.otlp, options.api, options.token, options.wait)
    try:
        for batch in batches:
            judged = _ask_all(server, options, batch, ablate=False)
            again = [j.index for j in judged if j.right] if options.ablate else []
            yield judged, _ask_all(server, options, again, ablate=True)
    finally:
        server.close()


def _ask_all(server: Server, options: argparse.Namespace, indices: list[int], ablate: bool) -> list[Judged]:
    sent = [_send(server, options, index, ablate) for index in indices]
    return [_ask(server, options, stage, removed) for stage, removed in sent]


def _send(server: Server, options: argparse.Namespace, index: int, ablate: bool) -> tuple[Stage, str]:
    shown = _scenario(options, index)
    base = time.time_ns() - shown.run.end - round(AGO_S * NS)
    stage = Stage(shown, base, uuid.uuid4().hex[:8])
    body, removed = exports(stage), ""
    if ablate:
        body, removed = ablated(body, options.seed, index)
    server.send(body)
    return stage, removed


def parameters(stage: Stage) -> dict[str, str | float | int]:
    """What GET /diagnosis and GET /requests are asked for."""
    since, until = window(stage)
    objective = stage.scenario.truth.objective
    asked = {"ttft": objective.ttft, "tpot": objective.tpot, "target": objective.target}
    return {"from": _rfc3339(since), "to": _rfc3339(until), "model": stage.model, **asked}


def _rfc3339(t: int) -> str:
    return datetime.fromtimestamp(t / NS, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _ask(server: Server, options: argparse.Namespace, stage: Stage, removed: str) -> Judged:
    params = parameters(stage)
    answer = server.diagnosis(params, len(stage.scenario.run.lives))
    more: dict[str, int] = {}
    if options.requests and stage.scenario.truth.missed and not removed:
        more = _about_requests(server, options.requests, stage, params)
    return judge(stage.scenario, answer, removed=removed, **more)


def _about_requests(
    server: Server, limit: int, stage: Stage, params: dict[str, str | float | int]
) -> dict[str, int]:
    """Causes of missed requests, and their counterfactuals, against each one's truth."""
    listed = server.get("/requests", **params, missed="true", limit=limit) or {}
    by_id = {request_id(stage, v.index): v for v in stage.scenario.truth.verdicts}
    counts = dict.fromkeys(
        ("requests_right", "requests_judged", "counterfactuals_right", "counterfactuals_judged"), 0
    )
    for row in listed.get("requests") or []:
        truth = by_id.get(str(row.get("request_id")))
        if truth is None:
            continue
        cause = str(row.get("cause"))
        counts["requests_judged"] += 1
        counts["requests_right"] += truth.caused_by(cause)
        said = _counterfactual(server.get(f"/requests/{row.get('key')}", **params) or {})
        meets = stage.scenario.truth.meets_without(cause, truth)
        if said is not None and meets is not None:
            counts["counterfactuals_judged"] += 1
            counts["counterfactuals_right"] += said == meets
    return counts


def _counterfactual(document: dict[str, Any]) -> bool | None:
    """Whether the answer says that it would have met without its cause; None where it does not say."""
    said = str((document.get("verdict") or {}).get("counterfactual"))
    if "would still have missed" in said:
        return False
    return True if "would have met" in said else None


def _line(judged: Judged) -> str:
    word = "right" if judged.right else "abstained" if judged.abstained else "WRONG"
    sure = "-" if judged.confidence is None else f"{judged.confidence:.2f}"
    less = f" less {judged.removed}" if judged.removed else ""
    late = "" if judged.settled else " (not final)"
    return (
        f"{judged.index:5d} {judged.kind:7s} {judged.faults:32s} {word:9s} {judged.said} {sure}{less}{late}"
    )


def _document(
    options: argparse.Namespace, result: Report, judged: list[Judged], ablated: list[Judged]
) -> dict[str, Any]:
    return {
        "seed": options.seed,
        "report": asdict(result),
        "bars": [asdict(bar) | {"passed": bar.passed} for bar in bars(result, bool(ablated))],
        "scenarios": [asdict(j) for j in judged],
        "ablated": [asdict(j) for j in ablated],
    }


def text(result: Report, ablated: bool) -> str:
    """The report as people read it."""
    lines = [f"{result.scenarios} scenarios, {result.unsettled} judged before they were final", ""]
    for bar in bars(result, ablated):
        sign = ">=" if bar.at_least else "<="
        word = "PASS" if bar.passed else "FAIL"
        lines.append(f"{word}  {bar.name:36s} {_percent(bar.value):>8s}  {sign} {_percent(bar.limit)}")
    lines += ["", *(f"right, {kind:8s} {_percent(share)}" for kind, share in result.accuracy.items())]
    lines += [f"abstained       {_percent(result.abstained)}"]
    lines += [f"request causes  {_percent(result.request_cause_accuracy)}"]
    lines += [f"request counterfactuals {_percent(result.request_counterfactual_agreement)}"]
    lines += ["", "truth -> said (acceptable answers count as the truth)"]
    for truth, said in result.confusion.items():
        told = ", ".join(f"{cause} {n}" for cause, n in sorted(said.items(), key=lambda item: -item[1]))
        lines.append(f"  {truth:38s} {told}")
    lines += ["", "confidence  answers  mean   right"]
    for row in result.calibration:
        lines.append(
            f"  {row['from']:.1f}       {row['answers']:6d}  {row['confidence']:.3f}  {row['right']:.3f}"
        )
    if result.ablation:
        lines += ["", "signal taken away                       right  abstained  wrong"]
        for signal, counts in result.ablation.items():
            right, abstained, wrong = (counts.get(word, 0) for word in ("right", "abstained", "wrong"))
            lines.append(f"  {signal:38s} {right:5d}  {abstained:9d}  {wrong:5d}")
    return "\n".join(lines)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


if __name__ == "__main__":
    sys.exit(main())
