import math

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from prometheus_client.parser import text_string_to_metric_families

from collector.engines import ADAPTERS
from collector.scrape.errors import BadPage
from collector.scrape.page import WORKER, Layout, attribute, split
from collector.scrape.wanted import wanted
from tests.scrape.pages import captured, every_page

NOW = 1_795_972_978_908_844_898
WANTED = wanted(ADAPTERS)


def export(text, pods=None, also=(), only=()):
    chosen = WANTED.narrowed(also, only)
    keys, numbers, _ = split(text, chosen)
    layout = Layout(keys, [attribute("service.instance.id", "w")], chosen, pods)
    return ExportMetricsServiceRequest.FromString(layout.fill(numbers, NOW))


def points(export, leave_out=()):
    """(metric, kind, labels) -> point."""
    found = {}
    for metric in export.resource_metrics[0].scope_metrics[0].metrics:
        kind = metric.WhichOneof("data")
        for point in getattr(metric, kind).data_points:
            labels = tuple(
                sorted((a.key, a.value.string_value) for a in point.attributes if a.key not in leave_out)
            )
            found[metric.name, kind, labels] = point
    return found


@pytest.mark.parametrize("path", every_page(), ids=str)
def test_every_captured_page_reads_as_prometheus_clients_own_parser_reads_it(path):
    text = captured(str(path))[-1]
    found = points(export(text), leave_out=(WORKER,))
    seen = 0
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = dict(sample.labels)
            bound, quantile = labels.pop("le", None), labels.pop("quantile", None)
            key = tuple(sorted((name, value) for name, value in labels.items() if value))
            if family.type in ("gauge", "counter", "unknown"):
                # Their parser adds _total to a counter that the page names without.
                names = (sample.name, sample.name.removesuffix("_total"))
                kinds = [(name, kind, key) for name in names for kind in ("gauge", "sum")]
                point = next((found[wanted] for wanted in kinds if wanted in found), None)
                if point is None:
                    continue
                assert point.as_double == sample.value or math.isnan(sample.value)
            elif (point := found.get((family.name, family.type, key))) is not None:
                if bound == "+Inf" or sample.name.endswith("_count"):
                    assert point.count == sample.value
                elif bound is not None:
                    place = list(point.explicit_bounds).index(float(bound))
                    assert sum(point.bucket_counts[: place + 1]) == sample.value
                elif quantile is None and sample.name.endswith("_sum"):
                    assert point.sum == sample.value
            else:
                continue
            seen += 1
    assert seen >= len(found)


def test_families_that_no_adapter_names_are_left_out_and_counted():
    keys, _, left_out = split("# TYPE go_gc gauge\ngo_gc 1\nvllm:num_requests_running 2\n", WANTED)
    assert (keys, left_out) == (["vllm:num_requests_running"], 1)


def test_more_families_can_be_asked_for():
    assert ("go_gc", "gauge", ()) in points(export("# TYPE go_gc gauge\ngo_gc 1\n", also=("go_gc",)))


def test_only_the_series_that_a_rule_reads_are_kept():
    page = "# TYPE kube_pod_status_ready gauge\n" + "".join(
        f'kube_pod_status_ready{{namespace="{space}",pod="p",condition="{condition}"}} 1\n'
        for space in ("llm", "other")
        for condition in ("true", "false", "unknown")
    )
    assert len(points(export(page))) == 2
    (kept,) = points(export(page, only=(("namespace", ("llm",)),)))
    assert ("namespace", "llm") in kept[2]


ONE_WORKER = """# TYPE dynamo_component_inflight_requests gauge
dynamo_component_inflight_requests{dynamo_endpoint="generate",worker_id="bcb1c4a8d0a1f30a"} 2
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0"} 0.9
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{le="+Inf"} 3
vllm:time_to_first_token_seconds_count 3
vllm:time_to_first_token_seconds_sum 1.5
"""


def test_a_page_that_names_its_worker_as_requests_do_is_that_workers_throughout():
    """Seen live with Dynamo 1.6.1, whose decode workers export the engine's metrics beside their own."""
    told = {metric: dict(labels) for metric, _, labels in points(export(ONE_WORKER))}

    assert {labels.get(WORKER) for labels in told.values()} == {str(0xBCB1C4A8D0A1F30A)}
    assert len(told) == 3


def test_a_page_of_several_workers_names_none_for_what_is_told_of_all():
    other = 'dynamo_component_inflight_requests{dynamo_endpoint="generate",worker_id="7"} 1\n'
    page = ONE_WORKER.replace("# TYPE vllm:kv", f"{other}# TYPE vllm:kv", 1)

    assert all(WORKER not in dict(labels) for _, _, labels in points(export(page)))


