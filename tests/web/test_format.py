"""Numbers as the page writes them."""

from typing import Any

import pytest
from playwright.sync_api import Page

CALL = """async ([name, value]) => {
  const base = document.querySelector('script[type=module]').src;
  const format = await import(new URL('format.js', base));
  return String(format[name](value));
}"""


@pytest.fixture
def formatted(page: Page, address: str) -> Any:
    page.goto(f"{address}/?view=telemetry")
    return lambda name, value: page.evaluate(CALL, [name, value])


def test_durations_have_three_digits_and_the_unit_that_fits(formatted: Any) -> None:
    expected = {
        0: "0 s",
        4.2e-8: "42 ns",
        0.0002: "200 µs",
        0.012: "12.0 ms",
        0.9996: "1.00 s",
        1.932: "1.93 s",
        60: "60.0 s",
        130: "2.17 min",
        9000: "2.50 h",
        1e6: "11.6 d",
    }
    assert {value: formatted("durationText", value) for value in expected} == expected


def test_chosen_durations_have_no_digits_that_nobody_chose(formatted: Any) -> None:
    expected = {2: "2 s", 1.5: "1.5 s", 0.012: "12 ms", 0.1: "100 ms", 30: "30 s", 0.0205: "20.5 ms"}
    assert {value: formatted("roundText", value) for value in expected} == expected


def test_a_percentage_never_claims_all_or_nothing_by_rounding(formatted: Any) -> None:
    expected = {
        0: "0 %",
        1e-7: "< 0.001 %",
        0.5: "50 %",
        0.763: "76.3 %",
        0.9995: "99.95 %",
        0.999999: "> 99.999 %",
        1: "100 %",
        -3.744: "−374.4 %",
    }
    assert {value: formatted("percentText", value) for value in expected} == expected


def test_instants_keep_their_nanoseconds(formatted: Any) -> None:
    assert formatted("instantNs", "2026-11-29T02:00:00.123456789Z") == "1795917600123456789"
    assert formatted("instantNs", "2026-11-29T03:00:00.5+01:00") == "1795917600500000000"
    assert formatted("instantNs", 1795917600.25) == "1795917600250000000"
