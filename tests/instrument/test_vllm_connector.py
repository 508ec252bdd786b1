"""The traced connector laid over a connector of NIXL's shape, from the engine's calls to finished spans."""

import logging
import pickle
import subprocess
import sys
from types import SimpleNamespace

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from collector.instrument import vllm_attach, vllm_connector
from collector.instrument.ids import EntropyIds
from collector.instrument.kv_events import WorkerFacts
from tests.instrument import nixl_shape
from tests.instrument.nixl_shape import LEASE_S, Engine, NixlConnector

CALLER = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}


@pytest.fixture
def engines(monkeypatch, exporter):
    """Makes engines whose spans go to the in-memory exporter once `finish` is called on them."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")

    def trace_provider(worker, endpoint):
        provider = TracerProvider(resource=worker.resource(), id_generator=EntropyIds())
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        return provider

    monkeypatch.setattr(vllm_attach, "trace_provider", trace_provider)
    made = []

    def engine(inner=NixlConnector, **settings):
        made.append(Engine(vllm_connector.traced(inner), **settings))
        return made[-1]

    yield engine
    for each in made:
        each.scheduler.shutdown()


@pytest.fixture
def spans(exporter):
    def finish(engine):
        engine.scheduler.shutdown()
        return {span.name: span for span in exporter.get_finished_spans()}

    return finish


def test_a_pulled_request_has_its_queue_transfer_and_import(engines, spans):
    engine = engines()
    engine.pull("cmpl-r1-0", CALLER)
    engine.step()
    found = spans(engine)
    assert set(found) == {"pd.decode_queue", "pd.kv_transfer", "pd.kv_import"}
    transfer, imported = found["pd.kv_transfer"], found["pd.kv_import"]
    assert {f"{span.context.trace_id:032x}" for span in found.values()} == {
        CALLER["traceparent"].split("-")[1]
    }
    told = dict(transfer.attributes)
    assert told["pd.kv.transfer_id"] == "engine-p:cmpl-r1-0-11111111"
    assert (told["pd.kv.bytes"], told["pd.kv.descriptors"], told["pd.kv.tokens"]) == (65536, 4, 96)
    assert (told["pd.kv.post_ms"], told["pd.kv.status"], told["pd.ranks"]) == (0.5, "ok", 1)
    assert (told["pd.kv.source"], told["pd.kv.destination"]) == ("engine-p", "engine-d")
    assert told["pd.request.id"] == "r1"
    assert transfer.start_time <= transfer.end_time == imported.start_time <= imported.end_time


def test_a_published_request_names_its_bytes_and_lease(engines, spans):
    engine = engines(kv_role="kv_producer", engine_id="engine-p")
    engine.publish("cmpl-r1-0", CALLER, blocks=3)
    engine.step()
    engine.ranks[0].connector_worker.pulled = {"cmpl-r1-0-11111111"}
    engine.step()
    found = spans(engine)
    published = found["pd.kv_publish"]
    assert published.attributes["pd.kv.transfer_id"] == "engine-p:cmpl-r1-0-11111111"
    assert published.attributes["pd.kv.bytes"] == 3 * 4 * 409_600 // 100
    assert published.resource.attributes["pd.pool"] == "prefill"
    assert published.resource.attributes["pd.compat.kv_dtype"] == "bfloat16"
    lease = published.attributes["pd.kv.lease_expires_unix_nano"] - published.end_time
    assert lease == LEASE_S * 10**9
    assert found["pd.kv_release"].attributes["pd.kv.reason"] == "imported"


def test_a_lease_that_runs_out_is_released_as_expired(engines, spans):
    engine = engines(kv_role="kv_producer", engine_id="engine-p")
    engine.scheduler.lease_s = 0
    engine.publish("r1")
    engine.step()
    assert spans(engine)["pd.kv_release"].attributes["pd.kv.reason"] == "expired"


def test_a_heartbeat_renews_the_lease(engines, spans, exporter):
    engine = engines(kv_role="kv_producer", engine_id="engine-p")
    engine.publish("r1")
    engine.step()
    rank = engine.ranks[0].connector_worker
    for rank.extension_s in (20, 60):
        rank._handle_heartbeat("r1-11111111")
        engine.step()
    spans(engine)
    first, renewal = [span for span in exporter.get_finished_spans() if span.name == "pd.kv_publish"]
    assert renewal.start_time == renewal.end_time > first.end_time
    lease = "pd.kv.lease_expires_unix_nano"
    assert 29e9 < renewal.attributes[lease] - first.attributes[lease] < 31e9


def test_both_sides_meet_in_one_trace_without_a_caller(engines, spans, exporter):
    producer, consumer = engines(kv_role="kv_producer", engine_id="engine-p"), engines()
    producer.publish("r1")
    consumer.pull("r1")
    consumer.step()
    spans(producer)
    found = spans(consumer)
    assert set(found) == {"pd.kv_publish", "pd.decode_queue", "pd.kv_transfer", "pd.kv_import"}
    assert len({span.context.trace_id for span in found.values()}) == 1


def test_ranks_are_folded_to_one(engines, spans):
    engine = engines(ranks=4)
    engine.pull("r1", CALLER)
    engine.step()
    transfer = spans(engine)["pd.kv_transfer"]
    told = transfer.attributes
    assert (told["pd.kv.bytes"], told["pd.kv.descriptors"]) == (4 * 65536, 16)
    assert (told["pd.ranks"], told["pd.ranks_expected"], told["pd.kv.post_ms"]) == (4, 4, 0.5)


def test_a_rank_that_fails_makes_the_transfer_partial(engines, spans):
    engine = engines(ranks=2)
    asked = engine.pull("r1", CALLER)
    engine.ranks[1].connector_worker.failing.add(asked.request_id)
    engine.step()
    found = spans(engine)
    assert found["pd.kv_transfer"].attributes["pd.kv.status"] == "partial"
    assert found["pd.kv_transfer"].status.status_code.name == "ERROR"
    assert "pd.kv_import" not in found


def test_a_pull_that_is_aborted_gives_its_reservation_back(engines, spans):
    engine = engines()
    asked = engine.pull("r1", CALLER)
    asked.status.name = "FINISHED_ABORTED"
    engine.scheduler.request_finished(asked, [])
    found = spans(engine)
    assert found["pd.kv_transfer"].attributes["pd.kv.status"] == "failed"
    assert found["pd.kv_release"].attributes["pd.kv.reason"] == "cancelled"


def test_a_request_without_hand_off_leaves_nothing(engines, spans):
    engine = engines()
    plain = nixl_shape.request("r1", None)
    engine.scheduler.on_new_request(plain)
    assert spans(engine) == {}


def test_a_caller_that_does_not_sample_is_respected(engines, spans):
    engine = engines()
    engine.pull("r1", {"traceparent": CALLER["traceparent"][:-1] + "0"})
    engine.step()
    assert spans(engine) == {}


def test_a_sample_keeps_the_same_traces_on_both_sides(engines, spans, exporter, monkeypatch):
    monkeypatch.setenv("PDSCOPE_KV_SAMPLE", "0.5")
    producer, consumer = engines(kv_role="kv_producer", engine_id="engine-p"), engines()
    for number in range(100):
        producer.publish(f"r{number}")
        consumer.pull(f"r{number}")
    consumer.step()
    spans(consumer)
    spans(producer)
    traces = {}
    for span in exporter.get_finished_spans():
        traces.setdefault(span.context.trace_id, set()).add(span.name)
    assert 25 < len(traces) < 75
    assert {"pd.kv_publish" in names and "pd.kv_import" in names for names in traces.values()} == {True}


def test_the_inner_connector_gets_its_own_metadata_back(engines):
    class Counting:
        def __init__(self, ranks):
            self.ranks = ranks

        def aggregate(self, other):
            return Counting(self.ranks + other.ranks)

    class WithMetadata(NixlConnector):
        def build_connector_worker_meta(self):
            return Counting(1)

    engine = engines(WithMetadata, ranks=3)
    engine.pull("r1")
    engine.step()
    engine.step()
    assert [metadata.ranks for metadata in engine.scheduler.seen_metadata] == [3, 3]


def test_what_travels_between_processes_can_be_pickled():
    told = ("r1", 0, 1, 3, ((2, 500.0, 10, 2),), False)
    facts = WorkerFacts([told], frozenset({"r2"}), True, (("r3", 4),))
    assert pickle.loads(pickle.dumps(facts)) == facts


@pytest.mark.parametrize("missing", ["request_id", "kv_transfer_params", "trace_headers"])
def test_a_vllm_whose_attributes_changed_still_serves_and_says_so_once(engines, spans, caplog, missing):
    engine = engines()
    caplog.set_level(logging.WARNING)
    for number in range(3):
        asked = nixl_shape.request(f"r{number}", {"do_remote_decode": False})
        delattr(asked, missing)
        engine.scheduler.on_new_request(asked)
    assert len(caplog.messages) == 1
    assert f"hook on_new_request does not fit this vLLM: AttributeError (no '{missing}')" in caplog.text


def test_a_connector_without_nixls_inside_is_timed_without_bytes(engines, spans, caplog):
    class Other(NixlConnector):
        def __init__(self, vllm_config, role, kv_cache_config):
            super().__init__(vllm_config, role, kv_cache_config)
            self.inside, self.connector_worker = self.connector_worker, None

        def start_load_kv(self, forward_context, **kwargs):
            self.inside._recving_transfers.update(
                {name: [name] for name in self._connector_metadata.reqs_to_recv}
            )

        def get_transfer_results(self, finished_req_ids):
            return self.inside.get_transfer_results()

    engine = engines(Other)
    engine.pull("r1")
    engine.step()
    told = spans(engine)["pd.kv_transfer"].attributes
    assert told["pd.kv.status"] == "ok"
    assert not {"pd.kv.bytes", "pd.kv.descriptors", "pd.kv.post_ms"} & set(told)


def test_a_connector_without_a_hook_is_named_in_the_log(caplog):
    class Old:
        def on_new_request(self, request):
            pass

    vllm_connector.traced(Old)
    assert "has no update_state_after_alloc" in caplog.text


def test_facts_reach_no_inner_connector_even_when_the_scheduler_side_is_broken(engines, caplog):
    engine = engines()
    engine.scheduler.update_connector_output(SimpleNamespace(kv_connector_worker_meta="inner's own"))
    engine.pull("r1")
    engine.step()
    assert "hook update_connector_output does not fit" in caplog.text
    assert engine.scheduler.seen_metadata == ["inner's own", None]


@pytest.fixture
def own_calls():
    """Names of this package's Python functions that ran on this thread, as a profiler sees them."""
    made = []

    def watch(frame, event, _):
        if event == "call" and "collector" in frame.f_code.co_filename:
            made.append(frame.f_code.co_name)

    yield lambda: sys.setprofile(watch), made
    sys.setprofile(None)


