// A request's intervals as the waterfall draws them: seconds since its start, grouped by worker and phase.

import { dateOf, secondsSince } from './format.js';
import { agrees, segments, unionLength } from './exposure.js';
import { TTFT_PHASES } from './phases.js';

const ORDER = new Map([...TTFT_PHASES, 'decode'].map((phase, i) => [phase, i]));
const NOT_SAID = 'worker not named';

const covers = (interval) => interval.covers ?? [];
export const isComposite = (interval) => covers(interval).length > 0;

function relative(interval, startedAt) {
  return {
    ...interval,
    covers: covers(interval),
    attempt: interval.attempt ?? 1,
    worker: interval.worker || NOT_SAID,
    start: secondsSince(startedAt, interval.start),
    end: secondsSince(startedAt, interval.end),
  };
}

const rowName = (i) => (isComposite(i) ? `within ${i.covers.join(', ')}` : i.phase);
const rank = (i) => (isComposite(i) ? Math.min(...i.covers.map((c) => ORDER.get(c) ?? 99)) : ORDER.get(i.phase) ?? 99);

/** One row per phase (or composite) and attempt within a lane, in pipeline order. */
function rowsOf(intervals, attempts) {
  const rows = new Map();
  for (const interval of intervals) {
    const key = `${interval.attempt} ${rowName(interval)}`;
    if (!rows.has(key)) rows.set(key, { name: rowName(interval), phase: interval.phase, covers: interval.covers, attempt: attempts > 1 ? interval.attempt : null, rank: rank(interval), intervals: [] });
    rows.get(key).intervals.push(interval);
  }
  return [...rows.values()].sort((a, b) => (a.attempt ?? 0) - (b.attempt ?? 0) || a.rank - b.rank);
}

function lanesOf(intervals, request) {
  const lanes = new Map();
  for (const interval of intervals) lanes.set(interval.worker, [...(lanes.get(interval.worker) ?? []), interval]);
  const role = (worker) => (worker === request.prefill_worker ? 'prefill' : worker === request.decode_worker ? 'decode' : null);
  return [...lanes.entries()]
    .map(([worker, mine]) => ({ worker, role: role(worker), first: Math.min(...mine.map((i) => i.start)), rows: rowsOf(mine, request.attempts ?? 1) }))
    .sort((a, b) => a.first - b.first);
}

const sum = (values) => values.reduce((a, b) => a + b, 0);

/**
 * @returns {intervals, lanes, cut, agrees, firstToken, lastToken, end}: times in seconds since the start;
 *          firstToken is null when none was seen, `cut` reaches to it or to the censored age
 */
export function timelineOf(request) {
  const intervals = (request.intervals ?? []).map((i) => relative(i, request.started_at));
  const firstToken = request.ttft === null || request.censored ? null : request.ttft;
  const decode = Object.values(request.exposed_decode ?? {});
  const lastToken = firstToken !== null && decode.length && decode.every((s) => s !== null) ? firstToken + sum(decode) : null;
  const cut = request.ttft === null ? [] : segments(intervals, request.ttft, request.attempts ?? undefined);
  const end = Math.max(request.e2e ?? 0, request.ttft ?? 0, lastToken ?? 0, ...intervals.map((i) => i.end), 1e-9);
  return { intervals, lanes: lanesOf(intervals, request), cut, agrees: agrees(cut, request.exposed), firstToken, lastToken, end };
}

/** What a phase took by itself, whoever waited for it: the union of its intervals; null when none was seen. */
export function ownDuration(request, intervals, phase) {
  const mine = intervals.filter((i) => i.phase === phase && !isComposite(i));
  return mine.length ? request.phases?.[phase] ?? unionLength(mine) : null;
}

export const sourcesOf = (intervals, phase) => [...new Set(intervals.filter((i) => i.phase === phase && !isComposite(i)).map((i) => i.source).filter(Boolean))];

export const startOf = (request) => dateOf(request.started_at);
