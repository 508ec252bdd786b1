// Where exposed time lies on the clock, for drawing. The amounts shown beside it are REST's, and `agrees`
// says whether the drawing matches them; when it doesn't, the page says so instead of drawing a guess.

import { TTFT_PHASES } from './phases.js';

const RANK = new Map(TTFT_PHASES.map((phase, i) => [phase, i]));
const TOLERANCE_S = 0.0005;

const isComposite = (interval) => (interval.covers ?? []).length > 0;

/** When an attempt was dispatched: when its time in the router ended, else when its first worker had it. */
function dispatched(intervals, attempt) {
  const mine = intervals.filter((i) => (i.attempt ?? 1) === attempt && RANK.has(i.phase) && !isComposite(i));
  const routed = mine.filter((i) => i.phase === 'router_queue').map((i) => i.end);
  const worked = mine.filter((i) => RANK.get(i.phase) > RANK.get('tokenize')).map((i) => i.start);
  return routed.length ? Math.max(...routed) : worked.length ? Math.min(...worked) : null;
}

/** The time lost to superseded attempts: from the first dispatch to the last. */
function retryOf(intervals, attempts) {
  const end = attempts > 1 ? dispatched(intervals, attempts) : null;
  return end === null ? null : { start: dispatched(intervals, 1) ?? 0, end };
}

/** A superseded attempt stops counting at the last dispatch. */
const clipped = (intervals, attempts, retry) => intervals
  .map((i) => (retry && (i.attempt ?? 1) < attempts ? { ...i, end: Math.min(i.end, retry.end) } : i))
  .filter((i) => i.end > i.start);

function ownerOf(a, b, intervals, retry) {
  if (retry && a >= retry.start && b <= retry.end) return { part: 'retry' };
  const active = intervals.filter((i) => i.start <= a && i.end >= b);
  const plain = active.filter((i) => RANK.has(i.phase) && !isComposite(i));
  if (plain.length) return { part: plain.reduce((x, y) => (RANK.get(y.phase) < RANK.get(x.phase) ? y : x)).phase };
  const composite = active.find(isComposite);
  return composite ? { part: 'unattributed', covers: composite.covers, reason: composite.reason } : { part: 'unattributed' };
}

const same = (x, y) => x.part === y.part && String(x.covers) === String(y.covers);

/**
 * Cut [0, end] at all boundaries; each segment belongs to the earliest active phase of the pipeline.
 * @param intervals {phase, covers, start, end, attempt} in seconds since the request's start
 * @returns [{part, start, end, covers?, reason?}] without gaps, neighbours of one part merged
 */
export function segments(intervals, end, attempts = Math.max(1, ...intervals.map((i) => i.attempt ?? 1))) {
  if (!(end > 0)) return [];
  const retry = retryOf(intervals, attempts);
  const counted = clipped(intervals, attempts, retry);
  const edges = [...counted.flatMap((i) => [i.start, i.end]), ...(retry ? [retry.start, retry.end] : [])];
  const cuts = [...new Set([0, end, ...edges.filter((t) => t > 0 && t < end)])].sort((a, b) => a - b);
  const result = [];
  for (let k = 0; k + 1 < cuts.length; k += 1) {
    const owner = ownerOf(cuts[k], cuts[k + 1], counted, retry);
    const before = result.at(-1);
    if (before && same(before, owner)) before.end = cuts[k + 1];
    else result.push({ ...owner, start: cuts[k], end: cuts[k + 1] });
  }
  return result;
}

export function totals(cut) {
  const sums = {};
  for (const s of cut) sums[s.part] = (sums[s.part] ?? 0) + (s.end - s.start);
  return sums;
}

/** Does the drawing tell the same amounts as REST's `exposed`? */
export function agrees(cut, exposed) {
  const drawn = totals(cut);
  return Object.entries(exposed ?? {}).every(([part, s]) => s === null || Math.abs(s - (drawn[part] ?? 0)) <= TOLERANCE_S);
}

/** Total length of the union of [start, end] pairs, for a phase's own duration. */
export function unionLength(intervals) {
  let length = 0;
  let reached = -Infinity;
  for (const { start, end } of [...intervals].sort((a, b) => a.start - b.start)) {
    if (end > reached) length += end - Math.max(start, reached);
    reached = Math.max(reached, end);
  }
  return length;
}
