"""What is sent when, and what prompts are made of."""

from pathlib import Path

import pytest

from analyzer.replay.errors import BadReplay
from analyzer.replay.prompts import Lengths, prompt
from analyzer.replay.schedule import Planned, of_requests, of_trace
from tests.paths import SHARED

IDS, WORDS = Lengths(True), Lengths(False, words_per_token=0.75, overhead_tokens=9)
MOONCAKE = SHARED / "data" / "mooncake_conversation_trace.jsonl"
AZURE = SHARED / "data" / "AzureLLMInferenceTrace_conv.csv"


def test_a_mooncake_trace_keeps_arrivals_lengths_and_prefix_blocks() -> None:
    found = of_trace(MOONCAKE, count=50)

    assert found.kind == "mooncake"
    assert (found.planned[0].prompt, found.planned[0].output) == (6758, 500)
    assert found.planned[0].blocks[:2] == (0, 1)
    assert found.planned[0].at_s == 0
    assert len(found.sha256 or "") == 64


def test_a_cut_of_an_azure_trace_begins_at_0_and_keeps_its_gaps() -> None:
    whole, cut = of_trace(AZURE), of_trace(AZURE, first=10, count=5)

    gaps = [p.at_s - whole.planned[10].at_s for p in whole.planned[10:15]]
    assert [p.at_s for p in cut.planned] == pytest.approx(gaps)
    assert [p.number for p in cut.planned] == [10, 11, 12, 13, 14]


def test_a_cut_beyond_the_end_says_how_many_there_are() -> None:
    with pytest.raises(BadReplay, match=r"no request from number 99999 on; it has 19366"):
        of_trace(AZURE, first=99_999)


def test_stored_requests_without_lengths_are_left_out_and_counted() -> None:
    rows = [
        {"started_at": "2026-01-31T12:00:05Z", "input_tokens": 10, "output_tokens": 3},
        {"started_at": "2026-01-31T12:00:00.500Z", "input_tokens": 20, "output_tokens": 4},
        {"started_at": "2026-01-31T12:00:01Z", "input_tokens": None, "output_tokens": 4},
    ]

    found = of_requests(rows, "a window")

    assert [(p.at_s, p.prompt) for p in found.planned] == [(0.0, 20), (4.5, 10)]
    assert found.left_out == 1


def test_an_empty_store_is_refused() -> None:
    with pytest.raises(BadReplay, match="it has 0 with known lengths"):
        of_requests([], "a window")


@pytest.mark.parametrize("tokens", [1, 511, 512, 513, 6758])
def test_ids_are_exactly_as_many_as_asked(tokens: int) -> None:
    assert len(prompt(Planned(0, 0.0, tokens, 1), IDS, 7)) == tokens


@pytest.mark.parametrize("tokens", [1, 9, 100, 6758])
def test_words_are_as_many_as_the_measured_ratio_asks_for(tokens: int) -> None:
    text = prompt(Planned(0, 0.0, tokens, 1), WORDS, 7)

    assert isinstance(text, str)
    assert len(text.split()) == max(1, round(max(1, tokens - 9) * 0.75))


@pytest.mark.parametrize("lengths", [IDS, WORDS])
def test_blocks_of_one_name_are_shared_and_everything_else_is_not(lengths: Lengths) -> None:
    one = prompt(Planned(1, 0.0, 1600, 1, (5, 6, 7)), lengths, 7)
    other = prompt(Planned(2, 0.0, 1600, 1, (5, 6, 8)), lengths, 7)
    plain = prompt(Planned(3, 0.0, 1600, 1), lengths, 7)

    shared = 1024 if lengths.ids else 768
    split = [text if isinstance(text, list) else text.split() for text in (one, other, plain)]
    assert split[0][:shared] == split[1][:shared]
    assert split[0][shared : shared + 64] != split[1][shared : shared + 64]
    assert split[2][:64] != split[0][:64]


def test_the_same_seed_gives_the_same_prompt_and_another_another() -> None:
    planned = Planned(4, 0.0, 40, 1)

    assert prompt(planned, IDS, 7) == prompt(planned, IDS, 7) != prompt(planned, IDS, 8)


def test_a_trace_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("x")
    with pytest.raises(Exception, match="unknown kind of trace"):
        of_trace(path)
