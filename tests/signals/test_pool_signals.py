import pytest

from analyzer.signals import read_unmapped
from tests.signals.otlp import DELTA, body, buckets, counter, gauge, histogram, ns, number


def _values(rows):
    return [row["value"] for row in rows]


def test_a_gauge_is_read_in_the_conventions_unit(store, worker, signals):
    store.insert_metrics([body(worker, gauge("DCGM_FI_DEV_GPU_UTIL", number(1, 85, gpu="3")))])
    (row,) = signals(worker)
    assert (row["signal"], row["part"], row["value"]) == ("gpu_busy_fraction", "3", 0.85)
    assert (row["metric"], row["dialect"]) == ("DCGM_FI_DEV_GPU_UTIL", "infrastructure")


def test_a_counter_becomes_increases_and_rates(store, worker, signals):
    points = [number(t, v) for t, v in ((10, 100), (20, 150), (30, 150), (50, 190))]
    store.insert_metrics([body(worker, counter("vllm:generation_tokens_total", *points))])
    rows = signals(worker)
    assert _values(rows) == [None, 50, 0, 40]
    assert [row["rate"] for row in rows] == [None, 5, 0, 2]


def test_a_counter_whose_start_is_known_counts_from_it(store, worker, signals):
    store.insert_metrics([body(worker, counter("vllm:generation_tokens_total", number(10, 100, start=2)))])
    (row,) = signals(worker)
    assert (row["value"], row["seconds"]) == (100, 8)


def test_a_first_reading_from_before_the_window_is_no_increase(store, worker, signals):
    points = [number(t, v, start=0) for t, v in ((5000, 100), (5010, 130))]
    store.insert_metrics([body(worker, counter("vllm:generation_tokens_total", *points))])
    assert _values(signals(worker, after=4990, upto=6000)) == [None, 30]
    assert _values(signals(worker, after=5005, upto=6000)) == [30]


@pytest.mark.parametrize(
    ("points", "expected", "resets"),
    [
        # fell: it counts from zero again
        ([(10, 100, None), (20, 7, None), (30, 9, None)], [None, 7, 2], 1),
        # started anew and overtook the old value before the next reading
        ([(10, 100, 1), (20, 120, 15), (30, 130, 15)], [100, 120, 10], 1),
        # a start equal to the reading's own time says nothing
        ([(10, 100, 10), (20, 120, 20)], [None, 20], 0),
        # a start equal to the reading before is how some senders mark their first one
        ([(10, 0, 10), (20, 5, 10), (30, 9, 10)], [None, 5, 4], 0),
    ],
)
def test_a_reset_is_a_new_start_never_a_negative_increase(store, worker, signals, points, expected, resets):
    sent = [number(t, v, start=s) for t, v, s in points]
    store.insert_metrics([body(worker, counter("vllm:num_preemptions_total", *sent))])
    rows = signals(worker)
    assert _values(rows) == expected
    assert sum(row["reset"] for row in rows) == resets


def test_delta_and_cumulative_say_the_same(store, worker, signals):
    name = "vllm:num_preemptions_total"
    cumulative = [number(10 * i, total, start=0) for i, total in ((1, 3), (2, 3), (3, 10))]
    delta = [number(10 * i, grown, start=10 * (i - 1)) for i, grown in ((1, 3), (2, 0), (3, 7))]
    store.insert_metrics([body(worker, counter(name, *cumulative))])
    store.insert_metrics([body(worker + "d", counter(name, *delta, temporality=DELTA))])
    told = [[(row["value"], row["rate"]) for row in signals(w)] for w in (worker, worker + "d")]
    assert told[0] == told[1] == [(3, 0.3), (0, 0), (7, 0.7)]


def test_a_level_sent_as_changes_is_not_read(store, worker, signals):
    up_down = counter("vllm:num_requests_running", number(1, -2), temporality=DELTA, monotonic=False)
    store.insert_metrics([body(worker, up_down)])
    assert signals(worker) == []


def test_a_level_sent_as_an_up_down_counter_is_a_level(store, worker, signals):
    up_down = counter("vllm:num_requests_running", number(1, 5), number(2, 3), monotonic=False)
    store.insert_metrics([body(worker, up_down)])
    assert _values(signals(worker)) == [5, 3]


