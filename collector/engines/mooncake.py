"""Mooncake's store: metrics only. It has no tracing, and no metric names a request.

Read off a live master 0.3.13 and its source. As a transport under SGLang its sends are SGLang's spans.
"""

from collector.engines.rules import Adapter
from collector.engines.signals import SignalRule, UnmappedMetric

_SIGNALS = (
    SignalRule(
        "master_put_start_alloc_failures_total",
        "transfer_failures_total",
        part="store_full",
        note="the store had no room for KV that was to be put",
    ),
    SignalRule(
        "master_put_start_discard_cnt_total",
        "kv_expired_total",
        part="put_never_ended",
        note="puts begun and not ended in time: their room was taken back",
    ),
    SignalRule("master_put_start_requests_total", "requests_total", part="put", moves=True),
    SignalRule("master_get_replica_list_failures_total", "failed_requests_total", part="get"),
)

_UNMAPPED = (
    UnmappedMetric(
        "master_allocated_bytes", "of the store, not of an engine's KV; compare with its capacity"
    ),
    UnmappedMetric("master_total_capacity_bytes", "of the store, not of an engine's KV"),
    UnmappedMetric("master_evicted_key_count", "keys, not requests"),
    UnmappedMetric("mooncake_transfer_read_bytes", "a client's counter, off unless its HTTP server is on"),
    UnmappedMetric("mooncake_transfer_get_latency", "a latency; read as a histogram"),
)

ADAPTER = Adapter(
    name="mooncake",
    title="Mooncake store",
    rules=(),
    # default_kv_lease_ttl
    kv_lease_s=10.0,
    switch_on="scrape the master at :9003/metrics; clients with enable_client_http_server",
    checked_against="a live master 0.3.13 with a TCP store",
    known_lies=(
        "no request id in any label: pressure on the store cannot be laid to one request",
        "the classic transfer engine has no Prometheus endpoint, only MC_TE_METRIC in its log",
    ),
    signals=_SIGNALS,
    unmapped=_UNMAPPED,
)