@pytest.mark.parametrize(("side", "most"), [("kv_producer", 16), ("kv_consumer", 12)])
def test_a_hook_is_one_function_on_the_engines_thread(engines, own_calls, side, most):
    engine = engines(kv_role=side, engine_id="engine-p" if side == "kv_producer" else "engine-d")
    watch, made = own_calls
    watch()
    if side == "kv_producer":
        published = engine.publish("r1", CALLER)
        engine.step()
        engine.ranks[0].connector_worker.pulled = {published.request_id}
        engine.step()
    else:
        asked = engine.pull("r1", CALLER)
        engine.step()
        engine.scheduler.request_finished_all_groups(asked, ([],))
    sys.setprofile(None)
    assert len([name for name in made if name not in ("_blocks_of_groups", "unwrapped")]) <= most, made


def test_several_reads_of_one_transfer_add_up(engines, spans):
    class TwoReads(NixlConnector):
        def start_load_kv(self, forward_context, **kwargs):
            for name in self._connector_metadata.reqs_to_recv:
                self.connector_worker._recving_transfers[name] = [(name, 0), (name, 1)]

    engine = engines(TwoReads)
    engine.pull("r1", CALLER)
    engine.step()
    told = spans(engine)["pd.kv_transfer"].attributes
    assert (told["pd.kv.bytes"], told["pd.kv.descriptors"], told["pd.kv.post_ms"]) == (2 * 65536, 8, 1.0)


