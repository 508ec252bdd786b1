import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.instrument.answer import Answer, Ending, answer_attributes, outcome
from collector.instrument.openai_reader import LONGEST_EVENT, AnswerReader


def sse(*messages):
    return b"".join(
        b"data: " + (m if isinstance(m, bytes) else json.dumps(m).encode()) + b"\n\n" for m in messages
    )


def say(text, **choice):
    return {"model": "m", "choices": [{"index": 0, "delta": {"content": text}, **choice}]}


def read(data, content_type="text/event-stream; charset=utf-8", cuts=()):
    answer = Answer()
    reader = AnswerReader(answer, content_type)
    edges = [0, *sorted(cuts), len(data)]
    for number, (start, end) in enumerate(itertools.pairwise(edges)):
        reader.feed(data[start:end], 1000 + number)
    reader.end(9999)
    return answer


CHAT = sse(
    {"choices": [{"delta": {"role": "assistant", "content": ""}}]},
    say("one"),
    say("two ☃"),
    say("", finish_reason="length"),
    {
        "choices": [],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 3}},
    },
    b"[DONE]",
)


@given(st.lists(st.integers(0, len(CHAT)), max_size=12))
def test_any_cut_of_the_bytes_gives_the_same_facts(cuts):
    answer = read(CHAT, cuts=cuts)
    facts = (answer.chunks, answer.input_tokens, answer.output_tokens, answer.cached_tokens)
    assert facts == (2, 5, 2, 3)
    assert (answer.model, answer.finish_reason, answer.done, answer.whole) == ("m", "length", True, True)


@given(st.binary(max_size=400), st.sampled_from(["text/event-stream", "application/json", ""]))
def test_nothing_that_is_fed_raises(data, content_type):
    read(data + b"\ndata: " + data, content_type)


@pytest.mark.parametrize(
    "event",
    [
        {"choices": [{"delta": {"reasoning_content": "x"}}]},
        {"choices": [{"delta": {"tool_calls": [{"index": 0}]}}]},
        {"choices": [{"text": "x"}]},
        {"type": "response.output_text.delta", "delta": "x"},
    ],
)
def test_content_has_many_names(event):
    assert read(sse(event)).chunks == 1


@pytest.mark.parametrize(
    ("message", "known"),
    [
        ({"id": "chatcmpl-u-1", **say("x")}, "u-1"),
        ({"id": "cmpl-u-1", "choices": [{"text": "x"}]}, "u-1"),
        ({"type": "response.completed", "response": {"id": "resp_u-1", "status": "completed"}}, "u-1"),
        ({"id": "plain", **say("x")}, "plain"),
        ({"id": 7, **say("x")}, None),
        ({"id": "", **say("x")}, None),
    ],
)
def test_the_id_of_an_answer_is_the_one_its_server_knows_within(message, known):
    assert answer_attributes(read(sse(message))).get("pd.answer.id") == known


def test_the_responses_api_ends_with_its_usage():
    usage = {"input_tokens": 4, "output_tokens": 9, "input_tokens_details": {"cached_tokens": 1}}
    end = {"type": "response.completed", "response": {"status": "completed", "model": "m", "usage": usage}}
    answer = read(sse({"type": "response.output_text.delta", "delta": "x"}, end))
    facts = (answer.input_tokens, answer.output_tokens, answer.cached_tokens, answer.whole)
    assert facts == (4, 9, 1, True)


def test_an_error_in_the_stream_is_a_failure():
    answer = read(sse(say("x"), {"error": {"message": "boom"}}, b"[DONE]"))
    assert outcome(200, answer, Ending.COMPLETE) == "interrupted"


def test_an_event_too_long_to_hold_is_skipped_and_the_next_is_read():
    answer = Answer()
    reader = AnswerReader(answer, "text/event-stream")
    reader.feed(b"data: " + b"x" * (LONGEST_EVENT + 1), 1)
    reader.feed(b"x\n\n" + sse(say("after")), 2)
    assert (answer.chunks, answer.first_token_ns) == (1, 2)


def test_a_count_that_no_answer_can_have_is_not_taken():
    huge = b'{"choices": [], "usage": {"prompt_tokens": ' + b"9" * 4000 + b', "completion_tokens": 2}}'
    answer = read(sse(say("one"), huge, b"[DONE]"))
    assert (answer.input_tokens, answer.output_tokens) == (None, 2)


@pytest.mark.parametrize(
    ("told", "kept"),
    [("chatcmpl-\n", None), ("  ", None), ("x" * 257, None), ("cmpl-" + "y" * 251, "y" * 251)],
)
def test_an_answers_id_is_taken_whole_or_not_at_all(told, kept):
    assert read(sse({"id": told, **say("one")})).id == kept


def test_names_with_half_a_surrogate_can_be_sent_on():
    answer = read(sse({**say("one", finish_reason="\ud800"), "id": "a\ud800", "model": "\ud800"}))
    for text in (answer.id, answer.model, answer.finish_reason):
        assert "?" in text.encode("utf-8").decode("utf-8")


def test_gaps_are_between_chunks_not_tokens():
    answer = Answer(streamed=True)
    for at_ms in (100, 110, 130, 230):
        answer.content(at_ms * 1_000_000)
    assert answer.itl_ms() == (20.0, 100.0, 100.0)
    assert answer_attributes(answer)["pd.itl.max_ms"] == 100.0


def test_one_chunk_has_no_gap():
    answer = Answer(streamed=True)
    answer.content(1)
    assert answer.itl_ms() is None
    assert "pd.itl.p50_ms" not in answer_attributes(answer)


def test_tokens_of_several_choices_are_their_sum_also_of_a_stream_that_breaks():
    def told(number, tokens):
        choice = {"index": number, "delta": {"content": "x"}}
        return {"choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": tokens}}

    events = [told(0, 1), told(1, 1), told(0, 2), told(1, 2), told(1, 3)]
    assert read(sse(*events)).output_tokens == 5
    assert read(sse(*events, {"choices": [], "usage": {"completion_tokens": 7}})).output_tokens == 7


def test_the_usage_of_a_whole_answer_is_that_of_all_its_choices():
    body = {
        "choices": [{"index": 0, "text": "x"}, {"index": 1, "text": "y"}],
        "usage": {"completion_tokens": 6},
    }
    assert read(json.dumps(body).encode(), "application/json").output_tokens == 6
