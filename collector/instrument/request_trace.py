"""The request as its client sees it, in one `pd.request` span."""

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import SpanKind, Status, StatusCode

from collector import conventions as names
from collector.instrument.answer import Answer, Ending, answer_attributes, outcome
from collector.instrument.leg import Leg, Value, kept
from collector.instrument.openai_reader import AnswerReader


class RequestTrace(Leg):
    """The request as its client sees it: one `pd.request` span, from here to the end of the block."""

    def __init__(
        self,
        tracer: trace.Tracer,
        parent: Context,
        request_id: str,
        attributes: Mapping[str, Value | None],
    ) -> None:
        super().__init__(tracer, parent, request_id)
        facts = kept(attributes) | {names.REQUEST_ID: request_id}
        now = self.clock.now()
        self._span = tracer.start_span(names.REQUEST_SPAN, parent, SpanKind.SERVER, facts, start_time=now)
        self._context = trace.set_span_in_context(self._span, parent)
        self._reader: AnswerReader | None = None
        self._ended = False
        self._model_known = names.MODEL in facts
        self.answer = Answer()
        self.status: int | None = None
        self.ending = Ending.COMPLETE

    def next_attempt(self) -> Leg:
        """A leg for another dispatch of the same request; phases opened on it carry its number."""
        self.attempt += 1
        return Leg(self._tracer, self._context, self.request_id, self.attempt)

    def response_started(self, status: int, content_type: str = "text/event-stream") -> None:
        """The upstream answered; what `sent` is given is read as this content type."""
        self.status = status
        self._reader = AnswerReader(self.answer, content_type)

    def answered(self, status: int) -> None:
        """The client was answered with this status by the caller itself, without an upstream's answer."""
        self.status = status

    def sent(self, data: bytes, at_ns: int | None = None) -> None:
        """Bytes of an OpenAI-compatible answer left for the client, now unless told. No text is kept."""
        if self._reader is None:
            self.response_started(200)
        assert self._reader is not None
        self._reader.feed(data, self.clock.now() if at_ns is None else at_ns)

    def token_sent(self, count: int = 1) -> None:
        """For callers that know tokens rather than bytes: `count` tokens left for the client now."""
        self.answer.streamed = True
        self.answer.content(self.clock.now(), count)

    def stalled(self, nanoseconds: int) -> None:
        """Add time for which the reader did not take what was ready for it."""
        self.answer.stalled_ns += nanoseconds

    def set(self, attributes: Mapping[str, Value | None]) -> None:
        """Add attributes to the request's span; None and sensitive ones are left out."""
        facts = kept(attributes)
        self._model_known |= names.MODEL in facts
        self._span.set_attributes(facts)

    def end(self, result: str | None = None) -> str:
        """End the request's span and return its outcome; the first call counts.

        `result` overrides what the answer shows, for callers whose answers are not OpenAI-compatible bytes.
        """
        if self._ended:
            return ""
        self._ended = True
        now = self.clock.now()
        if self._reader is not None and self.ending is Ending.COMPLETE:
            self._reader.end(now)
        found = result or outcome(self.status, self.answer, self.ending)
        self._span.set_attributes(self._facts(found))
        if (first := self.answer.first_token_ns) is not None:
            self._span.add_event(names.FIRST_TOKEN_EVENT, timestamp=first)
            self._span.add_event(names.LAST_TOKEN_EVENT, timestamp=self.answer.last_token_ns)
        if found in (names.OUTCOME_INTERRUPTED, names.OUTCOME_TIMEOUT, names.OUTCOME_ERROR):
            self._span.set_status(Status(StatusCode.ERROR, found))
        self._span.end(now)
        return found

    def _facts(self, result: str) -> dict[str, Value]:
        facts: dict[str, Value] = {**answer_attributes(self.answer), names.OUTCOME: result}
        if self._model_known:
            facts.pop(names.MODEL, None)
        if self.status is not None:
            facts[names.HTTP_STATUS] = self.status
        return facts

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if error is None:
            self.end(None if self._reader is not None or self.status is not None else names.OUTCOME_OK)
            return
        self._span.set_attribute(names.ERROR_TYPE, type(error).__qualname__)
        if isinstance(error, asyncio.CancelledError | GeneratorExit):
            self.ending = Ending.CLIENT_LEFT
        elif isinstance(error, TimeoutError):
            self.ending = Ending.TIMEOUT
        else:
            self.ending = Ending.UPSTREAM_LOST
        self.end()