def test_a_hook_that_fails_is_taken_off_and_the_call_still_made(engines, caplog):
    engine = engines()
    engine.scheduler.request_finished_all_groups(SimpleNamespace(kv_transfer_params={}, status=None), ([],))
    before = engine.scheduler.on_new_request
    engine.scheduler.on_new_request(SimpleNamespace())
    assert "hook on_new_request does not fit" in caplog.text
    assert engine.scheduler.on_new_request != before
    assert "on_new_request" not in vars(engine.scheduler)


def test_the_class_keeps_the_name_vllm_checks(engines):
    assert type(engines().scheduler).__name__ == "NixlConnector"


@pytest.fixture
def vllm_factory(monkeypatch):
    """A module in the place of vLLM's factory."""

    def get(name):
        if name != "NixlConnector":
            raise ValueError(name)
        return NixlConnector

    module = SimpleNamespace(KVConnectorFactory=SimpleNamespace(get_connector_class_by_name=get))
    monkeypatch.setitem(sys.modules, "vllm.distributed.kv_transfer.kv_connector.factory", module)
    monkeypatch.delitem(vars(vllm_connector), "NixlConnector", raising=False)
    yield
    vars(vllm_connector).pop("NixlConnector", None)


def test_any_registered_connector_is_found_by_its_name(vllm_factory):
    assert issubclass(vllm_connector.NixlConnector, NixlConnector)
    assert vllm_connector.NixlConnector is vllm_connector.NixlConnector
    with pytest.raises(AttributeError, match="vLLM has no connector named 'Nothing'"):
        _ = vllm_connector.Nothing


def test_switched_off_it_is_vllms_own_class(vllm_factory, monkeypatch):
    monkeypatch.setenv("PDSCOPE_KV_TRACE", "off")
    assert vllm_connector.NixlConnector is NixlConnector


def test_without_an_endpoint_nothing_is_attached(monkeypatch, caplog):
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", raising=False)
    engine = Engine(vllm_connector.traced(NixlConnector))
    engine.pull("r1")
    engine.step()
    assert engine.scheduler._pd is None
    assert "OTEL_EXPORTER_OTLP_ENDPOINT is not set" in caplog.text


def test_loading_it_brings_nothing_heavy():
    heavy = (
        "chdb",
        "clickhouse_connect",
        "fastapi",
        "aiohttp",
        "starlette",
        "grpc",
        "analyzer",
        "vllm",
        "numpy",
    )
    program = (
        "import sys; import collector.instrument.vllm_connector, collector.instrument.asgi; "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert told.strip() == "[]"
