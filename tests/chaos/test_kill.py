"""kill -9 at random instants under load: what was acknowledged is assembled, exactly once.

PDSCOPE_CHAOS_KILLS sets how many; 200 take about twenty minutes, and the default run does a few.
"""

import os
import random
import time
from pathlib import Path

import pytest

from tests.chaos.load import Senders
from tests.chaos.server import check_assembled, serve

KILLS = int(os.environ.get("PDSCOPE_CHAOS_KILLS") or 4)


@pytest.mark.timeout(60 + 20 * KILLS)
def test_every_acknowledged_request_survives_kills_at_random_instants(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(KILLS)
    senders = Senders(6, seed=KILLS)
    # Small segments, so that kills also hit their making and unlinking.
    options = ("--journal-segment-bytes", "100000", "--journal-max-age-s", "1")
    began = time.monotonic()
    for _ in range(KILLS):
        server = serve(tmp_path, *options, log=tmp_path.with_suffix(".log"))
        senders.port = server.port
        before = len(senders.tally.acknowledged)
        deadline = time.monotonic() + 15
        # Now and then the kill comes while what the last one left is still being replayed.
        if rng.random() < 0.8:
            while len(senders.tally.acknowledged) == before and time.monotonic() < deadline:
                time.sleep(0.005)
        time.sleep(rng.uniform(0, 1.2))
        server.kill()
        senders.port = None
    tally = senders.stop()
    server = serve(tmp_path, *options, log=tmp_path.with_suffix(".log"))
    server.stop()
    with capsys.disabled():
        print(f"\n{KILLS} kills in {time.monotonic() - began:.0f} s: ", end="")
        check_assembled(tmp_path, tally)
    assert len(tally.acknowledged) >= KILLS
    assert not list((tmp_path / "journal" / "aside").glob("*"))
    assert "Traceback" not in tmp_path.with_suffix(".log").read_text()
