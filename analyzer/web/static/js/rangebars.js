// Percentiles per group as a range from p50 to p99 on one scale, with the objective as a line across it.

import { h, svg, table } from './dom.js';
import { count, duration, durationText, roundText } from './format.js';

const QUANTILES = ['p50', 'p90', 'p95', 'p99'];

function rangeBar(row, scale, objective) {
  const x = (s) => `${(100 * Math.min(s, scale)) / scale}%`;
  const known = QUANTILES.filter((q) => row[q] !== null && row[q] !== undefined);
  const words = known.map((q) => `${q} ${durationText(row[q])}`).join(', ');
  return svg('svg', { class: 'range', role: 'img', 'aria-label': words || 'no value', preserveAspectRatio: 'none' },
    svg('line', { class: 'rail', x1: '0', x2: '100%', y1: '50%', y2: '50%' }),
    known.length > 1 && svg('line', { class: 'span', x1: x(row[known[0]]), x2: x(row[known.at(-1)]), y1: '50%', y2: '50%' }),
    known.map((q) => svg('circle', { class: objective && row[q] > objective ? 'dot over' : 'dot', cx: x(row[q]), cy: '50%', r: q === 'p50' ? '5' : '3.5' }, svg('title', {}, `${q} ${durationText(row[q])}`))),
    objective && objective <= scale && svg('line', { class: 'objective', x1: x(objective), x2: x(objective), y1: '0', y2: '100%' }, svg('title', {}, `objective ${roundText(objective)}`)));
}

/** Buckets of tokens by their lower edge: 0-1K, 1-4K, 4-16K, 16K+; requests without a count come last. */
export const byLowerEdge = (rows) => [...rows].sort((a, b) => (parseInt(a.key, 10) || (a.key ? 0 : Infinity)) - (parseInt(b.key, 10) || (b.key ? 0 : Infinity)));

/** @param rows as GET /latency gives them; objective in seconds or null; note: why there are no rows */
export function rangeTable(caption, keyTitle, rows, objective, note) {
  const measured = rows.flatMap((r) => QUANTILES.map((q) => r[q])).filter((v) => v !== null && v !== undefined);
  const scale = Math.max(...measured, objective ?? 0, 1e-9) * 1.05;
  const cell = (q) => (r) => h('span', { class: objective && r[q] > objective ? 'bad' : null }, duration(r[q], 'no request of this group has it'));
  return h('div', { class: 'ranges' }, table(caption, [
    { title: keyTitle, cell: (r) => r.key || 'not known' },
    { title: 'requests', numeric: true, cell: (r) => count(r.count) },
    ...QUANTILES.map((q) => ({ title: q, numeric: true, cell: cell(q) })),
    { title: 'max', numeric: true, cell: cell('max') },
    { title: 'p50 to p99', class: 'bar', cell: (r) => rangeBar(r, scale, objective) },
  ], rows, { empty: note, cards: false }));
}
