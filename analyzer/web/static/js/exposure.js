// Where exposed time lies on the clock, for drawing. The amounts shown beside it are REST's, and `agrees`
// says whether the drawing matches them; when it doesn't, the page says so instead of drawing a guess.

import { TTFT_PHASES } from './phases.js';

const RANK = new Map(TTFT_PHASES.map((phase, i) => [phase, i]));
const TOLERANCE_S = 0.0005;

const isComposite = (interval) => (interval.covers ?? []).length > 0;

/** When each attempt began: the earliest start among its intervals. */
function dispatches(intervals) {
  const starts = new Map();
  for (const i of intervals) starts.set(i.attempt ?? 1, Math.min(i.start, starts.get(i.attempt ?? 1) ?? Infinity));
  return [...starts.entries()].sort((a, b) => a[0] - b[0]);
}

/** Phases of a superseded attempt stop counting at the next dispatch. */
function clipped(intervals) {
  const order = dispatches(intervals);
  const endOf = new Map(order.map(([attempt], k) => [attempt, order[k + 1]?.[1] ?? Infinity]));
  return intervals.map((i) => ({ ...i, end: Math.min(i.end, endOf.get(i.attempt ?? 1)) })).filter((i) => i.end > i.start);
}

function ownerOf(a, b, intervals, lastDispatch, firstDispatch) {
  const active = intervals.filter((i) => i.start <= a && i.end >= b);
  const plain = active.filter((i) => RANK.has(i.phase) && !isComposite(i));
  if (plain.length) return { part: plain.reduce((x, y) => (RANK.get(y.phase) < RANK.get(x.phase) ? y : x)).phase };
  if (a >= firstDispatch && b <= lastDispatch && lastDispatch > firstDispatch) return { part: 'retry' };
  const composite = active.find(isComposite);
  return composite ? { part: 'unattributed', covers: composite.covers, reason: composite.reason } : { part: 'unattributed' };
}

const same = (x, y) => x.part === y.part && String(x.covers) === String(y.covers);

/**
 * Cut [0, end] at all boundaries; each segment belongs to the earliest active phase of the pipeline.
 * @param intervals {phase, covers, start, end, attempt} in seconds since the request's start
 * @returns [{part, start, end, covers?, reason?}] without gaps, neighbours of one part merged
 */
export function segments(intervals, end) {
  if (!(end > 0)) return [];
  const counted = clipped(intervals);
  const order = dispatches(intervals);
  const first = Math.min(...order.map(([, t]) => t));
  const last = Math.max(...order.map(([, t]) => t));
  const inside = (t) => t > 0 && t < end;
  const cuts = [...new Set([0, end, ...counted.flatMap((i) => [i.start, i.end]).filter(inside), ...order.map(([, t]) => t).filter(inside)])]
    .sort((a, b) => a - b);
  const result = [];
  for (let k = 0; k + 1 < cuts.length; k += 1) {
    const owner = ownerOf(cuts[k], cuts[k + 1], counted, last, first);
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
