"""Where the page draws exposed time agrees with how much of it there is."""

import random
from typing import Any

from playwright.sync_api import Page

from tests.web.recorded_api import REQUEST_NAMES, recorded
from tests.web.shapes import Interval, exposures

CUT = """async ([intervals, end]) => {
  const base = document.querySelector('script[type=module]').src;
  const { segments, totals } = await import(new URL('exposure.js', base));
  const cut = segments(intervals, end);
  return { totals: totals(cut), first: cut.at(0).start, last: cut.at(-1).end,
           gapless: cut.every((s, i) => i === 0 || s.start === cut[i - 1].end) };
}"""
AGREES = """async (request) => {
  const base = document.querySelector('script[type=module]').src;
  const { timelineOf } = await import(new URL('timeline.js', base));
  return timelineOf(request).agrees;
}"""
PHASES = (
    "router_queue",
    "prefill_queue",
    "prefill_compute",
    "kv_transfer",
    "decode_queue",
    "network_streaming",
)


def random_intervals(rng: random.Random) -> list[Interval]:
    """Whole seconds, so that the page's floats are exact."""
    found: list[Interval] = []
    for _ in range(rng.randint(1, 9)):
        start = rng.randint(0, 90)
        covers = ("kv_transfer", "kv_import") if rng.random() < 0.2 else ()
        attempt = 1 if start < 40 else rng.randint(1, 2)
        phase = "" if covers else rng.choice(PHASES)
        found.append((phase, covers, start, start + rng.randint(1, 60), "w", attempt, "observed", ""))
    return found


def as_the_page_has_it(intervals: list[Interval]) -> list[dict[str, Any]]:
    names = ("phase", "covers", "start", "end", "worker", "attempt", "source", "reason")
    return [dict(zip(names, i, strict=True)) for i in intervals]


def test_any_intervals_are_cut_as_the_convention_says(page: Page, address: str) -> None:
    page.goto(f"{address}/?view=telemetry")
    rng = random.Random(11)
    for _ in range(150):
        intervals = random_intervals(rng)
        end = rng.randint(20, 120)
        cut = page.evaluate(CUT, [as_the_page_has_it(intervals), end])
        expected, _ = exposures(intervals, 0, end)
        assert {part: s for part, s in expected.items() if s} == cut["totals"], intervals
        assert (cut["first"], cut["last"], cut["gapless"]) == (0, end, True)


def test_every_recorded_request_is_drawn_where_its_amounts_say(page: Page, address: str) -> None:
    page.goto(f"{address}/?view=telemetry")
    for name in REQUEST_NAMES:
        assert page.evaluate(AGREES, recorded(f"request.{name}")), name


def test_amounts_that_the_intervals_cannot_explain_are_noticed(page: Page, address: str) -> None:
    page.goto(f"{address}/?view=telemetry")
    request = recorded("request.slow")
    request["exposed"]["prefill_queue"] += 0.25
    assert not page.evaluate(AGREES, request)
