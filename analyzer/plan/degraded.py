"""What is left of a layout when a worker or the link is lost."""

from dataclasses import dataclass, replace
from enum import StrEnum

from analyzer.plan.layout import Colocated, Layout, Pool, Settings, WorkerLoss


class Mode(StrEnum):
    """What has failed."""

    INTACT = "intact"
    WORKER_LOST = "a worker lost"
    PREFILL_LOST = "a prefill worker lost"
    DECODE_LOST = "a decode worker lost"
    LINK_LOST = "the link lost"


@dataclass(frozen=True, slots=True)
class Degraded:
    """How `layout` goes on in a `mode`: what serves then, and with which settings."""

    layout: Layout
    mode: Mode
    serves: Layout
    settings: Settings


def degraded(layout: Layout, settings: Settings, lost_at_s: float, chunk: int) -> list[Degraded]:
    """Every way `layout` can lose one worker, or its link, at `lost_at_s` for good.

    What a worker held is dispatched once more. Without a pool or the link between the pools, all that is left
    serves colocated with `chunk`: the fallback rule of every receipt. Layouts with nothing left are left out.
    """
    if isinstance(layout, Colocated):
        found = [_lose(layout, Pool.COLOCATED, Mode.WORKER_LOST, layout.workers, settings, lost_at_s, chunk)]
    else:
        found = [
            _lose(layout, Pool.PREFILL, Mode.PREFILL_LOST, layout.prefill, settings, lost_at_s, chunk),
            _lose(layout, Pool.DECODE, Mode.DECODE_LOST, layout.decode, settings, lost_at_s, chunk),
            _colocate(layout, Mode.LINK_LOST, layout.workers, settings, chunk),
        ]
    return [item for item in found if item is not None]


def _lose(
    layout: Layout, pool: Pool, mode: Mode, workers: int, settings: Settings, at_s: float, chunk: int
) -> Degraded | None:
    if workers == 1:
        return _colocate(layout, mode, layout.workers - 1, settings, chunk)
    lost = replace(settings, losses=(WorkerLoss(pool, 0, at_s),), retries=max(settings.retries, 1))
    return Degraded(layout, mode, layout, lost)


def _colocate(layout: Layout, mode: Mode, workers: int, settings: Settings, chunk: int) -> Degraded | None:
    if workers < 1:
        return None
    return Degraded(layout, mode, Colocated(workers, max(chunk, settings.max_seqs)), settings)
