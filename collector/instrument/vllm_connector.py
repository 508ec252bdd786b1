"""Drop-in traced KV connector for vLLM: `kv_connector_module_path` names this module, `kv_connector` any one.

    --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_producer",
                           "kv_connector_module_path":"collector.instrument.vllm_connector"}'

vLLM asks this module for a class of the connector's name and gets a subclass of vLLM's own, of the same name
(vLLM checks connectors by name), over whose objects lie hooks that also note what happens. Settings are
environment variables, for the connector lives in the engine's processes:

    PDSCOPE_KV_TRACE=off        vLLM's own class, untouched
    PDSCOPE_KV_SAMPLE=0.1       share of traces recorded; both sides of a hand-off decide alike
    PDSCOPE_KV_QUEUE=20000      events held before they are dropped
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT (gRPC), OTEL_SERVICE_NAME,
    OTEL_RESOURCE_ATTRIBUTES    as for every OpenTelemetry exporter
"""

import importlib
import logging
import os
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
    """A subclass of a v1 connector class whose objects also record hand-offs, by the methods that it has."""
    missing = [name for name in (*SCHEDULER_METHODS, *WORKER_METHODS) if not hasattr(inner, name)]
    if missing:
        log.warning(
            "pdscope: this vLLM's %s has no %s; the KV spans that need it will be missing.",
            inner.__name__,
            ", ".join(missing),
        )
    over = {
        name: member for name, member in vars(_Traced).items() if callable(member) and hasattr(inner, name)
    }
    names = {"__doc__": inner.__doc__, "__module__": __name__, "_pd_inner": inner}
    return type(inner.__name__, (inner,), over | names)


class _Traced:
    """The methods laid over a connector class, `_pd_inner`; the hooks lie over its objects."""

    _pd_inner: Any
    _pd: Attached | None

    def __init__(self, vllm_config: Any, role: Any, kv_cache_config: Any) -> None:
        self._pd_inner.__init__(self, vllm_config, role, kv_cache_config)
        self._pd = Guard().run("attach", attach, self, vllm_config, role.name, kv_cache_config)

    def update_connector_output(self, connector_output: Any) -> Any:
        """The ranks' facts never reach the connector, also where no hook lies over this."""
        unwrapped(connector_output)
        return self._pd_inner.update_connector_output(self, connector_output)

    def shutdown(self) -> Any:
        """The engine stops."""
        if (pd := self._pd) is not None:
            Guard().run("shutdown", pd.close)
        return self._pd_inner.shutdown(self)
