"""The scraper against servers of its own, into a real receiver with a journal."""

import gzip
import json
import ssl
import time
from itertools import pairwise

import pytest
import trustme
from prometheus_client import CollectorRegistry

from collector.errors import ConfigError
from collector.journal import Journal
from collector.receive import OtlpReceiver, ReceiveSettings
from collector.receive.errors import QueueFull
from collector.receive.export import Kind
from collector.scrape import Scraper, read_scrape_config
from collector.store import Store
from tests.scrape.cluster import cluster, pod
from tests.scrape.pages import captured, serving

PAGE = b"# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 3\n"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    opened = Store.open(tmp_path_factory.mktemp("store"))
    yield opened
    opened.close()


@pytest.fixture
def scraping(store, tmp_path, monkeypatch):
    """Start a scraper with a configuration; its points end in the store by way of the journal."""
    monkeypatch.setattr("collector.scrape.together.EVERY_S", 0.1)
    running = []

    def start(text, submit=None):
        registry = CollectorRegistry()
        journal = Journal(tmp_path / "journal")
        settings = ReceiveSettings(grpc_address="127.0.0.1:0", http_address="127.0.0.1:0", own_span_ratio=0)
        receiver = OtlpReceiver(store, settings, registry, journal)
        receiver.start()
        running.append(lambda: (receiver.stop(5), journal.close()))
        path = tmp_path / "scrape.yaml"
        path.write_text(text)
        scraper = Scraper(read_scrape_config(path), submit or receiver.submit, registry)
        scraper.start()
        running.append(scraper.stop)
        return registry

    yield start
    for end in reversed(running):
        end()


def job(address, more="", interval=1):
    return f"jobs: [{{job: j, interval_s: {interval}, timeout_s: 0.5, targets: ['{address}'] {more}}}]"


def until(ask, bound=20.0):
    """The first true answer; asks again for at most `bound` seconds."""
    end = time.monotonic() + bound
    while not (found := ask()) and time.monotonic() < end:
        time.sleep(0.05)
    assert found
    return found


def points(store, worker, metric):
    return store.rows(
        "SELECT * FROM signals FINAL WHERE worker = {w:String} AND metric = {m:String} ORDER BY time_ns",
        {"w": worker, "m": metric},
    )


def failure(store, worker):
    return until(lambda: points(store, worker, "pdscope.scrape.failed"))[0]["labels"]["reason"]


def test_a_page_ends_in_the_store_under_its_workers_name_and_pool(scraping, store):
    page = captured("vllm-0.32.0/baseline/metrics_decode.prom.txt.gz")[-1].encode()
    with serving({"/metrics": page}) as worker:
        scraping(job(worker.address, ", pool: decode"))
        first = until(lambda: points(store, worker.address, "vllm:num_requests_running"))[0]
        assert first["pool"] == "decode"
        assert points(store, worker.address, "up")[0]["value"] == 1.0
        (histogram, *_) = points(store, worker.address, "vllm:nixl_xfer_time_seconds")
        assert histogram["count"] == sum(histogram["buckets"]) > 0


def test_a_worker_that_disappears_is_a_fact_with_a_time_and_so_is_its_return(scraping, store):
    with serving({"/metrics": PAGE}) as worker:
        scraping(job(worker.address))
        until(lambda: points(store, worker.address, "up"))
    gone_at = time.time_ns()
    until(lambda: points(store, worker.address, "pdscope.scrape.failed"))
    with serving({"/metrics": PAGE}, port=worker.port):
        until(lambda: points(store, worker.address, "up")[-1]["value"] == 1.0)
    readings = points(store, worker.address, "up")
    down = next(row for row in readings if row["value"] == 0.0)
    assert down["time_ns"] >= gone_at - 1e9
    assert points(store, worker.address, "pdscope.scrape.failed")[0]["labels"]["reason"] == "no_connection"


def test_a_target_that_is_taken_from_its_file_has_left_and_is_not_down(
    scraping, store, tmp_path, monkeypatch
):
    monkeypatch.setattr("collector.scrape.scraper.LOOK_S", 0.1)
    targets = tmp_path / "t.json"
    with serving({"/metrics": PAGE}) as worker:
        targets.write_text(json.dumps([{"targets": [worker.address]}]))
        scraping("jobs: [{job: j, interval_s: 1, timeout_s: 0.5, files: [t.json]}]")
        until(lambda: points(store, worker.address, "up"))
        targets.write_text("[]")
        (left,) = until(lambda: points(store, worker.address, "pdscope.target.left"))
    assert left["labels"]["reason"] == "removed"
    assert {row["value"] for row in points(store, worker.address, "up")} == {1.0}