def test_repeated_exports_count_once(store, worker, signals):
    export = body(worker, counter("vllm:num_preemptions_total", number(1, 1), number(2, 4)))
    store.insert_metrics([export, export])
    store.insert_metrics([export])
    assert _values(signals(worker)) == [None, 3]


def test_late_and_shuffled_points_are_read_in_order(store, worker, signals):
    for at, value in ((30, 9), (10, 4), (20, 5)):
        store.insert_metrics([body(worker, counter("vllm:num_preemptions_total", number(at, value)))])
    assert _values(signals(worker)) == [None, 1, 4]


@pytest.mark.parametrize(
    "name", ["vllm:num_preemptions", "vllm_num_preemptions_total", "vllm_num_preemptions"]
)
def test_names_as_collectors_rewrite_them_are_known(store, worker, signals, name):
    store.insert_metrics([body(worker, counter(name, number(1, 1), number(2, 3)))])
    assert [row["signal"] for row in signals(worker)] == ["preemptions_total"] * 2


def test_a_gauge_that_became_a_histogram_is_read_as_what_it_is(store, worker, signals):
    name = "sglang:kv_transfer_total_mb"
    store.insert_metrics([body(worker, gauge(name, number(1, 70.0), number(2, 80.0)))])
    assert signals(worker) == []
    grown = [buckets(t, [100.0], [n, 0], total=10.0 * n) for t, n in ((11, 1), (12, 4))]
    store.insert_metrics([body(worker, histogram(name, *grown))])
    rows = signals(worker)
    assert [(row["signal"], row["value"]) for row in rows] == [
        ("transfer_bytes_total", None),
        ("transfer_bytes_total", 30 * 1024 * 1024),
    ]


def test_a_histogram_gives_seconds_and_their_count(store, worker, signals):
    points = [buckets(t, [0.1], [n, 0], total=n * 0.05) for t, n in ((1, 2), (2, 12))]
    store.insert_metrics([body(worker, histogram("vllm:nixl_xfer_time_seconds", *points))])
    found = {row["signal"]: row["value"] for row in signals(worker)}
    assert found == {"transfer_seconds_count": 10, "transfer_seconds_sum": pytest.approx(0.5)}


def test_ranks_that_repeat_a_figure_are_read_once_and_engines_all(store, worker, signals):
    ranks = [number(1, 7, tp_rank=str(rank), dp_rank=str(dp)) for rank in range(4) for dp in range(2)]
    store.insert_metrics([body(worker, gauge("sglang:num_queue_reqs", *ranks))])
    assert _values(signals(worker)) == [7, 7]


def test_of_two_metrics_of_one_signal_the_better_is_read(store, worker, signals):
    old, new = "vllm:gpu_cache_usage_perc", "vllm:kv_cache_usage_perc"
    store.insert_metrics([body(worker, gauge(old, number(1, 0.4)), gauge(new, number(1, 0.5)))])
    assert [(row["metric"], row["value"]) for row in signals(worker)] == [(new, 0.5)]


def test_parts_are_kept_apart(store, worker, signals):
    name = "vllm:prompt_tokens_by_source_total"
    sources = ("local_compute", "local_cache_hit", "external_kv_transfer", "something_new")
    points = [number(t, t, source=source) for source in sources for t in (1, 2)]
    store.insert_metrics([body(worker, counter(name, *points))])
    assert [row["part"] for row in signals(worker) if row["value"]] == ["cache", "local", "remote"]


def test_conditions_on_labels_hold(store, worker, signals):
    codes = [number(t, t, code=code) for code in ("200", "503", "5xx", "404") for t in (1, 3)]
    modes = [number(t, t * 0.5, cpu="0", mode=mode) for mode in ("idle", "user", "iowait") for t in (1, 3)]
    sent = [counter("http_requests_total", *codes), counter("node_cpu_seconds_total", *modes)]
    store.insert_metrics([body(worker, *sent)])
    found = [(row["signal"], row["value"]) for row in signals(worker) if row["value"] is not None]
    assert found == [("cpu_busy_cores", 0.5), ("failed_requests_total", 2), ("failed_requests_total", 2)]


def test_capacity_is_read_from_the_labels_of_an_information_metric(store, worker, signals):
    info = gauge("vllm:cache_config_info", number(1, 1, block_size="16", num_gpu_blocks="1000"))
    broken = gauge("vllm:cache_config_info", number(1, 1, block_size="16", num_gpu_blocks="None"))
    store.insert_metrics([body(worker, info)])
    store.insert_metrics([body(worker + "b", broken)])
    assert _values(signals(worker)) == [16000]
    assert signals(worker + "b") == []


