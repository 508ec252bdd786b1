"""The harness's own arithmetic; runs with the ordinary tests."""

import pytest

from tests.live.figures import Lag, agreement, quantile
from tests.live.known import whole
from tests.live.processes import free_ports


def test_quantiles_are_nearest_rank():
    assert [quantile(range(1, 101), share) for share in (0.5, 0.95, 1.0)] == [50, 95, 100]
    with pytest.raises(ValueError, match="nothing"):
        quantile([], 0.5)


def test_lag_counts_where_the_loop_was_stuck():
    lag = Lag()
    for woke, late in ((100, 0), (200, 5), (900, 600), (1000, -3)):
        lag.note(woke, late)
    assert lag.around(150) == 5
    assert lag.around(250) == lag.around(900) == 600
    assert lag.around(950) == lag.around(2000) == 0
    assert lag.of(150, 250) == 605


def test_agreement_that_holds_has_no_faults():
    found = agreement([(1.000, 1.004, 0), (2.000, 1.999, 0), (0.5, 0.54, 0)])
    assert found.median_ms == pytest.approx(4)
    assert found.faults(median_ms=10, p95_ms=60) == []


def test_a_bound_that_fails_says_whether_the_harness_lagged():
    stuck = agreement([(1.0, 1.2, 190_000_000)] * 3)
    wrong = agreement([(1.0, 1.2, 1_000_000)] * 3)
    assert ["NOT JUDGED, the harness lagged" in fault for fault in stuck.faults(10, 60)] == [True, True]
    assert ["the harness did not lag so" in fault for fault in wrong.faults(10, 60)] == [True, True]


def test_a_request_is_whole_when_it_has_each_phase():
    row = {"phases": ["decode", "", "kv_import"]}
    assert whole(row, ("decode", "kv_import"))
    assert not whole(row, ("decode", "kv_publish"))


def test_free_ports_differ_and_fit_16_signed_bits():
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert max(ports) < 2**15
