import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from collector.instrument.ids import EntropyIds


class KeepingExporter(InMemorySpanExporter):
    """Several providers share it, so one that shuts down does not close it."""

    def shutdown(self):
        pass


@pytest.fixture
def exporter():
    return KeepingExporter()


@pytest.fixture
def provider(exporter):
    provider = TracerProvider(id_generator=EntropyIds())
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield provider
    provider.shutdown()
