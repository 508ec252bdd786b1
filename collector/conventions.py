"""Names of the `pd.*` telemetry convention, version 1: spans, attributes, events, values and pool signals.

Standard OpenTelemetry names are used where one exists; `pd.*` is only for what none covers.
This module imports nothing of pdscope, so that it can be loaded into other people's processes.
"""

from typing import Final

VERSION: Final = "1"

# Spans. A phase's span is named by `phase_span_name`.
REQUEST_SPAN: Final = "pd.request"
KV_RELEASE_SPAN: Final = "pd.kv_release"
PHASE_SPAN_PREFIX: Final = "pd."

# Events
FIRST_TOKEN_EVENT: Final = "first_token"
LAST_TOKEN_EVENT: Final = "last_token"
PREEMPTED_EVENT: Final = "preempted"
RESUMED_EVENT: Final = "resumed"

# Resource
SERVICE_NAME: Final = "service.name"
SERVICE_INSTANCE_ID: Final = "service.instance.id"
SERVICE_VERSION: Final = "service.version"
HOST_NAME: Final = "host.name"
PROCESS_CREATION_TIME: Final = "process.creation.time"
POOL: Final = "pd.pool"
COHORT: Final = "pd.cohort"
GPUS: Final = "pd.gpus"

POOL_ROUTER: Final = "router"
POOL_PREFILL: Final = "prefill"
POOL_DECODE: Final = "decode"
POOL_COLOCATED: Final = "colocated"
POOLS: Final = (POOL_ROUTER, POOL_PREFILL, POOL_DECODE, POOL_COLOCATED)

# What both sides of a hand-off must agree on
COMPAT_PREFIX: Final = "pd.compat."
COMPAT_MODEL_REVISION: Final = "pd.compat.model_revision"
COMPAT_TOKENIZER: Final = "pd.compat.tokenizer"
COMPAT_KV_LAYOUT: Final = "pd.compat.kv_layout"
COMPAT_KV_DTYPE: Final = "pd.compat.kv_dtype"
COMPAT_BLOCK_SIZE: Final = "pd.compat.block_size"
COMPAT_TP: Final = "pd.compat.tp"
COMPAT_PP: Final = "pd.compat.pp"
COMPAT_CONNECTOR: Final = "pd.compat.connector"
COMPAT_CONNECTOR_VERSION: Final = "pd.compat.connector_version"
COMPAT_ATTRIBUTES: Final = (
    COMPAT_MODEL_REVISION,
    COMPAT_TOKENIZER,
    COMPAT_KV_LAYOUT,
    COMPAT_KV_DTYPE,
    COMPAT_BLOCK_SIZE,
    COMPAT_TP,
    COMPAT_PP,
    COMPAT_CONNECTOR,
    COMPAT_CONNECTOR_VERSION,
)

# The request span
REQUEST_ID: Final = "pd.request.id"
ANSWER_ID: Final = "pd.answer.id"
MODEL: Final = "gen_ai.request.model"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
CACHED_TOKENS: Final = "pd.cached_tokens"
OUTPUT_TOKENS_BY: Final = "pd.output_tokens_by"
TENANT: Final = "pd.tenant"
ROUTE: Final = "pd.route"
OUTCOME: Final = "pd.outcome"
STREAM_STALLED_MS: Final = "pd.stream.stalled_ms"
FIRST_TOKEN_BY: Final = "pd.first_token_by"
FINISH_REASON: Final = "pd.finish_reason"
HTTP_STATUS: Final = "http.response.status_code"
ERROR_TYPE: Final = "error.type"
DEADLINE_UNIX_NANO: Final = "pd.deadline_unix_nano"
ITL_P50_MS: Final = "pd.itl.p50_ms"
ITL_P99_MS: Final = "pd.itl.p99_ms"
ITL_MAX_MS: Final = "pd.itl.max_ms"
ROUTE_CANDIDATES: Final = "pd.route.candidates"
ROUTE_REJECTED: Final = "pd.route.rejected"
ROUTE_REASON: Final = "pd.route.reason"
ROUTE_FALLBACK: Final = "pd.route.fallback"

OUTCOME_OK: Final = "ok"
OUTCOME_CANCELLED: Final = "cancelled"
OUTCOME_INTERRUPTED: Final = "interrupted"
OUTCOME_REJECTED: Final = "rejected"
OUTCOME_INVALID: Final = "invalid"
OUTCOME_TIMEOUT: Final = "timeout"
OUTCOME_ERROR: Final = "error"
OUTCOMES: Final = (
    OUTCOME_OK,
    OUTCOME_CANCELLED,
    OUTCOME_INTERRUPTED,
    OUTCOME_REJECTED,
    OUTCOME_INVALID,
    OUTCOME_TIMEOUT,
    OUTCOME_ERROR,
)

# `pd.output_tokens_by`: the server said so, or content chunks were counted, which are not tokens
COUNTED_BY_USAGE: Final = "usage"
COUNTED_BY_CHUNKS: Final = "chunks"
COUNTED_BY_ROUTER: Final = "router"
COUNTED_BY_ENGINE: Final = "engine"

# Phase spans
PHASE: Final = "pd.phase"
ATTEMPT: Final = "pd.attempt"
RANK: Final = "pd.rank"
RANKS: Final = "pd.ranks"
RANKS_EXPECTED: Final = "pd.ranks_expected"
ROUTER_QUEUE_ADMISSION_MS: Final = "pd.router_queue.admission_ms"
ROUTER_QUEUE_TOKENIZE_MS: Final = "pd.router_queue.tokenize_ms"
LOCAL_PROMPT_TOKENS: Final = "pd.local_prompt_tokens"
LOCAL_PROMPT_REASON: Final = "pd.local_prompt_reason"

