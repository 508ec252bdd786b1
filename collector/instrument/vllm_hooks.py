"""What is noted at each connector hook, on the engine's thread. Knows vLLM's attributes, imports no vLLM.

A hook is a function laid over one connector object in the place of the method it calls: one function of ours
a call, for with cold caches each further one costs as much as the note itself. It reads, lays a note down and
returns; `vllm_notes` says what notes mean, on another thread. A hook that fails is taken off again. Source of
the attributes: vLLM 0.32, `vllm/distributed/kv_transfer/kv_connector/v1`.
"""

import logging
from collections.abc import Callable
from time import time_ns
from typing import Any

from collector.instrument.kv_events import WorkerFacts
from collector.instrument.span_worker import SpanWorker
from collector.instrument.vllm_notes import ALLOCATED, ARRIVED, FINISHED, TOLD

log = logging.getLogger("pdscope.kv")
NOTHING = ()


class Guard:
    """Keeps what hook code does away from the engine: a hook that fails is taken off, with one line."""

    def __init__(self) -> None:
        self.broken: set[str] = set()

    def run(self, hook: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call, and give None when it fails."""
        try:
            return function(*arguments)
        except Exception as error:
            self.give_up(hook, error)
            return None

    def give_up(self, hook: str, error: Exception) -> None:
        """Say once that a hook is off; only the error's kind and the attribute it names are told."""
        if hook in self.broken:
            return
        self.broken.add(hook)
        attribute = f" (no {error.name!r})" if isinstance(error, AttributeError | NameError) else ""
        log.warning(
            "pdscope: hook %s does not fit this vLLM: %s%s. Its part of the KV spans will be missing; "
            "serving is not affected.",
            hook,
            type(error).__name__,
            attribute,
        )


class Laid:
    """The hooks that lie over one object's methods."""

    def __init__(self, over: Any, guard: Guard) -> None:
        self._over = over
        self._guard = guard

    def lay(self, hooks: dict[str, Callable[[Any], Any]]) -> None:
        """Lay over each method what its maker gives for it; AttributeError, none laid, where one lacks."""
        made = {name: make(getattr(self._over, name)) for name, make in hooks.items()}
        for name, hook in made.items():
            setattr(self._over, name, hook)

    def lay_known(self, hooks: dict[str, Callable[[Any], Any]]) -> None:
        """As `lay`, for the methods that there are."""
        self.lay({name: make for name, make in hooks.items() if hasattr(self._over, name)})

    def take_off(self, name: str, error: Exception) -> None:
        """The method as it was."""
        vars(self._over).pop(name, None)
        self._guard.give_up(name, error)


def lay_over_scheduler(connector: Any, guard: Guard, spans: SpanWorker) -> None:
    """The scheduler's hooks; what they note goes to `spans`."""
    laid = Laid(connector, guard)
    queue, note, limit, full, take_off = (
        spans.queue,
        spans.queue.extend,
        spans.limit,
        spans.full,
        laid.take_off,
    )

    def arrival(original: Any) -> Any:
        def on_new_request(request: Any) -> Any:
            try:
                if request.kv_transfer_params:
                    if len(queue) < limit:
                        headers = request.trace_headers
                        note((ARRIVED, time_ns(), request.request_id, headers, None, None, None, None, None))
                    else:
                        full()
            except Exception as error:
                take_off("on_new_request", error)
            return original(request)

        return on_new_request

    def allocation(original: Any) -> Any:
        def update_state_after_alloc(request: Any, blocks: Any, num_external_tokens: int) -> Any:
            try:
                # `original` resets the flag.
                given = request.kv_transfer_params
                if given and num_external_tokens > 0 and given.get("do_remote_prefill"):
                    if len(queue) < limit:
                        name = request.request_id
                        note((ALLOCATED, time_ns(), name, given, num_external_tokens, None, None, None, None))
                    else:
                        full()
            except Exception as error:
                take_off("update_state_after_alloc", error)
            return original(request, blocks, num_external_tokens)

        return update_state_after_alloc

    def results(original: Any) -> Any:
        def update_connector_output(connector_output: Any) -> Any:
            facts = unwrapped(connector_output)
            try:
                received, released = connector_output.finished_recving, connector_output.finished_sending
                if received or released or facts is not None:
                    failed = getattr(connector_output, "failed_recving", None)
                    if len(queue) < limit:
                        note(
                            (
                                TOLD,
                                time_ns(),
                                facts,
                                tuple(received) if received else NOTHING,
                                tuple(failed) if failed else NOTHING,
                                tuple(released) if released else NOTHING,
                                None,
                                None,
                                None,
                            )
                        )
                    else:
                        full()
            except Exception as error:
                take_off("update_connector_output", error)
            return original(connector_output)

        return update_connector_output

    def ends(name: str, count: Callable[[Any], int]) -> Callable[[Any], Any]:
        def ending(original: Any) -> Any:
            def request_finished(request: Any, block_ids: Any) -> Any:
                began = time_ns()
                result = original(request, block_ids)
                try:
                    if given := request.kv_transfer_params:
                        if len(queue) < limit:
                            note(
                                (
                                    FINISHED,
                                    time_ns(),
                                    request.request_id,
                                    began,
                                    request.status,
                                    given,
                                    result,
                                    count(block_ids) if result[0] else 0,
                                    request.num_computed_tokens,
                                )
                            )
                        else:
                            full()
                except Exception as error:
                    take_off(name, error)
                return result

            return request_finished

        return ending

    laid.lay_known(
        {
            "on_new_request": arrival,
            "update_state_after_alloc": allocation,
            "update_connector_output": results,
            "request_finished": ends("request_finished", len),
            "request_finished_all_groups": ends("request_finished_all_groups", _blocks_of_groups),
        }
    )


def unwrapped(output: Any) -> WorkerFacts | None:
    """Take our facts out of a connector output and put the inner metadata back; never fails."""
    facts = getattr(output, "kv_connector_worker_meta", None)
    if type(facts) is not WorkerFacts:
        return None
    output.kv_connector_worker_meta = facts.inner
    return facts


def _blocks_of_groups(groups: Any) -> int:
    return sum(map(len, groups))
