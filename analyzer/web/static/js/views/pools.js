// Both pools, worker by worker: who waits, who is full, who idles.

import { settle } from '../api.js';
import { h, panel, table } from '../dom.js';
import { ifAnswered } from '../empty.js';
import { count, countText, isMissing, missing, percentText, time } from '../format.js';
import { common } from '../state.js';
import { sourced } from '../values.js';

const load = async (context, signal) => ({ pools: await settle('pools', common(context.state), signal) });

const NOT_SCRAPED = 'no metric of this worker says so';

function meter(value) {
  if (isMissing(value)) return missing(NOT_SCRAPED);
  return h('span', { class: 'meter' }, h('span', { class: 'fill', 'aria-hidden': 'true' }, h('span', { class: value > 0.9 ? 'full' : null, style: { width: `${Math.min(100, 100 * value)}%` } })), percentText(value));
}

const numeric = (title, name, hint) => ({ title, hint, numeric: true, cell: (w) => sourced(w[name], (v, reason) => count(v, reason ?? NOT_SCRAPED)) });

/** What a worker served, in one line: requests and tokens per second of the window, tokens per second at work. */
function rates(found, reason) {
  if (isMissing(found)) return missing(reason ?? NOT_SCRAPED);
  const [requests, tokens, busy] = ['requests_per_s', 'tokens_per_s', 'tokens_per_busy_s'].map((end) => Object.entries(found).find(([name]) => name.endsWith(end)));
  return [
    requests && `${countText(requests[1])} requests`,
    tokens && `${countText(tokens[1])} ${tokens[0].split('_')[0]} tokens`,
    busy && `(${countText(busy[1])} at work)`,
  ].filter(Boolean).join(' · ').replace(' · (', ' (');
}

const COLUMNS = [
  { title: 'worker', cell: (w) => w.worker },
  numeric('waiting', 'queue_depth', 'requests queued'),
  numeric('running', 'running', 'requests running'),
  { title: 'KV used', cell: (w) => sourced(w.kv_used_fraction, meter) },
  numeric('KV pinned', 'kv_pinned_tokens', 'tokens held for hand-offs'),
  { title: 'served per second', hint: 'over the window; in brackets, tokens per second while it was at work', cell: (w) => sourced(w.service_rates, rates) },
  { title: 'saturated', cell: (w) => sourced(w.saturated, (v, reason) => (isMissing(v) ? missing(reason ?? NOT_SCRAPED) : h('span', { class: v ? 'mark bad' : 'mark' }, v ? '✗ saturated' : 'no'))) },
  { title: 'since', cell: (w) => time(w.since, 'no change seen in this window') },
];

const draw = (answer) => (answer.pools.length
  ? answer.pools.map((p) => panel(`Pool ${p.pool}`, { id: `pool-${p.pool}`, wide: true, note: typeof p.verdict === 'string' ? p.verdict : null },
    table(`Workers of pool ${p.pool}`, COLUMNS, p.workers, { empty: 'No worker of this pool was seen.' })))
  : h('p', { class: 'empty' }, 'No worker was seen in this window.'));

const render = (data) => ifAnswered(data.pools, 'Pools', draw);

export const pools = { id: 'pools', title: 'Pools', hotkey: '4', load, render };
