"""The prose of docs/verdicts.md; its tables come from the rules."""

INTRODUCTION = """\
# How a verdict is made

<!-- Made from the rules in analyzer/verdict/ by `make docs`; edit there. -->

For every request that missed its TTFT or TPOT objective pdscope names the causes, with shares that add up
to 1; for a window, the cause with the largest share. It says what it saw, how sure it is, whether the
request would have met without that cause, and what to do; or it abstains (`insufficient_evidence`) and
names what is missing. How often it is right is measured: [accuracy](accuracy.md).

1. **Clocks.** Within five minutes, per deployment, each process's clock is bounded by causality: dispatch
   before prefill has the request, a prompt computed before its KV is offered, KV offered before it is used,
   a token sampled before it is sent. Bounded on both sides and off: corrected by the middle. On one side
   only: shifted no further than the bound proves. Bounds that exclude each other are the finding
   `clock_skew`, and nothing is shifted.
2. **Exposed time.** TTFT is cut into phases that add up to it to the nanosecond; what no span covers is
   `unattributed`.
3. **Excess.** Exposed time beyond what is normal for this request. Waiting is never normal.
4. **Rules.** Each part's excess goes to the rules of that part, in a fixed order; a rule claims a fraction
   of what is left, judged by what the pools, the cache and the links were doing at that time. What no rule
   claims of a wait, a transfer or a gap is `insufficient_evidence`.
5. **Shares.** TTFT's and TPOT's causes are weighed by how far each objective was missed. A share below a
   tenth is left out.
6. **Counterfactual.** The timeline is laid again without what the cause claimed. Lanes that run side by
   side (prompt, room on decode) end with the later one, unless decode makes room once the prompt's KV is
   there: then both follow each other. Room that waiting prompts held is free again, and so is what hand-offs
   under way held on either side. A backlog in front moves on: prompts that reach prefill sooner queue there,
   prompts that leave it sooner share decode's steps and a path that is full. A request that never left a
   queue still has ahead of it what others had after it.
7. **Window.** The largest share; `none` when the target share of requests met.

"""

BASELINES = """\
## What is normal

Fitted by {estimator} (breakdown point {breakdown:g}: up to half of the requests may be anything), never
with a negative coefficient, from requests that met both objectives at the first attempt; with fewer than
{enough} of those, from all, and said so.

| what | grows with |
|---|---|
| prefill | uncached tokens; uncached × total tokens |
| transfer | bytes that decode does not hold yet |
| decode step | batch; batch × context |

Where too few transfers are healthy a supplied rate stands in: {line_use} of the line a span states, else
what such a path does at least ({rates}), with a handshake of {handshake_ms:g} ms. First uses of a pair, and
of a worker that just started, are `cold_start` and judged against later ones. A cost that has changed
within the window is the finding `baseline_drift`.

A decode worker is full when its cache is used to {full}, or it runs {cap} of the most it ever ran while
others wait; and, whatever gauges say, when waits for it end as streams there end, more often than chance
would have it. Room that hand-offs on a slow or full path hold is that path's. Whether a pool *would be* full
is asked too: a pool in front that holds requests back hides what the one behind it lacks. Prefill that is
short while decode has room, and would have had it with prefill keeping up, is `prefill_starved`; otherwise
both are short: `overload`.

"""

CONFIDENCE = """\
## Confidence

The rule's own figure (below), × {derived:g} for causes about pools where no cache gauge tells and the state
had to be rebuilt from timelines, × {unseen:g} for a starved decode pool where waits for prefill are not
traced, × 0.55 to 1 by how far the cause stands out from the next one, × 0.85 to 1 with fewer than ten
misses. That it means what it says is measured: see the calibration in
[accuracy](accuracy.md#calibration).

"""

ABSTENTION = """\
Time that no rule claims: a wait whose pool cannot be told, a transfer slower than its size explains without
bytes, descriptors or path to say why, a gap that no span covers or that two clocks may only seem to leave, a
queue for prefill of prompts that something untraced in front of it held back and let go at once, or most of a
miss of which causes explain next to nothing.
Where a missing signal would decide between two causes neither is said: a slow link or many small blocks
without the time of posting, a slow way out or a reader that stalls where nobody tells of readers, room on
decode whose KV may be offered or whose prompt may wait where neither is traced, KV that nobody read where not
all of decode is traced. [What is missing](#what-may-be-missing) is listed with the answer.

Nothing is missing where the objective leaves no room for chance: waits no longer than is ordinary in pools
with room, beside a hand-over that usually takes less of the objective than its bytes do, or next to nothing.
The share of such a miss that is these waits' is nobody's; the evidence quotes them.

Nor is anything missing where a worker stood still: for a second or more nothing ended there although at least
three requests were there, while a step in course, or all streams, lost just that time and were else as usual,
or what came one by one was taken at once as it ended. What it did meanwhile no telemetry of requests tells;
the answer, and `no_progress_while_healthy`, say which worker, for how long.

"""

FINDINGS = """\
## Findings

Facts beside the causes; each holds only with evidence.

"""

MISSING = """
## What may be missing

Listed under `missing_telemetry` when it would decide misses that are not explained, or make an explanation
surer.

"""
