"""Reads OpenAI-compatible answers (chat, completions, responses) as they pass, for times and counts only."""

import json
import re
from typing import Any

from collector.instrument.answer import Answer

LONGEST_EVENT = 1 << 20
LONGEST_BODY = 4 << 20
NAME_KEPT = 256
MOST_CHOICES = 1024
MOST_TOKENS = 10**9
"""What is counted beyond this is no count of tokens."""
_ADDED = re.compile(r"^(chatcmpl|cmpl|resp|msg)[-_]")
"""What the protocol puts before the id by which servers know the request within."""
CONTENT_FIELDS = (
    "content",
    "reasoning_content",
    "reasoning",
    "tool_calls",
    "function_call",
    "refusal",
    "audio",
    "token_ids",
)


class AnswerReader:
    """Fed with the bytes of an answer in any cut, fills an `Answer`. Never raises on what it is fed.

    An event above 1 MiB is skipped; a body above 4 MiB is not parsed (its tokens stay unknown).
    """

    def __init__(self, answer: Answer, content_type: str) -> None:
        self.answer = answer
        answer.streamed = content_type.partition(";")[0].strip().lower() == "text/event-stream"
        self._is_json = content_type.partition(";")[0].strip().lower() == "application/json"
        self._rest = b""
        self._skipping = False
        self._body = bytearray()
        self._of_choice: dict[int, int] = {}

    def feed(self, data: bytes, at_ns: int) -> None:
        """Take bytes that left for the client at `at_ns` (Unix nanoseconds)."""
        if not self.answer.streamed:
            if self._is_json and len(self._body) <= LONGEST_BODY:
                self._body += data
            return
        lines = (self._rest + data).split(b"\n") if self._rest else data.split(b"\n")
        self._rest = lines.pop()
        contents = 0
        for line in lines:
            if self._skipping:
                self._skipping = False
            elif line.startswith(b"data:"):
                contents += self._event(line[5:].strip())
        if contents:
            self.answer.content(at_ns, contents)
        if len(self._rest) > LONGEST_EVENT:
            self._rest, self._skipping = b"", True

    def end(self, at_ns: int) -> None:
        """The whole answer has been sent."""
        if self.answer.streamed:
            if self._rest:
                self.feed(b"\n", at_ns)
            return
        self.answer.done = True
        if self._body and len(self._body) <= LONGEST_BODY:
            message = _object(bytes(self._body))
            self._body.clear()
            if self._facts(message):
                self.answer.content(at_ns)

    def _event(self, payload: bytes) -> bool:
        if payload == b"[DONE]":
            self.answer.done = True
            return False
        return self._facts(_object(payload))

    def _facts(self, message: dict[str, Any]) -> bool:
        """Note counts and endings of one message; True when it carries content."""
        answer = self.answer
        if message.get("error") or message.get("object") == "error" or message.get("type") == "error":
            answer.failed = True
        if "response" in message:
            self._responses_end(message)
        elif message.get("object") == "response":
            self._response_object(message)
        if isinstance(model := message.get("model"), str) and answer.model is None:
            answer.model = _short(model)
        if answer.id is None:
            self._name(message.get("id"))
        choices = message.get("choices")
        if isinstance(usage := message.get("usage"), dict):
            self._usage(usage, self._only(choices))
        if not isinstance(choices, list):
            kind = message.get("type")
            is_delta = isinstance(kind, str) and kind.startswith("response.") and kind.endswith(".delta")
            return (is_delta and bool(message.get("delta"))) or bool(message.get("output"))
        carried = [self._choice(choice) for choice in choices if isinstance(choice, dict)]
        return any(carried)

    def _name(self, answer_id: object) -> None:
        # one that is cut short would be another's
        if isinstance(answer_id, str) and len(answer_id) <= NAME_KEPT:
            self.answer.id = _ADDED.sub("", _short(answer_id).strip()) or None

    def _choice(self, choice: dict[str, Any]) -> bool:
        if isinstance(reason := choice.get("finish_reason"), str):
            self.answer.finish(_short(reason))
        said = choice.get("delta") or choice.get("message")
        if choice.get("text") or choice.get("token_ids"):
            return True
        return isinstance(said, dict) and any(said.get(field) for field in CONTENT_FIELDS)

    def _responses_end(self, message: dict[str, Any]) -> None:
        kind, response = message.get("type"), message.get("response")
        if isinstance(response, dict) and kind in (
            "response.completed",
            "response.incomplete",
            "response.failed",
        ):
            self._response_object(response)
            self.answer.done = True

    def _response_object(self, response: dict[str, Any]) -> None:
        self._name(response.get("id"))
        if isinstance(status := response.get("status"), str):
            self.answer.finish(_short(status))
        if isinstance(model := response.get("model"), str):
            self.answer.model = _short(model)
        if isinstance(usage := response.get("usage"), dict):
            self._usage(usage)

    def _only(self, choices: object) -> int | None:
        """The choice that a streamed event speaks of alone: its usage is that choice's so far."""
        if not self.answer.streamed or not isinstance(choices, list) or len(choices) != 1:
            return None
        number = choices[0].get("index") if isinstance(choices[0], dict) else None
        return number if isinstance(number, int) and 0 <= number < MOST_CHOICES else None

    def _usage(self, usage: dict[str, Any], of_choice: int | None = None) -> None:
        answer = self.answer
        answer.input_tokens = _count(usage, "prompt_tokens", "input_tokens", answer.input_tokens)
        told = _count(usage, "completion_tokens", "output_tokens", None)
        if told is not None and of_choice is not None:
            self._of_choice[of_choice] = told
            told = sum(self._of_choice.values())
        answer.output_tokens = answer.output_tokens if told is None else told
        details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
        if isinstance(details, dict):
            answer.cached_tokens = _count(details, "cached_tokens", "cached_tokens", answer.cached_tokens)


def _object(payload: bytes) -> dict[str, Any]:
    try:
        message = json.loads(payload)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _count(usage: dict[str, Any], name: str, other: str, known: int | None) -> int | None:
    value = usage.get(name, usage.get(other))
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS
    return value if is_count else known


def _short(text: str) -> str:
    """A name as it can be sent on: not too long, and UTF-8 whatever escapes the answer holds."""
    return text[:NAME_KEPT].encode("utf-8", "replace").decode("utf-8")