def test_a_metric_about_another_process_names_it(store, worker, signals):
    seen = gauge("vllm_router_pd_pending_decode_requests", number(1, 3, worker=f"http://{worker}"))
    store.insert_metrics([body("router-0", seen)])
    # by its host and port, as scraping and requests name it
    (row,) = signals(worker)
    assert (row["part"], row["pool"], row["value"]) == ("router_view", "decode", 3)


@pytest.mark.parametrize(
    ("instance", "resource", "metric", "labels", "pool"),
    [
        (
            "set-to-decode-1",
            {"pd_pool": "prefill"},
            "sglang:num_queue_reqs",
            {"engine_type": "decode"},
            "prefill",
        ),
        ("set-to-decode-2", {}, "sglang:num_queue_reqs", {"engine_type": "prefill"}, "decode"),
        ("prefill-3", {}, "sglang:num_queue_reqs", {"engine_type": "decode"}, "decode"),
        ("prefill-4", {}, "sglang:num_queue_reqs", {"engine_type": "unified"}, "colocated"),
        ("prefill-5", {}, "vllm:nixl_num_failed_transfers_total", {}, "prefill"),
        ("nameless-6", {}, "vllm:nixl_num_failed_transfers_total", {}, "decode"),
        ("nameless-7", {"pd_pool": "nonsense"}, "vllm:num_requests_waiting", {}, ""),
    ],
)
def test_the_pool_is_what_is_said_most_directly(store, signals, instance, resource, metric, labels, pool):
    store.insert_metrics([body(instance, gauge(metric, number(1, 1, **labels)), **resource)])
    assert [row["pool"] for row in signals(instance)] == [pool]


def test_only_the_wanted_signals_in_the_window_are_read(store, worker, signals):
    sent = [gauge(f"vllm:num_requests_{x}", number(1, 1), number(100, 2)) for x in ("running", "waiting")]
    store.insert_metrics([body(worker, *sent)])
    rows = signals(worker, "queue_depth", after=1, upto=100)
    assert [(row["signal"], row["time_ns"]) for row in rows] == [("queue_depth", ns(100))]


def test_a_hexadecimal_worker_id_is_the_decimal_one_that_requests_name(store, signals):
    labels = {"dynamo_endpoint": "generate", "dynamo_component": "backend"}
    ids = {"139d846e3a3f440f": "1413431467022697487", "bcb1c4a8d0a1f30a": str(0xBCB1C4A8D0A1F30A), "7": "7"}
    for at, number_ in enumerate(ids, 1):
        point = number(at, 2, worker_id=number_, **labels)
        store.insert_metrics([body("dynamo-worker", gauge("dynamo_component_inflight_requests", point))])
    for decimal in ids.values():
        (row,) = signals(decimal)
        assert (row["signal"], row["pool"], row["value"]) == ("running", "decode", 2.0)


def test_a_page_that_holds_its_workers_name_is_read_under_it(store, worker, signals):
    store.insert_metrics(
        [
            body(
                worker,
                gauge("vllm:kv_cache_usage_perc", number(1, 0.9, **{"pd.worker": "88443322"})),
            )
        ]
    )
    (row,) = signals("88443322")
    assert (row["signal"], row["value"]) == ("kv_used_fraction", 0.9)
    assert signals(worker) == []


def test_a_worker_id_that_is_no_number_leaves_the_sender_as_the_worker(store, worker, signals):
    point = number(1, 2, worker_id="not-hex", dynamo_endpoint="generate")
    store.insert_metrics([body(worker, gauge("dynamo_component_inflight_requests", point))])
    (row,) = signals(worker)
    assert row["signal"] == "running"


def test_what_scraping_tells_of_itself_is_no_metric_that_nobody_reads(store, worker):
    store.insert_metrics([body(worker, gauge("pdscope.scrape.failed", number(1, 1.0, reason="timeout")))])
    store.insert_metrics([body(worker, gauge("nobody_reads_this", number(1, 1.0)))])
    names = {row["metric"] for row in read_unmapped(store, ns(0), ns(3600))}
    assert "nobody_reads_this" in names
    assert "pdscope.scrape.failed" not in names
