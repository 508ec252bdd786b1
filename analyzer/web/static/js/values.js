// Values whose shape REST leaves open (corrections, counts, evidence): shown whole, never guessed at.

import { h, table } from './dom.js';
import { countText, missing, text, time } from './format.js';

const words = (name) => name.replaceAll('_', ' ');

const isRecord = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

function records(list) {
  const names = [...new Set(list.flatMap(Object.keys))];
  const numeric = (name) => list.every((record) => record[name] === null || typeof record[name] === 'number');
  return table(names.map(words).join(', '), names.map((name) => ({ title: words(name), numeric: numeric(name), cell: (record) => anyValue(record[name]) })), list);
}

/** Any JSON value as nested lists and tables; null stays "not measured". */
export function anyValue(value) {
  if (value === null || value === undefined) return missing();
  if (typeof value === 'number') return Number.isInteger(value) ? countText(value) : String(Number(value.toPrecision(5)));
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string') return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(value) ? time(value) : text(value);
  if (Array.isArray(value) && value.length > 1 && value.every(isRecord)) return records(value);
  if (Array.isArray(value)) return value.length ? h('ul', { class: 'values' }, value.map((v) => h('li', {}, anyValue(v)))) : h('span', { class: 'quiet' }, 'none');
  const entries = Object.entries(value);
  return entries.length ? pairs(entries.map(([k, v]) => [words(k), anyValue(v)])) : h('span', { class: 'quiet' }, 'none');
}

export const pairs = (entries) => h('dl', { class: 'pairs' }, entries.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))));

/** A number that may come bare or with where it is from. */
export function sourced(entry, show) {
  const wrapped = entry !== null && typeof entry === 'object' && 'value' in entry;
  const source = wrapped ? entry.source : null;
  return h('span', { title: source ? `source: ${source}` : null }, show(wrapped ? entry.value : entry, wrapped ? entry.reason : undefined), source && source !== 'observed' && h('small', { class: 'source' }, ` ${source}`));
}

/** Evidence as GET /diagnosis and a verdict give it. */
export function evidence(list) {
  if (!list?.length) return null;
  return h('ul', { class: 'evidence' }, list.map((e) => (e !== null && typeof e === 'object' && 'signal' in e
    ? h('li', {}, h('code', {}, e.signal), ' ', h('b', {}, anyValue(e.value)), e.unit && ` ${e.unit}`, e.at && [' at ', time(e.at)], e.source && h('small', { class: 'source' }, ` ${e.source}`))
    : h('li', {}, anyValue(e)))));
}
