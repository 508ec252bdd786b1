"""What surrounds the engines: DCGM, node exporter, kube-state-metrics, process metrics, web servers.

These name the machine or the pod that they watch; it is the worker when it carries the same name.
"""

from collector.engines.rules import Adapter
from collector.engines.signals import SignalRule, UnmappedMetric

# A scrape adds pd.worker where it knows whose pod it is.
_POD = ("pd.worker", "exported_pod", "pod")
_MIB = 1048576.0

_DCGM = (
    SignalRule(
        "DCGM_FI_DEV_GPU_UTIL",
        "gpu_busy_fraction",
        0.01,
        part_label="gpu",
        worker_labels=_POD,
        note="per cent of time with any kernel, not of the GPU's capacity",
    ),
    SignalRule(
        "DCGM_FI_DEV_FB_USED_PERCENT",
        "gpu_memory_used_fraction",
        part_label="gpu",
        worker_labels=_POD,
        note="a fraction 0-1 whatever its name says",
    ),
    SignalRule(
        "DCGM_FI_DEV_FB_USED", "gpu_memory_used_bytes", _MIB, part_label="gpu", worker_labels=_POD, note="MiB"
    ),
    SignalRule(
        "DCGM_FI_DEV_FB_FREE", "gpu_memory_free_bytes", _MIB, part_label="gpu", worker_labels=_POD, note="MiB"
    ),
    SignalRule("gpu_memory_used_ratio", "gpu_memory_used_fraction", part_label="gpu", rank=2),
)

_NODE = (
    SignalRule("node_network_transmit_bytes_total", "nic_bytes_total", part="transmit", part_label="device"),
    SignalRule("node_network_receive_bytes_total", "nic_bytes_total", part="receive", part_label="device"),
    SignalRule(
        "node_infiniband_port_data_transmitted_bytes_total",
        "nic_bytes_total",
        part="transmit",
        part_label="device",
        note="bytes; the port's own counter is in words of four",
    ),
    SignalRule(
        "node_infiniband_port_data_received_bytes_total",
        "nic_bytes_total",
        part="receive",
        part_label="device",
    ),
    SignalRule(
        "node_cpu_seconds_total",
        "cpu_busy_cores",
        as_rate=True,
        where=(("mode", "!idle"), ("mode", "!iowait"), ("mode", "!steal")),
    ),
)

_PROCESS = (
    SignalRule("process_cpu_seconds_total", "cpu_busy_cores", as_rate=True, part="process"),
    SignalRule("process_cpu_cores_used", "cpu_busy_cores", part_label="process"),
    SignalRule("process_start_time_seconds", "process_start_time", note="Unix seconds"),
)

_KUBERNETES = (
    SignalRule("up", "up", worker_labels=_POD),
    SignalRule("kube_pod_status_ready", "pod_ready", where=(("condition", "true"),), worker_labels=_POD),
    SignalRule("kube_pod_container_status_restarts_total", "pod_restarts_total", worker_labels=_POD),
)


_WEB = (
    SignalRule("requests_total", "requests_total", part_label="source", pool="router"),
    SignalRule("http_requests_total", "failed_requests_total", where=(("code", "5*"),)),
    SignalRule("http_requests_total", "failed_requests_total", where=(("status", "5*"),)),
    SignalRule("aborts_total", "aborted_requests_total"),
    SignalRule("prefix_cache_hit_ratio", "prefix_hit_fraction"),
)

ADAPTER = Adapter(
    name="infrastructure",
    title="DCGM, node exporter, kube-state-metrics, web servers",
    rules=(),
    switch_on="a scrape job for each exporter (`pdscope serve --scrape FILE`)",
    checked_against="the exporters' documentation",
    known_lies=("DCGM_FI_DEV_GPU_UTIL is 100 while a single small kernel spins",),
    signals=(*_DCGM, *_NODE, *_PROCESS, *_KUBERNETES, *_WEB),
    unmapped=(
        UnmappedMetric("health_status", "the HTTP status of a probe (200 is well), no number to scale"),
        UnmappedMetric(
            "gateway_first_byte_written_seconds_p50",
            "a quantile the exporter formed: it can't be added up or cut by window",
        ),
    ),
)
