"""Conservation checks, KV room and what moves them."""

from dataclasses import replace

import pytest

from analyzer.plan.demand import Demand, demands
from analyzer.plan.errors import BadPlan
from analyzer.plan.layout import Colocated, Disaggregated
from analyzer.plan.sizing import KvRoom, check, decode_batch, levers
from analyzer.plan.workload import Synthetic
from tests.plan.reference import EXACT

DEMAND = Demand("mean", 16.0, 44_000.0, 4_100.0, 2_750.0, 257.0)


def test_kv_room_is_what_weights_and_runtime_leave() -> None:
    assert KvRoom(640e9, 141e9, 48e9, 327_680).tokens == int(451e9 / 327_680)
    with pytest.raises(BadPlan, match=r"weights \(141\.0 GB\)"):
        print(KvRoom(80e9, 141e9, 6e9, 327_680).tokens)


def test_a_pool_at_its_ceiling_is_refused_and_named() -> None:
    result = check(Disaggregated(1, 3), DEMAND, EXACT, 0.012)

    assert result.dominant.name == "prefill"
    assert result.dominant.utilisation == pytest.approx(
        44_000 / 33_938, rel=0.001
    )  # 16,384 tokens in 0.4828 s
    assert result.refused is not None
    assert result.refused.startswith("prefill at 1.30 of its service rate at mean demand")
    assert check(Disaggregated(3, 1), DEMAND, EXACT, 0.012).refused is None


def test_utilisation_exactly_at_the_ceiling_is_refused() -> None:
    used = check(Disaggregated(3, 1), DEMAND, EXACT, 0.012).dominant.utilisation

    assert check(Disaggregated(3, 1), DEMAND, EXACT, 0.012, ceiling=used).refused
    assert not check(Disaggregated(3, 1), DEMAND, EXACT, 0.012, ceiling=used + 1e-9).refused


def test_no_percentile_comes_from_arithmetic() -> None:
    result = check(Colocated(4, 512), DEMAND, EXACT, 0.012)

    assert result.percentiles is None
    assert "simulate" in result.percentiles_reason


def test_the_decode_batch_is_the_largest_within_the_objective() -> None:
    batch = decode_batch(DEMAND, EXACT, 0.012)
    context = DEMAND.mean_prompt + DEMAND.mean_output / 2

    assert (
        EXACT.model.step_s(batch * context, batch)
        <= 0.012
        < EXACT.model.step_s((batch + 1) * context, batch + 1)
    )
    assert decode_batch(DEMAND, replace(EXACT, kv_tokens=30_070.0), 0.012) == 10
    assert decode_batch(DEMAND, EXACT, 0.006) == 0  # not even the weights are read in time


def test_an_objective_no_decode_can_meet_leaves_no_service() -> None:
    result = check(Disaggregated(2, 2), DEMAND, EXACT, 0.006)

    assert result.dominant.name == "decode"
    assert result.dominant.utilisation == float("inf")
    assert result.refused


def test_a_colocated_pool_out_of_seats_falls_behind_on_output() -> None:
    result = check(
        Colocated(1, 512), replace(DEMAND, uncached_tokens_per_s=100.0), replace(EXACT, max_seqs=4), 0.012
    )

    assert result.dominant.unit == "output tokens"
    assert result.refused


def test_the_strongest_lever_is_the_rate_and_a_wider_link_moves_nothing_here() -> None:
    found = levers(Disaggregated(1, 3), DEMAND, EXACT, 0.012)

    assert found[0].name == "requests_per_s"
    assert found[0].change == pytest.approx(0.1 * 1.2965, rel=0.01)
    assert next(lever for lever in found if lever.name == "link nic_bytes_per_s").change == 0


def test_demand_at_p95_and_peak_is_above_the_mean() -> None:
    mean, p95, peak = demands(Synthetic(16).draw())

    assert mean.uncached_tokens_per_s < p95.uncached_tokens_per_s < peak.uncached_tokens_per_s
    assert mean.requests_per_s == pytest.approx(16, rel=0.05)


def test_a_workload_too_short_for_a_p95_is_refused() -> None:
    with pytest.raises(BadPlan, match="at least 20 are needed"):
        demands(Synthetic(16, until_s=100).draw())


@pytest.mark.parametrize("ceiling", [0, -1, 1.5, float("nan")])
def test_a_ceiling_out_of_range_is_refused(ceiling: float) -> None:
    with pytest.raises(BadPlan, match="ceiling"):
        check(Colocated(4, 512), DEMAND, EXACT, 0.012, ceiling)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_a_rate_out_of_range_is_refused(rate: float) -> None:
    with pytest.raises(BadPlan, match="rate_per_s"):
        Synthetic(rate)