def test_a_pod_that_vanishes_is_down_from_then_on(scraping, store, tmp_path):
    with cluster(tmp_path) as held, serving({"/metrics": PAGE}) as worker:
        held.pods = [pod("decode-0", port=worker.port)]
        text = "{namespace: llm, port: metrics, kubeconfig: kubeconfig}"
        scraping(f"jobs: [{{job: pods, interval_s: 1, timeout_s: 0.5, kubernetes: {text}}}]")
        first = until(lambda: points(store, worker.address, "vllm:num_requests_running"))[0]
        assert first["pool"] == "decode"
        held.watching.wait(10)
        held.send("DELETED", held.pods[0])
        (left,) = until(lambda: points(store, worker.address, "pdscope.target.left"))
    assert left["labels"]["reason"] == "deleted"
    assert points(store, worker.address, "up")[-1]["value"] == 0.0


def _slow(handler):
    time.sleep(1.0)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((503, {}, b"no"), "http_503"),
        ((302, {"Location": "http://169.254.169.254/"}, b""), "http_302"),
        (b"\xff\xfe", "not_text"),
        ((200, {"Content-Type": "text/html"}, b"<!doctype html><html></html>"), "not_metrics"),
        (b"# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running\n", "not_metrics"),
        (PAGE + b"# x" * 1000, "too_large"),
        ((200, {"Content-Encoding": "gzip"}, gzip.compress(PAGE + b"#" * 1_000_000)), "too_large"),
        (
            b"".join(b'vllm:num_requests_waiting_by_reason{reason="%d"} 1\n' % i for i in range(20)),
            "too_many_series",
        ),
        (_slow, "timeout"),
    ],
)
def test_a_page_that_can_not_be_had_says_why(scraping, store, answer, reason):
    with serving({"/metrics": answer}) as worker:
        registry = scraping(job(worker.address, ", max_bytes: 2048, max_series: 10"))
        assert failure(store, worker.address) == reason
        assert registry.get_sample_value("pdscope_scrape_failures_total", {"job": "j", "reason": reason}) >= 1
        assert not points(store, worker.address, "vllm:num_requests_running")


def test_a_token_is_sent_and_read_again_each_time(scraping, store, tmp_path):
    (tmp_path / "token").write_text("one\n")
    with serving({"/metrics": PAGE}) as worker:
        scraping(job(worker.address, ", bearer_token_file: token"))
        until(lambda: worker.asked)
        (tmp_path / "token").write_text("two\n")
        until(lambda: worker.asked[-1][1].get("Authorization") == "Bearer two")
    assert worker.asked[0][1]["Authorization"] == "Bearer one"


def test_https_targets_are_trusted_by_their_ca_alone(scraping, store, tmp_path):
    ca = trustme.CA()
    ca.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("127.0.0.1").configure_cert(context)
    with serving(
        {"/metrics": PAGE}, wrap=lambda plain: context.wrap_socket(plain, server_side=True)
    ) as worker:
        alike = "interval_s: 1, timeout_s: 0.5, scheme: https"
        one = f"{{job: trusts, {alike}, targets: ['{worker.address}'], tls: {{ca: ca.pem}}}}"
        other = f"{{job: not, {alike}, targets: [{{target: '{worker.address}', worker: untrusted}}]}}"
        scraping(f"jobs: [{one}, {other}]")
        until(lambda: points(store, worker.address, "vllm:num_requests_running"))
        assert failure(store, "untrusted") == "tls"


def test_a_page_that_tells_nothing_of_the_engine_costs_no_metrics(scraping, store):
    page = b"# TYPE sglang:num_running_reqs gauge\nsglang:num_running_reqs 1\n"
    deep = b"[" * 100_000
    with serving({"/metrics": page, "/get_server_info": deep, "/server_info": deep}) as worker:
        scraping(job(worker.address))
        until(lambda: points(store, worker.address, "sglang:num_running_reqs"))


def test_records_nested_without_end_are_no_records(scraping, store):
    with serving({"/perf_metrics": b"[" * 100_000}) as worker:
        scraping(job(worker.address, ", kind: trtllm_perf_metrics"))
        assert failure(store, worker.address) == "not_json"


