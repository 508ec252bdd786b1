"""What a replay measured, as a benchmark receipt."""

import platform
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from analyzer.plan.benchmark import BUCKET_NAMES, SCHEMA, TOKEN_EDGES, seal
from analyzer.plan.outcome import Objective
from analyzer.replay.client import Pace, Run, Sent, Target
from analyzer.replay.prompts import Lengths
from analyzer.replay.schedule import Schedule
from collector.version import own_version

LATE_S = 0.05
"""A client whose p99 lag is above this did not offer the load of the trace."""
LATE_MAX_S = 1.0


def benchmark(
    schedule: Schedule,
    run: Run,
    target: Target,
    lengths: Lengths,
    pace: Pace,
    objective: Objective,
    said: dict[str, str | None],
    started: datetime,
    ended: datetime,
) -> dict[str, Any]:
    """The sealed receipt; `said` holds cohort and layout as they were given."""
    why = None
    if run.stopped:
        why = f"stopped by the user; {run.unsent} of {len(schedule.planned)} requests have no result"
    return seal(
        {
            "schema_version": SCHEMA,
            "label": "measured",
            "complete": why is None,
            "why_incomplete": why,
            "started_at": started.isoformat(timespec="milliseconds"),
            "ended_at": ended.isoformat(timespec="milliseconds"),
            "versions": {
                "pdscope": own_version(),
                "python": platform.python_version(),
                "numpy": np.__version__,
            },
            "trace": {
                "kind": schedule.kind,
                "name": schedule.name,
                "sha256": schedule.sha256,
                "first": schedule.first,
                "requests": len(schedule.planned),
                "speed": float(pace.speed),
            },
            "target": {
                "url": _without_password(target.url),
                "path": target.path,
                "model": target.model,
                **said,
            },
            "client": _client(run, pace),
            "lengths": _lengths(run, lengths),
            "objective": {"ttft_s": objective.ttft_s, "tpot_s": objective.tpot_s},
            "figures": _figures(run, objective),
            "buckets": _buckets(run),
        }
    )


def tpot(sent: Sent) -> float | None:
    """Seconds per token after the first; tokens as the server counted them, else content chunks."""
    tokens = sent.output_tokens if sent.output_tokens is not None else sent.chunks
    if sent.ttft_s is None or sent.last_s is None or tokens < 2:
        return None
    return (sent.last_s - sent.ttft_s) / (tokens - 1)


def _client(run: Run, pace: Pace) -> dict[str, Any]:
    lags = [item.lag_s for item in run.sent]
    p50, p99, most = _percentile(lags, 50), _percentile(lags, 99), max(lags, default=None)
    kept = bool(lags) and run.held_back == 0 and (p99 or 0.0) <= LATE_S and (most or 0.0) <= LATE_MAX_S
    if not lags:
        statement = "nothing was sent"
    elif kept:
        statement = (
            f"arrivals were kept: 99 % of requests were sent within {(p99 or 0.0) * 1e3:.1f} ms of their time"
        )
    elif run.held_back:
        statement = (
            f"arrivals were not kept: {run.held_back} requests waited for the limit of {pace.concurrency}, "
            "so the load was lower than the trace's; raise --concurrency"
        )
    else:
        statement = (
            f"arrivals were not kept: the client itself was late (p99 {(p99 or 0.0) * 1e3:.0f} ms, at most "
            f"{(most or 0.0) * 1e3:.0f} ms); lower --speed or use a larger machine"
        )
    return {
        "concurrency_limit": pace.concurrency,
        "most_in_flight": run.most_in_flight,
        "lag_p50_s": p50,
        "lag_p99_s": p99,
        "lag_max_s": most,
        "held_back": run.held_back,
        "kept_up": kept,
        "statement": statement,
    }


def _lengths(run: Run, lengths: Lengths) -> dict[str, Any]:
    told = [(item.planned.prompt, item.input_tokens) for item in run.sent if item.input_tokens is not None]
    return {
        "how": lengths.how,
        "words_per_token": None if lengths.ids else lengths.words_per_token,
        "asked_mean": float(np.mean([asked for asked, _ in told])) if told else None,
        "told_mean": float(np.mean([found for _, found in told])) if told else None,
        "told": len(told),
    }


def _figures(run: Run, objective: Objective) -> dict[str, Any]:
    answered = [item for item in run.sent if item.outcome == "ok" and item.ttft_s is not None]
    failed: dict[str, int] = {}
    for item in run.sent:
        if item not in answered:
            failed[item.outcome] = failed.get(item.outcome, 0) + 1
    ttft = [item.ttft_s for item in answered if item.ttft_s is not None]
    per_token = [value for item in answered if (value := tpot(item)) is not None]
    gaps = [gap for item in answered for gap in item.gaps_s]
    met = [item for item in answered if (item.ttft_s or 0.0) <= objective.ttft_s]
    met = [item for item in met if (tpot(item) or 0.0) <= objective.tpot_s]
    tokens = sum(item.output_tokens if item.output_tokens is not None else item.chunks for item in answered)
    counted = {item.output_tokens is not None for item in answered}
    return {
        "label": "measured",
        "sent": len(run.sent),
        "answered": len(answered),
        "met_count": len(met),
        "failed": failed,
        "ttft50_s": _percentile(ttft, 50),
        "ttft95_s": _percentile(ttft, 95),
        "ttft99_s": _percentile(ttft, 99),
        "tpot50_s": _percentile(per_token, 50),
        "tpot95_s": _percentile(per_token, 95),
        "tpot99_s": _percentile(per_token, 99),
        "itl99_s": _percentile(gaps, 99),
        "requests_per_s": len(run.sent) / run.wall_s if run.wall_s and run.sent else None,
        "output_tokens_per_s": tokens / run.wall_s if run.wall_s and answered else None,
        "output_tokens_by": ("both" if len(counted) > 1 else "usage" if True in counted else "chunks")
        if answered
        else None,
    }


def _buckets(run: Run) -> list[dict[str, Any]]:
    out = []
    for name, low, high in zip(BUCKET_NAMES, TOKEN_EDGES, (*TOKEN_EDGES[1:], None), strict=True):
        inside = [
            i for i in run.sent if i.planned.prompt >= low and (high is None or i.planned.prompt < high)
        ]
        ttft = [item.ttft_s for item in inside if item.ttft_s is not None and item.outcome == "ok"]
        out.append(
            {
                "name": name,
                "requests": len(inside),
                "ttft50_s": _percentile(ttft, 50),
                "ttft95_s": _percentile(ttft, 95),
            }
        )
    return out


def _percentile(values: list[float], q: float) -> float | None:
    return float(np.percentile(values, q)) if values else None


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
