"""Where no model was asked for, deployments are judged apart."""

import numpy as np
import pytest

from analyzer.verdict.attribution import attribute
from analyzer.verdict.deployments import attributed_apart
from tests.verdict.build import HEALTHY, World, healthy, shares
from tests.verdict.test_causes import queued_for_prefill


def _two_models() -> World:
    """A backlog on the one prefill worker of llama, beside three idle ones of another model."""
    world = World()
    healthy(world, model="llama")
    for number in range(120):
        worker = f"prefill-{1 + number % 3}"
        world.request(
            200 + 3 * number, HEALTHY, prefill_worker=worker, decode_worker="decode-9", model="qwen"
        )
    queued_for_prefill(world, model="llama")
    return world


def test_another_models_idle_workers_are_no_siblings() -> None:
    s = _two_models().situation()
    with np.errstate(divide="ignore", invalid="ignore"):
        together, apart = attribute(s), attributed_apart(s)
    assert shares(together, len(s.rows) - 1)["pool_imbalance.intra_pool_skew"] > 0.9
    assert shares(apart, len(s.rows) - 1)["pool_imbalance.prefill_starved"] > 0.9
    assert apart.shares.shape == together.shares.shape
    assert apart.shares.sum(axis=1) == pytest.approx(1.0)


def test_models_that_share_a_worker_are_judged_together() -> None:
    world = _two_models()
    world.request(10, HEALTHY, prefill_worker="prefill-0", decode_worker="decode-9", model="qwen")
    s = world.situation()
    with np.errstate(divide="ignore", invalid="ignore"):
        assert (attributed_apart(s).shares == attribute(s).shares).all()


def test_each_model_keeps_its_own_causes_in_the_order_of_the_window() -> None:
    world = World()
    healthy(world, model="llama")
    queued_for_prefill(world, model="llama")
    llama = world.situation()
    healthy(world, prefill_worker="prefill-8", decode_worker="decode-8", model="qwen")
    both = world.situation()
    with np.errstate(divide="ignore", invalid="ignore"):
        alone, apart = attribute(llama), attributed_apart(both)
    assert apart.shares == pytest.approx(alone.shares)
    assert (apart.would_have_met == alone.would_have_met).all()
    assert sum(amount for _, amount in apart.asked) == pytest.approx(sum(amount for _, amount in alone.asked))
