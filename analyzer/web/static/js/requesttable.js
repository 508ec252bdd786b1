// A table of requests, as the overview's slowest list and the requests view show it.

import { h, table } from './dom.js';
import { count, duration, text, time } from './format.js';
import { cause, exposedBar, longestPart, outcome, requestLink, tpot, ttft } from './requestparts.js';

const COLUMNS = {
  started: { title: 'started', cell: (r) => time(r.started_at, 'no start was seen') },
  model: { title: 'model', cell: (r) => text(r.model, 'no span names the model') },
  tenant: { title: 'tenant', cell: (r) => text(r.tenant, 'no tenant was given') },
  outcome: { title: 'outcome', cell: outcome },
  ttft: { title: 'TTFT', numeric: true, cell: (r) => h('b', { class: r.met?.ttft === false ? 'bad' : null }, ttft(r)) },
  tpot: { title: 'TPOT', numeric: true, cell: (r) => h('span', { class: r.met?.tpot === false ? 'bad' : null }, tpot(r)) },
  e2e: { title: 'total', hint: 'until the last byte', numeric: true, cell: (r) => duration(r.e2e, 'no end was seen') },
  tokens: { title: 'in → out', hint: 'input and output tokens', numeric: true, cell: (r) => h('span', {}, count(r.input_tokens, 'input tokens not reported'), ' → ', count(r.output_tokens, 'output tokens not reported')) },
  longest: { title: 'longest part', cell: longestPart },
  cause: { title: 'cause', cell: cause },
};

/** @param names which of COLUMNS to show after the request's id and its bar */
export function requestTable(caption, requests, names, context, empty) {
  const scale = Math.max(...requests.map((r) => r.ttft ?? 0), 1e-9);
  const columns = [
    { title: 'request', class: 'wideable', cell: (r) => requestLink(r, context) },
    ...names.map((name) => COLUMNS[name]),
    { title: 'exposed time', class: 'bar', cell: (r) => exposedBar(r, scale) },
  ];
  return table(caption, columns, requests, { empty, cards: true });
}