def test_a_pods_series_names_its_worker():
    page = '# TYPE DCGM_FI_DEV_GPU_UTIL gauge\nDCGM_FI_DEV_GPU_UTIL{gpu="0",exported_pod="prefill-0"} 71\n'
    (kept,) = points(export(page, pods={"prefill-0": "10.0.0.5:8100"}))
    assert ("pd.worker", "10.0.0.5:8100") in kept[2]


def test_since_when_a_process_accumulates_is_told_with_its_counters():
    page = (
        "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 1.79597293721e+09\n"
        "# TYPE vllm:prompt_tokens_total counter\nvllm:prompt_tokens_total 5\n"
    )
    assert points(export(page))["vllm:prompt_tokens_total", "sum", ()].start_time_unix_nano == int(
        1.79597293721e09 * 1e9
    )


def test_a_gauge_that_became_a_histogram_is_another_kind_under_the_same_name():
    name = "sglang:kv_transfer_latency_ms"
    gauge = points(export(f"# TYPE {name} gauge\n{name} 4\n"))
    buckets = f'{name}_bucket{{le="1"}} 1\n{name}_bucket{{le="+Inf"}} 2\n'
    histogram = points(export(f"# TYPE {name} histogram\n{buckets}{name}_count 2\n{name}_sum 9\n"))
    assert [key[:2] for key in gauge] == [(name, "gauge")]
    assert [key[:2] for key in histogram] == [(name, "histogram")]


def test_buckets_that_contradict_each_other_are_dropped_and_come_back_with_the_next_page():
    page = (
        "# TYPE vllm:time_to_first_token_seconds histogram\n"
        'vllm:time_to_first_token_seconds_bucket{{le="1.0"}} {0}\n'
        'vllm:time_to_first_token_seconds_bucket{{le="+Inf"}} 3\n'
        "vllm:time_to_first_token_seconds_count 3\nvllm:time_to_first_token_seconds_sum 2.5\n"
    )
    keys, _, _ = split(page.format(1), WANTED)
    layout = Layout(keys, [], WANTED)

    def filled(first):
        body = ExportMetricsServiceRequest.FromString(layout.fill(split(page.format(first), WANTED)[1], NOW))
        return next(iter(points(body).values()))

    assert (list(filled(9).bucket_counts), filled(9).count, filled(9).sum) == ([], 3, 2.5)
    assert (list(filled(1).explicit_bounds), list(filled(1).bucket_counts)) == ([1.0], [1, 2])


@pytest.mark.parametrize(
    "line",
    [
        r'vllm:num_requests_waiting_by_reason{reason="a } b # { c",model="q\"x\\n"} 3',
        'vllm:num_requests_waiting_by_reason{reason="capacity",} 3 1795972978908',
        "vllm:num_requests_waiting_by_reason 3",
    ],
)
def test_odd_series_are_read_as_the_parser_reads_them(line):
    text = f"# TYPE vllm:num_requests_waiting_by_reason gauge\n{line}\n"
    (theirs,) = next(iter(text_string_to_metric_families(text))).samples
    ((key, point),) = points(export(text)).items()
    assert (dict(key[2]), point.as_double, point.time_unix_nano) == (dict(theirs.labels), 3.0, NOW)


def test_exemplars_of_openmetrics_are_no_values():
    text = (
        '# TYPE vllm:prompt_tokens counter\nvllm:prompt_tokens_total{a="b"} 7 # {trace_id="{x"} 1 2\n# EOF\n'
    )
    keys, numbers, _ = split(text, WANTED, openmetrics=True)
    layout = Layout(keys, [], WANTED)
    body = ExportMetricsServiceRequest.FromString(layout.fill(numbers, NOW))
    assert points(body)["vllm:prompt_tokens_total", "sum", (("a", "b"),)].as_double == 7.0


@pytest.mark.parametrize(
    "line", ["vllm:num_requests_running", "vllm:num_requests_running x", 'vllm:num_requests_running{a="} 1']
)
def test_a_line_that_is_no_series_fails_the_page(line):
    with pytest.raises(BadPage):
        export(f"# TYPE vllm:num_requests_running gauge\n{line}\n")


@pytest.mark.parametrize(
    ("kind", "label"), [("histogram", 'le="x"'), ("histogram", 'le="NaN"'), ("summary", 'quantile="x"')]
)
def test_a_bound_that_is_no_number_fails_the_page(kind, label):
    name = "vllm:time_to_first_token_seconds"
    series = f"{name}_bucket" if kind == "histogram" else name
    with pytest.raises(BadPage, match="no bound"):
        export(f"# TYPE {name} {kind}\n{series}{{{label}}} 1\n{name}_count 1\n{name}_sum 1\n")


def test_the_system_is_that_of_most_of_its_families():
    page = captured("vllm-0.32.0/baseline/metrics_decode.prom.txt.gz")[0]
    keys, _, _ = split(page, WANTED)
    assert WANTED.system(Layout(keys, [], WANTED).families) == "vllm"
