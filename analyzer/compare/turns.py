"""First turns of conversations and later ones: a design may suit one-shot prompts and hurt what follows."""

from dataclasses import dataclass

from analyzer.compare.contrast import Contrast, Pair
from analyzer.compare.side import COUNT, Side

_TURNS = {"first": 1, "later": 2}

Both = tuple[int, int]


@dataclass(frozen=True)
class Turns:
    """Requests that are first turns of conversations, or later ones; pairs are (baseline, candidate)."""

    name: str
    requests: Both
    attainment: Contrast
    """Of both limits, on the mix of prompts that these turns share."""
    cached_fraction: tuple[float | None, float | None]
    """Prompt tokens that were cached, of those requests that say."""
    appended: Both
    """Turns whose new tokens were prefilled on the decode worker on purpose."""
    recomputed: Both
    """Turns whose prompt was computed on the decode worker for want of a hand-off, or after a failed one."""


def turns(baseline: Side, candidate: Side, seed: int) -> list[Turns]:
    """Figures of first and later turns; empty unless both sides have both."""
    sides = (baseline, candidate)
    found = []
    for name, number in _TURNS.items():
        counts = [side.counts[:, number].sum(axis=(0, 1)) for side in sides]
        if not all(count[COUNT["evaluated"]] for count in counts):
            return []
        pair = Pair(baseline, candidate, slice(number, number + 1), seed)
        cached = [
            float(count[COUNT["cached_tokens"]] / count[COUNT["prompt_tokens"]])
            if count[COUNT["prompt_tokens"]]
            else None
            for count in counts
        ]
        whole = {
            figure: (int(counts[0][COUNT[figure]]), int(counts[1][COUNT[figure]]))
            for figure in ("total", "appended", "recomputed")
        }
        found.append(
            Turns(
                name,
                whole["total"],
                pair.attainment("joint"),
                (cached[0], cached[1]),
                whole["appended"],
                whole["recomputed"],
            )
        )
    return found


def hurts_later_turns(found: list[Turns]) -> list[str]:
    """Say so when one side does no worse on first turns and worse on later ones."""
    if not found:
        return []
    first, later = (item.attainment for item in found)
    for side, other in (("candidate", "baseline"), ("baseline", "candidate")):
        if later.better == other and first.better in (side, "neither"):
            drop = abs(later.difference.value or 0.0)
            return [
                f"{side} suits one-shot prompts and hurts later turns: on turns after the first, {drop:.1%} "
                f"fewer of its requests met both limits than {other}'s, on first turns it was no worse"
            ]
    return []
