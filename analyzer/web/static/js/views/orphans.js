// KV that nobody will read, and KV that was read after its lease.

import { settle } from '../api.js';
import { link, panel, table } from '../dom.js';
import { ifAnswered } from '../empty.js';
import { bytes, duration, missing, text } from '../format.js';
import { common } from '../state.js';

const load = async (context, signal) => ({ orphans: await settle('kv/orphans', common(context.state), signal) });

const columns = (context) => [
  { title: 'transfer', cell: (o) => text(o.transfer_id, 'no span gives the transfer id') },
  { title: 'request', cell: (o) => (o.request_key ? link(context.href({ view: 'request', id: o.request_key }), { 'data-row-link': true }, o.request_key) : missing('not joined to a request')) },
  { title: 'worker', cell: (o) => text(o.worker, 'no span names the worker') },
  { title: 'side', cell: (o) => text(o.side) },
  { title: 'bytes', numeric: true, cell: (o) => bytes(o.bytes, 'no span gives the bytes') },
  { title: 'held', numeric: true, cell: (o) => duration(o.held_s, 'not known since when') },
  { title: 'lease', numeric: true, cell: (o) => duration(o.lease_s, 'no lease is known') },
  { title: 'state', cell: (o) => text(o.state) },
  { title: 'why', cell: (o) => text(o.why) },
];

const render = (data, context) => ifAnswered(data.orphans, 'Orphans', (answer) => [
  panel('Orphaned KV', { id: 'orphans', wide: true, note: 'Published and never imported, or reserved on decode and never filled.' },
    table('Orphaned KV', columns(context), answer.orphans, { empty: 'No orphan in this window.' })),
  panel('Late reads', { id: 'late-reads', wide: true, note: 'Imported after the lease had ended: the blocks may have been reused, and the output may be wrong.' },
    table('Late reads', columns(context), answer.late_reads, { empty: 'No KV was read after its lease.' })),
]);

export const orphans = { id: 'orphans', title: 'Orphans', hotkey: '6', load, render };
