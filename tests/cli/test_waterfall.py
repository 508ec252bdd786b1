"""What the drawing of a request shades."""

from analyzer.cli.waterfall import EXPOSED, GAP, HIDDEN, Bar, cells, gaps
from analyzer.cli.words import duration, fraction


def bar(phase: str | None, start: float, end: float, attempt: int = 1) -> Bar:
    covers = () if phase else ("kv_transfer", "decode_queue")
    return Bar(phase, covers, "w", start, end, attempt, "observed")


def test_time_behind_an_earlier_phase_is_hidden() -> None:
    compute, transfer = bar("prefill_compute", 0, 6), bar("kv_transfer", 2, 10)
    bars = [compute, transfer]
    assert cells(compute, bars, 10, 10) == EXPOSED * 6 + " " * 4
    assert cells(transfer, bars, 10, 10) == "  " + HIDDEN * 4 + EXPOSED * 4


def test_a_superseded_attempt_is_not_exposed_any_more() -> None:
    first, second = bar("prefill_queue", 0, 10, 1), bar("prefill_compute", 5, 10, 2)
    assert cells(first, [first, second], 10, 10) == EXPOSED * 5 + HIDDEN * 5
    assert cells(second, [first, second], 10, 10) == " " * 5 + EXPOSED * 5


def test_a_composite_is_no_phase_and_leaves_the_gap() -> None:
    queue, composite = bar("prefill_queue", 0, 5), bar(None, 5, 8)
    assert cells(composite, [queue, composite], 10, 10) == " " * 5 + "▒" * 3 + " " * 2
    assert gaps([queue, composite], 10, 10) == " " * 5 + GAP * 5


def test_a_short_phase_is_still_seen() -> None:
    short = bar("tokenize", 3.01, 3.02)
    assert cells(short, [short], 10, 10) == " " * 3 + EXPOSED + " " * 6


def test_numbers_read_as_people_write_them() -> None:
    assert [duration(value) for value in (None, 0, 0.00001234, 0.0123, 1.5, 120.0)] == [
        "–",
        "0",
        "12.3 µs",
        "12.3 ms",
        "1.50 s",
        "120 s",
    ]
    assert (fraction(None), fraction(0.9951), fraction(1.0)) == ("–", "99.51%", "100%")
