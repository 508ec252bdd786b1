// The hand-off of KV between the pools.

import { settle } from '../api.js';
import { h, panel, table } from '../dom.js';
import { ifAnswered } from '../empty.js';
import { bytes, count, isMissing, missing, percent } from '../format.js';
import { common } from '../state.js';

const GROUPINGS = ['pair', 'connector', 'worker'];

async function load(context, signal) {
  return { transfers: await settle('transfers', { ...common(context.state), by: context.state.by ?? 'pair' }, signal) };
}

const speed = (value, reason) => (isMissing(value) ? missing(reason) : `${Number(value.toPrecision(3))} GB/s`);

const COLUMNS = [
  { title: 'between', cell: (g) => g.key },
  { title: 'transfers', numeric: true, cell: (g) => count(g.transfers) },
  { title: 'bytes', numeric: true, cell: (g) => bytes(g.bytes, 'no span gives the bytes') },
  { title: 'p50', hint: 'median effective rate of one transfer', numeric: true, cell: (g) => speed(g.gb_s?.p50, 'bytes or time of transfers unknown') },
  { title: 'p5', hint: 'the slowest twentieth', numeric: true, cell: (g) => speed(g.gb_s?.p5, 'bytes or time of transfers unknown') },
  { title: 'aggregate', hint: 'bytes ÷ time in which at least one transfer ran', numeric: true, cell: (g) => speed(g.aggregate_gb_s, 'bytes or time of transfers unknown') },
  { title: 'line rate', numeric: true, cell: (g) => speed(g.link_gb_s, 'the line rate is not configured') },
  { title: 'posting', hint: 'posting time ÷ transfer time', numeric: true, cell: (g) => percent(g.post_share, 'no span gives the posting time') },
  { title: 'at once', hint: 'concurrent transfers', numeric: true, cell: (g) => count(g.concurrency, 'not measured') },
  { title: 'failed', numeric: true, cell: (g) => h('span', { class: g.failed > 0 ? 'bad' : null }, count(g.failed, 'no span gives the status')) },
];

function render(data, context) {
  const by = h('label', { class: 'inline' }, 'by ', h('select', { data: { keep: 'by' }, onchange: (event) => context.go({ by: event.target.value }) },
    GROUPINGS.map((g) => h('option', { value: g, selected: (context.state.by ?? 'pair') === g }, g))));
  return panel('KV hand-off', { id: 'transfers', wide: true, actions: by, note: '1 GB is 1e9 bytes. A rate is bytes ÷ transfer time, waiting included.' },
    ifAnswered(data.transfers, 'Hand-off', (t) => table('Transfers', COLUMNS, t.groups, { empty: 'No transfer was seen in this window.' })));
}

export const transfers = { id: 'transfers', title: 'Hand-off', hotkey: '5', load, render };
