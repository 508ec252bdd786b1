"""What the report looks like in an ordinary terminal."""

import io

import pytest
from rich.console import Console

from analyzer.cli.report_tables import _slowest

REQUEST = {
    "key": "0" * 32,
    "request_id": "2fb0c477-2dc3-4ce2-97ab-9a8e544e6548",
    "outcome": "interrupted",
    "exposed": {"first_decode_step": 3.0},
    "censored": True,
    "ttft": 47.93,
    "tpot": 0.000366,
    "input_tokens": 131072,
    "met": {"joint": False},
}


@pytest.mark.parametrize("width", [80, 100, 140])
def test_ids_and_numbers_of_the_slowest_are_whole_at_any_width(width: int) -> None:
    out = io.StringIO()
    Console(file=out, width=width).print(_slowest([REQUEST], prompt=width >= 92))
    drawn = out.getvalue()
    for whole in (REQUEST["request_id"], "≥ 47.93 s", "366 µs", *(["131,072"] if width >= 92 else [])):
        assert str(whole) in drawn
