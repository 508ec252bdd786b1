// Both pools, worker by worker: who waits, who is full, who idles.

import { settle } from '../api.js';
import { h, panel, table } from '../dom.js';
import { ifAnswered } from '../empty.js';
import { count, isMissing, missing, percentText, time } from '../format.js';
import { common } from '../state.js';
import { anyValue, sourced } from '../values.js';

const load = async (context, signal) => ({ pools: await settle('pools', common(context.state), signal) });

const NOT_SCRAPED = 'no metric of this worker says so';

function meter(value) {
  if (isMissing(value)) return missing(NOT_SCRAPED);
  return h('span', { class: 'meter' }, h('span', { class: 'fill', 'aria-hidden': 'true' }, h('span', { class: value > 0.9 ? 'full' : null, style: { width: `${Math.min(100, 100 * value)}%` } })), percentText(value));
}

const numeric = (title, name, hint) => ({ title, hint, numeric: true, cell: (w) => sourced(w[name], (v) => count(v, NOT_SCRAPED)) });

const COLUMNS = [
  { title: 'worker', cell: (w) => w.worker },
  numeric('waiting', 'queue_depth', 'requests queued'),
  numeric('running', 'running', 'requests running'),
  { title: 'KV used', cell: (w) => sourced(w.kv_used_fraction, meter) },
  numeric('KV pinned', 'kv_pinned_tokens', 'tokens held for hand-offs'),
  { title: 'service rate', cell: (w) => anyValue(w.service_rates) },
  { title: 'saturated', cell: (w) => sourced(w.saturated, (v) => (isMissing(v) ? missing(NOT_SCRAPED) : h('span', { class: v ? 'mark bad' : 'mark' }, v ? '✗ saturated' : 'no'))) },
  { title: 'since', cell: (w) => time(w.since, 'no change seen in this window') },
];

const draw = (answer) => (answer.pools.length
  ? answer.pools.map((p) => panel(`Pool ${p.pool}`, { id: `pool-${p.pool}`, wide: true, note: typeof p.verdict === 'string' ? p.verdict : null },
    table(`Workers of pool ${p.pool}`, COLUMNS, p.workers, { empty: 'No worker of this pool was seen.' })))
  : h('p', { class: 'empty' }, 'No worker was seen in this window.'));

const render = (data) => ifAnswered(data.pools, 'Pools', draw);

export const pools = { id: 'pools', title: 'Pools', hotkey: '4', load, render };
