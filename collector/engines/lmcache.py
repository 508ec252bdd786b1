"""LMCache's multi-process server: a trace of its own, tied to the engine's request by the session id.

Read off LMCache 0.5.6's source. Its prefill/decode backend (nixl sender and receiver) only logs.
"""

from collector.engines.rules import Adapter, Composite, IdForm, Interval, Kv, KvEvent, Source, SpanRule
from collector.engines.signals import UnmappedMetric
from collector.phases import Phase

_SESSION = "session_id"
_PART = "part of the span above it"


def _span(
    span: str, *intervals: Interval | Composite, kv: tuple[Kv, ...] = (), ignored: str = ""
) -> SpanRule:
    return SpanRule(
        span=span,
        when=(((_SESSION, "*"),),),
        # The session is the engine's own id of the request, suffix and all.
        ids=(_SESSION,),
        id_form=IdForm.ENGINE,
        intervals=intervals,
        kv=kv,
        ignored=ignored,
    )


# A store may hold the first chunks alone, a retrieve what another request stored: neither waits for this
# one's prefill.
_PARTLY = Source.DERIVED

_CONNECTOR = (("connector", "=lmcache"),)

_RULES = (
    _span("request", ignored="holds the server's spans of one session; no phase of its own"),
    _span(
        "mp.lookup_prefetch",
        Composite(
            (Phase.PREFILL_QUEUE, Phase.DECODE_QUEUE),
            "LMCache looks up and prefetches while the engine has the request waiting",
        ),
    ),
    _span(
        "mp.retrieve", Interval(Phase.KV_IMPORT, source=_PARTLY), kv=(Kv(KvEvent.IMPORT, text=_CONNECTOR),)
    ),
    _span("mp.store", Interval(Phase.KV_PUBLISH, source=_PARTLY), kv=(Kv(KvEvent.PUBLISH, text=_CONNECTOR),)),
    SpanRule(prefix="mp.store.", ignored=_PART),
    SpanRule(prefix="mp.retrieve.", ignored=_PART),
    SpanRule(prefix="transfer.", ignored="laid back to back from elapsed times: their instants are not real"),
    SpanRule(prefix="cb.", ignored="CacheBlend's own stages; the phases are in mp.*"),
    SpanRule(scope="lmcache_mp.server", kind=1, ignored="the server's own book-keeping (timeout)"),
)

ADAPTER = Adapter(
    name="lmcache",
    title="LMCache (MP server)",
    rules=_RULES,
    # A pinned object is unpinned by force after pin_timeout_sec.
    kv_lease_s=300.0,
    switch_on="lmcache server … --enable-tracing --otlp-endpoint http://HOST:4317",
    checked_against="source of LMCache 0.5.6, spans built in its shape",
    known_lies=(
        "no traceparent is taken over: its trace is joined by session id alone",
        "transfer.kernel_interval and transfer.staging are laid back to back, not where they happened",
        "pd_allocation_timeout_sec is infinite by default: a hand-off may wait for ever, and only "
        "the log says so",
    ),
    unmapped=(
        UnmappedMetric("lmcache:time_to_retrieve", "a latency; read as a histogram"),
        UnmappedMetric("lmcache:time_to_store", "a latency; read as a histogram"),
        UnmappedMetric("lmcache:forced_unpin_count", "objects, not requests"),
        UnmappedMetric("lmcache_mp.timeouts", "locks of the server's store, not requests"),
    ),
)
