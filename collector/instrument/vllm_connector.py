"""Drop-in traced KV connector for vLLM: `kv_connector_module_path` names this module, `kv_connector` any one.

    --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_producer",
                           "kv_connector_module_path":"collector.instrument.vllm_connector"}'

vLLM asks this module for a class of the connector's name and gets a subclass of vLLM's own, of the same name
(vLLM checks connectors by name), whose hooks also note what happens. Settings are environment variables, for
the connector lives in the engine's processes:

    PDSCOPE_KV_TRACE=off        vLLM's own class, untouched
    PDSCOPE_KV_SAMPLE=0.1       share of traces recorded; both sides of a hand-off decide alike
    PDSCOPE_KV_QUEUE=20000      events held before they are dropped
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT (gRPC), OTEL_SERVICE_NAME,
    OTEL_RESOURCE_ATTRIBUTES    as for every OpenTelemetry exporter
"""

import importlib
import logging
import os
import time
from typing import Any

from collector.instrument.vllm_attach import Attached, attach
from collector.instrument.vllm_hooks import Guard, unwrapped

log = logging.getLogger("pdscope.kv")
SCHEDULER_METHODS = ("on_new_request", "update_state_after_alloc", "update_connector_output")
WORKER_METHODS = ("start_load_kv", "build_connector_worker_meta", "get_transfer_results")


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    factory = importlib.import_module("vllm.distributed.kv_transfer.kv_connector.factory").KVConnectorFactory
    try:
        inner = factory.get_connector_class_by_name(name)
    except ValueError as error:
        raise AttributeError(f"vLLM has no connector named {name!r}") from error
    found = (
        inner if os.environ.get("PDSCOPE_KV_TRACE", "on").lower() in ("off", "0", "false") else traced(inner)
    )
    globals()[name] = found
    return found


def traced(inner: Any) -> Any:
    """A subclass of a v1 connector class that also records hand-offs; methods that it lacks are left out."""
    public = {name: member for name, member in vars(_Hooks).items() if not name.startswith("_")}
    members = {name: member for name, member in public.items() if hasattr(inner, name)}
    missing = [name for name in (*SCHEDULER_METHODS, *WORKER_METHODS) if not hasattr(inner, name)]
    if missing:
        log.warning(
            "pdscope: this vLLM's %s has no %s; the KV spans that need it will be missing.",
            inner.__name__,
            ", ".join(missing),
        )
    members |= {
        "__init__": _Hooks.__init__,
        "__doc__": inner.__doc__,
        "__module__": __name__,
        "_pd_inner": inner,
    }
    return type(inner.__name__, (inner,), members)


class _Hooks:
    """The methods that are laid over a connector class; `_pd_inner` is that class."""

    _pd_inner: Any
    _pd: Attached | None

    def __init__(self, vllm_config: Any, role: Any, kv_cache_config: Any) -> None:
        self._pd_inner.__init__(self, vllm_config, role, kv_cache_config)
        self._pd = Guard().run("attach", attach, self, vllm_config, role.name, kv_cache_config)

    def on_new_request(self, request: Any) -> Any:
        """A request came in."""
        if (pd := self._pd) is not None and pd.scheduler is not None:
            pd.guard.run("on_new_request", pd.scheduler.arrived, request)
        return self._pd_inner.on_new_request(self, request)

    def update_state_after_alloc(self, request: Any, blocks: Any, num_external_tokens: int) -> Any:
        """Blocks were allocated; remote KV may be asked for."""
        pd, name = self._pd, "update_state_after_alloc"
        wants = pd is not None and pd.scheduler and pd.guard.run(name, pd.scheduler.wants_remote_kv, request)
        result = self._pd_inner.update_state_after_alloc(self, request, blocks, num_external_tokens)
        if wants and pd is not None and pd.scheduler is not None:
            pd.guard.run(name, pd.scheduler.allocated, request, num_external_tokens)
        return result

    def update_connector_output(self, connector_output: Any) -> Any:
        """The ranks' results reached the scheduler."""
        facts = unwrapped(connector_output)
        if (pd := self._pd) is not None and pd.scheduler is not None:
            pd.guard.run("update_connector_output", pd.scheduler.told, facts, connector_output)
        return self._pd_inner.update_connector_output(self, connector_output)

    def request_finished(self, request: Any, block_ids: Any) -> Any:
        """A request ended; its KV may now wait for a consumer."""
        began = time.time_ns()
        result = self._pd_inner.request_finished(self, request, block_ids)
        if (pd := self._pd) is not None and pd.scheduler is not None:
            pd.guard.run("request_finished", pd.scheduler.finished, request, block_ids, began, result)
        return result

    def request_finished_all_groups(self, request: Any, block_ids: Any) -> Any:
        """As `request_finished`, for hybrid caches."""
        began = time.time_ns()
        result = self._pd_inner.request_finished_all_groups(self, request, block_ids)
        if (pd := self._pd) is not None and pd.scheduler is not None:
            pd.guard.run("request_finished", pd.scheduler.finished, request, block_ids, began, result)
        return result

    def start_load_kv(self, forward_context: Any, **kwargs: Any) -> Any:
        """A rank starts to load."""
        if (pd := self._pd) is not None and pd.worker is not None:
            pd.guard.run("start_load_kv", pd.worker.loading, self._connector_metadata)  # type: ignore[attr-defined]
        return self._pd_inner.start_load_kv(self, forward_context, **kwargs)

    def get_transfer_results(self, finished_req_ids: Any) -> Any:
        """A rank tells what is done."""
        result = self._pd_inner.get_transfer_results(self, finished_req_ids)
        if (pd := self._pd) is not None and pd.worker is not None:
            pd.guard.run("get_transfer_results", pd.worker.results, result, pd.deadlines)
        return result

    def build_connector_worker_meta(self) -> Any:
        """A rank's facts of this step."""
        inner = self._pd_inner.build_connector_worker_meta(self)
        if (pd := self._pd) is None or pd.worker is None:
            return inner
        facts = pd.guard.run("build_connector_worker_meta", pd.worker.take, inner)
        return inner if facts is None else facts

    def shutdown(self) -> Any:
        """The engine stops."""
        if (pd := self._pd) is not None:
            pd.guard.run("shutdown", pd.close)
        return self._pd_inner.shutdown(self)