# The hand-off
KV_TRANSFER_ID: Final = "pd.kv.transfer_id"
KV_BYTES: Final = "pd.kv.bytes"
KV_TOKENS: Final = "pd.kv.tokens"
KV_TOKENS_ALREADY_HELD: Final = "pd.kv.tokens_already_held"
KV_DESCRIPTORS: Final = "pd.kv.descriptors"
KV_CONNECTOR: Final = "pd.kv.connector"
KV_TRANSPORT: Final = "pd.kv.transport"
KV_SOURCE: Final = "pd.kv.source"
KV_DESTINATION: Final = "pd.kv.destination"
KV_POST_MS: Final = "pd.kv.post_ms"
KV_WAIT_MS: Final = "pd.kv.wait_ms"
KV_LEASE_EXPIRES_UNIX_NANO: Final = "pd.kv.lease_expires_unix_nano"
KV_STATUS: Final = "pd.kv.status"
KV_LINK_GB_S: Final = "pd.kv.link_gb_s"
KV_REASON: Final = "pd.kv.reason"

KV_OK: Final = "ok"
KV_FAILED: Final = "failed"
KV_EXPIRED: Final = "expired"
KV_PARTIAL: Final = "partial"
KV_SKIPPED: Final = "skipped"
KV_STATUSES: Final = (KV_OK, KV_FAILED, KV_EXPIRED, KV_PARTIAL, KV_SKIPPED)

RELEASED_IMPORTED: Final = "imported"
RELEASED_CANCELLED: Final = "cancelled"
RELEASED_EXPIRED: Final = "expired"
RELEASED_ABORTED: Final = "aborted"
RELEASED_WORKER_LOST: Final = "worker_lost"
RELEASE_REASONS: Final = (
    RELEASED_IMPORTED,
    RELEASED_CANCELLED,
    RELEASED_EXPIRED,
    RELEASED_ABORTED,
    RELEASED_WORKER_LOST,
)

# Metrics exported by whoever sees requests start: a request that still runs has no span yet
REQUESTS_IN_FLIGHT: Final = "pd.requests.in_flight"
REQUESTS_OLDEST_AGE: Final = "pd.requests.oldest_age"

# Pool signals: what adapters map the engines' own metrics to (seconds, bytes, tokens, fractions 0-1)
POOL_SIGNALS: Final = (
    "queue_depth",
    "running",
    "kv_used_fraction",
    "kv_pinned_tokens",
    "preemptions_total",
    "kv_expired_total",
    "transfer_failures_total",
    "transfer_bytes_total",
    "transfer_seconds_sum",
    "transfer_seconds_count",
    "prompt_tokens_total",
    "generation_tokens_total",
    "requests_in_flight",
    "oldest_request_age",
    "gpu_busy_fraction",
    "gpu_memory_used_fraction",
    "nic_bytes_total",
    "cpu_busy_cores",
    "up",
    "pod_ready",
)

# What must never reach the store or a log; a dot at the end stands for every name below it.
TEXT_ATTRIBUTES: Final = (
    "gen_ai.prompt",
    "gen_ai.prompt.",
    "gen_ai.completion",
    "gen_ai.completion.",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.tool.definitions",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "gen_ai.tool.message",
    "gen_ai.system.message",
    "gen_ai.user.message",
    "gen_ai.assistant.message",
    "gen_ai.choice",
    "gen_ai.retrieval.query.text",
    "gen_ai.retrieval.documents",
    "gen_ai.request.stop_sequences",
    "gen_ai.evaluation.explanation",
    "llm.prompts",
    "llm.prompts.",
    "llm.completions",
    "llm.completions.",
    "llm.input_messages",
    "llm.input_messages.",
    "llm.output_messages",
    "llm.output_messages.",
    "llm.prompt_template.",
    "input.value",
    "output.value",
    "traceloop.entity.input",
    "traceloop.entity.output",
    "http.request.body",
    "http.request.body.content",
    "http.response.body",
    "http.response.body.content",
)
"""Attributes (and events of the same names) that hold prompt or completion text."""

IDENTITY_ATTRIBUTES: Final = (
    "client.address",
    "client.port",
    "client.socket.address",
    "http.client_ip",
    "http.user_agent",
    "net.peer.ip",
    "net.sock.peer.addr",
    "network.peer.address",
    "source.address",
    "user_agent.original",
    "user.",
    "enduser.",
    "gen_ai.request.user",
    "llm.user",
    "http.request.header.authorization",
    "http.request.header.cookie",
    "http.request.header.forwarded",
    "http.request.header.x-api-key",
    "http.request.header.x-forwarded-for",
    "http.request.header.x-real-ip",
    "http.response.header.set-cookie",
)
"""Attributes that identify an end user or carry their credentials."""

SENSITIVE_ATTRIBUTES: Final = TEXT_ATTRIBUTES + IDENTITY_ATTRIBUTES

_SENSITIVE_NAMES: Final = frozenset(name for name in SENSITIVE_ATTRIBUTES if not name.endswith("."))
_SENSITIVE_PREFIXES: Final = tuple(name for name in SENSITIVE_ATTRIBUTES if name.endswith("."))


def phase_span_name(phase: str) -> str:
    """Name of a phase's span: `pd.<phase>`."""
    return PHASE_SPAN_PREFIX + phase


def is_sensitive(name: str) -> bool:
    """Whether an attribute or event of this name may hold prompt text or identify an end user."""
    return name in _SENSITIVE_NAMES or name.startswith(_SENSITIVE_PREFIXES)