def test_what_the_engine_says_of_itself_tells_its_pool_and_its_fingerprint(scraping, store):
    page = b'# TYPE sglang:num_running_reqs gauge\nsglang:num_running_reqs{model_name="m"} 1\n'
    info = {
        "disaggregation_mode": "decode", "tp_size": 4, "page_size": 64, "kv_cache_dtype": "fp8_e5m2",
        "disaggregation_transfer_backend": "mooncake", "revision": None, "version": "0.5.23",
    }  # fmt: skip
    with serving({"/metrics": page, "/get_server_info": json.dumps(info).encode()}) as worker:
        scraping(job(worker.address))
        first = until(lambda: points(store, worker.address, "sglang:num_running_reqs"))[0]
        assert first["pool"] == "decode"
        kept = "SELECT attrs FROM resources FINAL WHERE instance = {w:String}"
        # an insert's tables follow one another
        (row,) = until(lambda: store.rows(kept, {"w": worker.address}))
        told = {name: value for name, value in row["attrs"].items() if name.startswith("pd.compat.")}
        assert told == {
            "pd.compat.tp": "4", "pd.compat.block_size": "64", "pd.compat.kv_dtype": "fp8_e5m2",
            "pd.compat.connector": "mooncake", "pd.compat.connector_version": "0.5.23",
        }  # fmt: skip


def test_the_release_of_a_vllm_is_not_told_as_the_version_of_its_connector(scraping, store):
    """The traced connector tells that, as a number: an engine with it and one without seemed to differ."""
    page = b"# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 1\n"
    with serving({"/metrics": page, "/version": b'{"version": "0.32.0"}'}) as worker:
        scraping(job(worker.address))
        kept = "SELECT attrs FROM resources FINAL WHERE instance = {w:String}"
        (row,) = until(lambda: store.rows(kept, {"w": worker.address}))
        told = {name: value for name, value in row["attrs"].items() if name.startswith("pd.compat.")}
        assert told == {"pd.compat.engine_version": "0.32.0"}


def _record(now):
    """One request of two seconds ago, in the shape of TensorRT-LLM's proxy; its times are steady seconds."""
    ctx = {"arrival_time": 1.9, "first_scheduled_time": 1.8, "first_token_time": 1.5}
    gen = {
        "arrival_time": 1.5, "kv_cache_transfer_start": 1.45, "kv_cache_transfer_end": 1.35,
        "first_scheduled_time": 1.3, "first_token_time": 1.25, "last_token_time": 1.0,
    }  # fmt: skip
    legs = {
        f"{side}_perf_metrics": {
            "ctx_request_id": 41,
            "perf_metrics": {"timing_metrics": {name: now - ago for name, ago in times.items()}},
        }
        for side, times in (("ctx", ctx), ("gen", gen))
    }
    proxy = {"disagg_server_arrival_time": now - 2.0, "disagg_server_first_token_time": now - 1.2}
    return {"ctx_server": "c:1", "gen_server": "g:1", **proxy, **legs}


def test_records_of_tensorrt_llm_become_requests_and_are_tried_again_when_refused(
    scraping, store, monkeypatch
):
    now = time.monotonic()
    given = [json.dumps([_record(now)]).encode()]

    def once(handler):
        body = given.pop() if given else b"[]"
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    refused = []
    taken = OtlpReceiver.submit

    def submit(self, export, transport):
        if export.kind == Kind.TRACES and not refused:
            refused.append(export)
            raise QueueFull("full")
        return taken(self, export, transport)

    monkeypatch.setattr(OtlpReceiver, "submit", submit)
    named = "SELECT name, start_ns FROM spans WHERE startsWith(name, 'trtllm.perf_metrics') ORDER BY name"
    with serving({"/perf_metrics": once}) as worker:
        scraping(job(worker.address, ", kind: trtllm_perf_metrics, pool: router"))
        rows = until(lambda: store.rows(named))
    assert refused
    assert rows[0]["name"] == "trtllm.perf_metrics"
    assert abs(rows[0]["start_ns"] / 1e9 - (time.time() - time.monotonic() + now - 2.0)) < 0.1


def test_what_the_journal_refuses_is_counted(scraping):
    def full(*_):
        raise QueueFull("full")

    with serving({"/metrics": PAGE}) as worker:
        registry = scraping(job(worker.address), full)
        labels = {"job": "j", "reason": "QueueFull"}
        until(lambda: registry.get_sample_value("pdscope_scrape_refused_total", labels))


def test_certificates_that_can_not_be_read_are_told_at_the_start(scraping):
    with pytest.raises(ConfigError, match="tls of a scrape job"):
        scraping(job("h:1", ", tls: {ca: nowhere.pem}"))


def test_scrapes_keep_their_place_in_the_interval(scraping, store):
    with serving({"/metrics": PAGE}) as worker:
        scraping(job(worker.address))
        until(lambda: len(worker.asked) >= 4)
        until(lambda: len(points(store, worker.address, "up")) >= 4)
    times = [row["time_ns"] for row in points(store, worker.address, "up")]
    # one scrape an interval, give or take a tenth; a busy machine may be late, never early
    assert min(after - before for before, after in pairwise(times[1:])) > 0.7e9
