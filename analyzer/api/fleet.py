"""`GET /pools`, `/transfers` and `/kv/orphans`."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query

from analyzer.api.diagnosis_models import (
    OrphanModel,
    OrphansModel,
    PoolModel,
    PoolsModel,
    PoolWorkerModel,
    RateModel,
    SourcedModel,
    TransferGroupModel,
    TransfersModel,
)
from analyzer.api.errors import BadParameter
from analyzer.api.parameters import Asked, Provided
from analyzer.api.times import rfc3339
from analyzer.verdict.desk import FRESH_S
from analyzer.verdict.hand_off_answer import GROUPS, HandOffs, hand_offs
from analyzer.verdict.orphan_answer import orphans
from analyzer.verdict.pool_answer import Sourced, WorkerState, pool_states

router = APIRouter(tags=["fleet"])

ORPHANS_FRESH_S = 1.0
"""How old an answer on orphans may be while more arrives: they are named within seconds of their lease."""


@router.get("/pools", summary="State of every worker of both pools")
def pools(asked: Asked, services: Provided) -> PoolsModel:
    """Answer as of the end of the window: who waits, who is full, who idles, and who holds up the rest."""
    found = services.desk.ask(asked.scope, asked.objectives, FRESH_S).diagnosis
    origin = found.situation.loaded.origin_ns
    return PoolsModel(
        pools=[
            PoolModel(
                pool=pool.pool,
                workers=[_worker(worker, origin) for worker in pool.workers],
                skew=pool.skew,
                verdict=pool.verdict,
            )
            for pool in pool_states(found)
        ]
    )


@router.get("/transfers", summary="KV hand-offs: volume, rates, failures")
def transfers(
    asked: Asked,
    services: Provided,
    by: Annotated[str, Query(description=f"One of {', '.join(GROUPS)}.")] = "pair",
) -> TransfersModel:
    """Rates are bytes ÷ time from asked for to moved; those above the line rate are left out and counted."""
    if by not in GROUPS:
        raise BadParameter(f"by: {by[:64]!r} is not one of {', '.join(GROUPS)}", "by")
    found = services.desk.ask(asked.scope, asked.objectives, FRESH_S).diagnosis
    return TransfersModel(
        by=by, groups=[_group(group) for group in hand_offs(services.store, found.situation, by)]
    )


@router.get("/kv/orphans", summary="KV nobody will read, and KV read after its lease")
def kv_orphans(asked: Asked, services: Provided) -> OrphansModel:
    """An orphan was never imported and expired, was aborted or is held too long;
    or it is room never filled.
    """
    found = services.desk.ask(asked.scope, asked.objectives, ORPHANS_FRESH_S).diagnosis
    answer = orphans(services.store, found.situation)
    return OrphansModel(
        orphans=[OrphanModel(**asdict(item)) for item in answer.orphans],
        late_reads=[OrphanModel(**asdict(item)) for item in answer.late_reads],
        orphans_total=answer.orphans_total,
        late_reads_total=answer.late_reads_total,
        limit_s=answer.limit_s,
    )


def _worker(worker: WorkerState, origin_ns: int) -> PoolWorkerModel:
    values = {name: _sourced(value) for name, value in vars(worker).items() if isinstance(value, Sourced)}
    since = None if worker.since is None else rfc3339(origin_ns + round(worker.since * 1e9))
    return PoolWorkerModel(worker=worker.worker, since=since, **values)


def _sourced(value: Sourced) -> SourcedModel:
    return SourcedModel(value=value.value, source=value.source, reason=value.reason)


def _group(group: HandOffs) -> TransferGroupModel:
    return TransferGroupModel(
        key=group.key,
        transfers=group.transfers,
        bytes=group.bytes,
        gb_s=None if group.rate is None else RateModel(p50=group.rate[0], p5=group.rate[1]),
        aggregate_gb_s=group.aggregate,
        post_share=group.post_share,
        failed=group.failed,
        concurrency=group.concurrency,
        link_gb_s=group.link,
        discarded=group.discarded,
    )
