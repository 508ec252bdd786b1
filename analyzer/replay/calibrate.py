"""How many words make a token here: asked of the endpoint itself, by two prompts of known words."""

import time

from analyzer.replay.client import COMPLETIONS, Pace, Replayer, Target, exchange, session_of
from analyzer.replay.errors import BadReplay
from analyzer.replay.prompts import Lengths
from analyzer.replay.schedule import Planned

SHORT, LONG = 64, 512
"""Words of the two probes."""


async def calibrate(target: Target, ids: bool, seed: int) -> Lengths:
    """The lengths to be used for this endpoint.

    Raises BadReplay when it does not answer, or when token ids are wanted of a chat endpoint.
    """
    if ids and target.path != COMPLETIONS:
        raise BadReplay(f"--lengths ids needs {COMPLETIONS}: a chat endpoint takes no token ids")
    lengths = Lengths(ids, how="token ids are sent, so that lengths are exact" if ids else "")
    told = [await _told(target, lengths, size, seed) for size in (SHORT, LONG)]
    if ids:
        return lengths
    if told[0] is None or told[1] is None or told[1] <= told[0]:
        how = "one word is taken for one token: the endpoint does not tell prompt_tokens"
        return Lengths(False, how=how)
    tokens_per_word = (told[1] - told[0]) / (LONG - SHORT)
    overhead = max(0.0, told[0] - tokens_per_word * SHORT)
    how = (
        f"drawn words; two probes of {SHORT} and {LONG} words told {told[0]} and {told[1]} prompt tokens: "
        f"{tokens_per_word:.3f} tokens a word and {overhead:.0f} for the template"
    )
    return Lengths(False, 1 / tokens_per_word, overhead, how)


async def _told(target: Target, lengths: Lengths, size: int, seed: int) -> int | None:
    """Prompt tokens the endpoint counts in a probe of `size` words or ids."""
    probe = Planned(-size, 0.0, size, 1)
    body = Replayer(target, lengths, Pace(), seed).body(probe)
    async with session_of(target) as session:
        sent = await exchange(session, target, probe, body, time.monotonic())
    if sent.outcome != "ok":
        raise BadReplay(
            f"{target.url}{target.path}: a probe of {size} tokens ended as {sent.outcome}; "
            "check --target, --model and --path (and --no-force-output where unknown fields are refused)"
        )
    return sent.input_tokens
