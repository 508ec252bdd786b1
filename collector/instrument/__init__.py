"""For other people's processes: `PhaseTracer`, an ASGI middleware, the traced KV connector for vLLM.

Imports only the phase and attribute names of pdscope, and opentelemetry.
"""

from collector.instrument.export import Worker
from collector.instrument.kv import KvHandoff
from collector.instrument.leg import Leg, PhaseSpan
from collector.instrument.phase_tracer import PhaseTracer
from collector.instrument.request_trace import RequestTrace
from collector.phases import Phase

__all__ = ["KvHandoff", "Leg", "Phase", "PhaseSpan", "PhaseTracer", "RequestTrace", "Worker"]
