"""What pdscope knows about the time and the objective of an alert."""

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from analyzer.cli.errors import CommandError

LOOK_BACK = timedelta(minutes=30)
"""How far before its start an alert's diagnosis looks."""


class Api(Protocol):
    """The part of REST that is asked."""

    def get(self, path: str, **params: Any) -> dict[str, Any]:
        """Answer of a GET. Raises CommandError when pdscope refuses."""
        ...


@dataclass(frozen=True)
class Why:
    """Causes of the window with the requests that missed for each, largest first."""

    missed: float
    evaluated: float
    causes: tuple[tuple[str, float], ...]
    summary: str = ""
    phases: tuple[tuple[str, float], ...] = ()
    """Where the missed requests waited longest."""


def diagnose(api: Api, started: datetime, now: datetime, model: str = "") -> Why:
    """Ask about the time from a while before the alert until now. Raises CommandError, ConfigError."""
    window = {
        "from_": (started - LOOK_BACK).astimezone(UTC).isoformat(),
        "to": now.astimezone(UTC).isoformat(),
    }
    if model not in ("", "all", "other"):
        window["model"] = model
    points = api.get("/slo/timeseries", step=3600, **window)["points"]
    causes, phases = Counter[str](), Counter[str]()
    for point in points:
        causes.update(point["by_cause"])
        phases.update(point["by_phase"])
    missed = sum(point["missed"] for point in points)
    evaluated = sum(point["evaluated"] for point in points)
    summary = ""
    try:
        answer = api.get("/diagnosis", **window)
    except CommandError:
        # A pdscope that has no verdicts yet; its counts still say where requests waited.
        pass
    else:
        summary = answer["summary"]
        causes = Counter({item["cause"]: item["requests"] for item in answer["causes"]})
    return Why(missed, evaluated, tuple(causes.most_common(3)), summary, tuple(phases.most_common(3)))
