"""Requests that are still running: visible only as a count and the age of the oldest, by model."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from opentelemetry.metrics import Meter, Observation

from collector import conventions as names

MODELS_KEPT = 200
OTHER_MODEL = "__other__"


@dataclass(slots=True, eq=False)
class Running:
    """One request under way; `since` is in monotonic seconds."""

    model: str
    since: float


class InFlight:
    """The requests now under way. A model seen once keeps reporting its count, so that it can return to 0."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._running: dict[int, Running] = {}
        self._models: set[str] = set()

    def enter(self, model: str = "") -> Running:
        """Note a request that starts now; its model may be told later with `name`."""
        running = Running(self._known(model), self._clock())
        self._running[id(running)] = running
        return running

    def name(self, running: Running, model: str) -> None:
        """Say which model a running request asked for."""
        running.model = self._known(model)

    def leave(self, running: Running) -> None:
        """Note that a request is over."""
        self._running.pop(id(running), None)

    def __len__(self) -> int:
        return len(self._running)

    def by_model(self) -> dict[str, tuple[int, float | None]]:
        """Per model: how many run, and the age of the oldest in seconds (None when none runs)."""
        now = self._clock()
        found: dict[str, tuple[int, float | None]] = dict.fromkeys(sorted(self._models.copy()), (0, None))
        for running in list(self._running.values()):
            count, oldest = found.get(running.model, (0, None))
            found[running.model] = (count + 1, max(oldest or 0.0, now - running.since))
        return found

    def export(self, meter: Meter, pool: str) -> None:
        """Export the count and the oldest age through an OpenTelemetry meter."""
        meter.create_observable_gauge(
            names.REQUESTS_IN_FLIGHT, [lambda _: self._counts(pool)], "{request}", "Requests under way"
        )
        meter.create_observable_gauge(
            names.REQUESTS_OLDEST_AGE,
            [lambda _: self._ages(pool)],
            "s",
            "Age of the oldest request under way",
        )

    def _known(self, model: str) -> str:
        if model and model not in self._models:
            if len(self._models) >= MODELS_KEPT:
                return OTHER_MODEL
            self._models.add(model)
        return model

    def _counts(self, pool: str) -> Iterable[Observation]:
        return [Observation(count, _labels(model, pool)) for model, (count, _) in self.by_model().items()]

    def _ages(self, pool: str) -> Iterable[Observation]:
        ages = ((model, oldest) for model, (_, oldest) in self.by_model().items())
        return [Observation(oldest, _labels(model, pool)) for model, oldest in ages if oldest is not None]


def _labels(model: str, pool: str) -> dict[str, str]:
    return {names.POOL: pool, **({names.MODEL: model} if model else {})}
