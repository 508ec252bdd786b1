"""The scenarios: a deployment that is well, what breaks in it, and the cause a verdict should name."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from analyzer.demo.scenarios.deployment import Take, play
from analyzer.demo.scenarios.setup import Cache, Decode, Link, Mode, Prefill, Setup, Traffic
from analyzer.verdict.vocabulary import Cause

ONSET_S = 20.0
SECONDS = 60.0


@dataclass(frozen=True)
class Scenario:
    """What breaks at the onset is the difference between `before` and `after`, and nothing else.

    Where they are alike nothing breaks: it was built so.
    """

    name: str
    cause: Cause
    story: str
    before: Setup
    after: Setup
    ttft: float = 0.8
    tpot: float = 0.04
    seconds: float = SECONDS
    """How long traffic comes."""

    @property
    def steady(self) -> bool:
        """Whether it is the same from start to end, as a plan needs it."""
        return self.before == self.after

    def play(self, seed: int) -> Take:
        """Play it; the same seed gives the same take."""
        return play(self.before, self.after, ONSET_S, self.seconds, seed)


def _change(setup: Setup, changes: Mapping[str, Mapping[str, Any]]) -> Setup:
    groups = {name: replace(getattr(setup, name), **values) for name, values in changes.items()}
    return replace(setup, **groups)


WELL = Setup()
TIGHT = _change(WELL, {"prefill": {"kv_tokens": 14_000}})
COLOCATED = Setup(Mode.COLOCATED, traffic=Traffic(rate=4.0), decode=Decode(kv_tokens=200_000, chunk=512))
RESERVED = Setup(Mode.RESERVED, decode=Decode(slots=10))
LOPSIDED = _change(WELL, {"traffic": {"rate": 7.0}, "prefill": {"workers": 1}, "decode": {"workers": 3}})
LARGE_KV = _change(WELL, {"cache": {"bytes_per_token": 327_680}})


def _scenario(
    name: str,
    cause: Cause,
    story: str,
    before: Setup = WELL,
    *,
    ttft: float = 0.8,
    tpot: float = 0.04,
    restarts: tuple[str, ...] = (),
    **changes: Mapping[str, Any],
) -> Scenario:
    after = replace(_change(before, changes), restarts=frozenset(restarts))
    return Scenario(name, cause, story, before, after, ttft, tpot)


_ALL = (
    _scenario("healthy", Cause.NONE, "Nothing breaks."),
    _scenario(
        "prefill-starved",
        Cause.PREFILL_STARVED,
        "One of two prefill workers is taken away; decode idles.",
        _change(WELL, {"traffic": {"rate": 11.0}}),
        prefill={"workers": 1},
    ),
    _scenario(
        "decode-starved",
        Cause.DECODE_STARVED,
        "One of two decode workers is taken away, with its slots.",
        _change(WELL, {"decode": {"slots": 5}}),
        decode={"workers": 1, "slots": 4},
    ),
    _scenario(
        "hot-worker",
        Cause.INTRA_POOL_SKEW,
        "The router sends most requests to one of three prefill workers.",
        _change(WELL, {"prefill": {"workers": 3}, "traffic": {"rate": 11.0}}),
        prefill={"workers": 3, "hot_share": 0.9},
    ),
    _scenario(
        "overload",
        Cause.OVERLOAD,
        "Traffic grows beyond what either pool can do.",
        _change(WELL, {"decode": {"slots": 6}}),
        traffic={"rate": 22.0},
    ),
    _scenario(
        "long-prompts",
        Cause.PREFILL_BOUND,
        "Some prompts take longer to compute than the objective allows.",
        Setup(
            traffic=Traffic(rate=3.0),
            prefill=Prefill(workers=4, kv_tokens=120_000),
            decode=Decode(kv_tokens=200_000),
        ),
        traffic={"rate": 3.0, "long_share": 0.1, "long_factor": 10.0},
    ),
    _scenario(
        "slow-steps",
        Cause.DECODE_BOUND,
        "A decode step takes longer than the objective for a token.",
        decode={"base_s": 0.045},
    ),
    _scenario(
        "slow-link",
        Cause.SLOW_LINK,
        "Every hand-off runs at a fraction of the line rate.",
        link={"flow_gb_s": 0.14},
    ),
    _scenario(
        "link-contention",
        Cause.LINK_CONTENTION,
        "The prefill workers come to share one uplink that is full.",
        Setup(
            traffic=Traffic(rate=9.0),
            prefill=Prefill(workers=4),
            cache=Cache(bytes_per_token=327_680),
            link=Link(line_gb_s=3.0, flow_gb_s=3.0),
            decode=Decode(kv_tokens=120_000, slots=48),
        ),
        link={"shared": True},
    ),
    _scenario(
        "small-blocks",
        Cause.MANY_SMALL_BLOCKS,
        "KV is cut into so many pieces that posting them takes longest.",
        link={"descriptors_per_token": 128.0, "descriptor_s": 8e-6},
    ),
    _scenario(
        "tcp-fallback",
        Cause.TCP_FALLBACK,
        "The transport comes up as TCP although the path is an RDMA one.",
        LARGE_KV,
        link={"transport": "tcp", "flow_gb_s": 0.35, "latency_s": 0.002},
    ),
    _scenario(
        "redundant-prefix",
        Cause.REDUNDANT_PREFIX,
        "Follow-up turns send the history that decode still holds.",
        Setup(
            traffic=Traffic(rate=2.5, prompt=4000.0, prompt_sigma=0.15, held_share=0.9, held_fraction=0.9),
            prefill=Prefill(workers=4, kv_tokens=120_000),
            cache=Cache(bytes_per_token=327_680),
            link=Link(line_gb_s=1.6, flow_gb_s=1.6),
            decode=Decode(kv_tokens=300_000),
        ),
        link={"resends_held": True},
        ttft=1.2,
    ),
    _scenario(
        "stale-peer",
        Cause.STALE_PEER,
        "A decode process is replaced; one prefill worker keeps its old address.",
        _change(WELL, {"prefill": {"workers": 3}, "link": {"on_failure": "error"}}),
        restarts=("decode",),
        link={"stale_peers": True},
    ),
    _scenario(
        "expired-lease",
        Cause.EXPIRED_BEFORE_READ,
        "The lease becomes shorter than many hand-offs.",
        Setup(
            cache=Cache(bytes_per_token=327_680),
            link=Link(line_gb_s=3.0, flow_gb_s=1.5),
            decode=Decode(local_token_s=4e-4),
        ),
        cache={"lease_s": 0.2, "renewed": False},
    ),
    _scenario(
        "unclaimed-kv",
        Cause.UNCLAIMED,
        "Clients leave between the pools; prefill keeps their KV to the lease's end.",
        TIGHT,
        cache={"abandoned_share": 0.3, "lease_s": 20.0},
    ),
    _scenario(
        "leaked-kv",
        Cause.LEAKED,
        "As unclaimed-kv, and not even the end of the lease gives the KV back.",
        _change(TIGHT, {"cache": {"lease_s": 6.0}}),
        cache={"abandoned_share": 0.2, "leaks": True},
    ),
    _scenario(
        "reserved-never-filled",
        Cause.RESERVED_NEVER_FILLED,
        "Clients leave after decode made room; decode keeps waiting for KV that will not come.",
        RESERVED,
        cache={"reservation_abandoned_share": 0.2, "reservation_s": 25.0},
    ),
    _scenario(
        "failed-loads",
        Cause.DECODE_RECOMPUTE,
        "Hand-offs fail; decode computes those prompts in everybody's steps.",
        _change(WELL, {"decode": {"local_token_s": 4e-4}}),
        link={"failure_share": 0.25},
        tpot=0.03,
    ),
    _scenario(
        "prefill-in-step",
        Cause.PREFILL_IN_STEP,
        "Long prompts are computed in the steps of running streams.",
        COLOCATED,
        traffic={"long_share": 0.3, "long_factor": 8.0},
        ttft=8.0,
        tpot=0.035,
    ),
    _scenario(
        "preemption",
        Cause.PREEMPTION,
        "Decode runs out of KV under long answers and sets streams aside.",
        Setup(
            traffic=Traffic(rate=3.0, prompt=300.0, output=300.0),
            decode=Decode(kv_tokens=12_000, reserves_output=False),
        ),
        decode={"kv_tokens": 2_900},
        ttft=20.0,
        tpot=0.02,
    ),
    _scenario(
        "router-queue",
        Cause.ROUTER_QUEUE,
        "The router's one event loop takes as long per request as they come.",
        router={"service_s": 0.18},
    ),
    _scenario(
        "slow-tokenizer",
        Cause.TOKENIZER_SLOW,
        "Tokenising takes longer than prefill.",
        router={"tokenize_token_s": 9e-4},
    ),
    _scenario(
        "slow-writer",
        Cause.BACKPRESSURE,
        "The core that writes tokens out cannot keep up.",
        router={"write_token_s": 0.0033},
    ),
    _scenario(
        "slow-readers",
        Cause.CLIENT_STALL,
        "Some clients do not read their tokens in time.",
        traffic={"stall_share": 0.25, "stall_s": 4.0},
    ),
    _scenario(
        "cold-start",
        Cause.COLD_START,
        "The prefill workers are restarted; each one's first prompt takes seconds.",
        restarts=("prefill",),
        prefill={"warm_up_s": 5.0},
    ),
    _scenario(
        "cancelled-work",
        Cause.CANCELLED,
        "Prefill goes on computing long prompts whose clients have left.",
        Setup(
            traffic=Traffic(rate=6.0, leave_share=0.45, leave_factor=4.0, leave_after_s=0.04),
            prefill=Prefill(kv_tokens=150_000),
        ),
        prefill={"honours_aborts": False},
    ),
    _scenario(
        "retry-storm",
        Cause.RETRY_AMPLIFICATION,
        "The router gives up on attempts too early and dispatches them again.",
        Setup(traffic=Traffic(rate=8.0), prefill=Prefill(kv_tokens=150_000)),
        router={"attempt_timeout_s": 0.13, "attempts": 3},
        prefill={"honours_aborts": False},
    ),
    _scenario(
        "version-mismatch",
        Cause.VERSION_MISMATCH,
        "One decode worker is upgraded to another KV layout.",
        _change(WELL, {"link": {"on_failure": "error"}}),
        restarts=("decode",),
        decode={"layout": "NHD"},
    ),
    _scenario(
        "slow-handover",
        Cause.HANDOVER_OVERHEAD,
        "The router takes long between prefill's answer and decode's call.",
        router={"handover_s": 0.9},
    ),
    Scenario(
        "wrong-ratio",
        Cause.PREFILL_STARVED,
        "One prefill worker feeds three for decode: the Plan tab says which ratio would do.",
        LOPSIDED,
        LOPSIDED,
        tpot=0.018,
        seconds=240.0,
    ),
)
SCENARIOS: Mapping[str, Scenario] = {scenario.name: scenario for scenario in _ALL}
