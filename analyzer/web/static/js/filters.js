// The bar above every view: time range, selectors and the objective asked for. All of it lives in the address.

import { settle } from './api.js';
import { h, replaceKeeping } from './dom.js';
import { clockText, dayText, zoneText } from './format.js';
import { isFixed, OBJECTIVE, RANGE_LABELS, SELECTORS, windowOf } from './state.js';

const SHOWN = ['model', 'tenant', 'route', 'cohort'];
const UNITS = { ttft: ['TTFT ≤', 's', 'any'], tpot: ['TPOT ≤', 's', 'any'], target: ['target', 'fraction', 'any'] };
const suggestions = new Map();

const pad = (n) => String(n).padStart(2, '0');
const local = (seconds) => {
  const d = new Date(seconds * 1000);
  return `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())}T${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
};
const unix = (text) => (text ? String(Math.round(new Date(text).getTime() / 1000)) : undefined);

/** The names REST knows for a selector, asked for once a minute at most, when the field is entered. */
async function suggest(name, list, state) {
  const known = suggestions.get(name);
  if (known && Date.now() - known.at < 60000) return list.replaceChildren(...known.options());
  const { from, to } = windowOf(state);
  const found = await settle('latency', { metric: 'ttft', by: name, from, to });
  const names = found.error ? [] : found.value.rows.map((r) => r.key).filter(Boolean);
  suggestions.set(name, { at: Date.now(), options: () => names.map((value) => h('option', { value })) });
  return list.replaceChildren(...suggestions.get(name).options());
}

function selector(name, context) {
  const list = h('datalist', { id: `names-${name}` });
  return h('label', {}, h('span', {}, name), h('input', {
    name, value: context.state[name] ?? '', list: list.id, placeholder: 'all', autocomplete: 'off', spellcheck: 'false',
    data: { keep: `filter-${name}` },
    onfocus: () => suggest(name, list, context.state),
    onchange: (event) => context.go({ [name]: event.target.value.trim() || undefined }),
  }), list);
}

function objective(name, context) {
  const [title, unit, step] = UNITS[name];
  return h('label', { class: 'narrow' }, h('span', {}, unit === 'fraction' ? title : `${title} (${unit})`), h('input', {
    name, type: 'number', min: '0', step, value: context.state[name] ?? '', placeholder: 'configured', title: `${unit}; empty: as configured`,
    'aria-label': `${title} (${unit})`, data: { keep: `filter-${name}` },
    onchange: (event) => context.go({ [name]: event.target.value || undefined }),
  }));
}

function range(context) {
  const { state } = context;
  const fixed = isFixed(state);
  const { from, to } = windowOf(state);
  const choose = h('select', { name: 'range', data: { keep: 'filter-range' }, onchange: (event) => (event.target.value === 'fixed'
    ? context.go({ range: undefined, from: String(Math.floor(from)), to: String(Math.ceil(to)) })
    : context.go({ range: event.target.value, from: undefined, to: undefined })) },
  Object.entries(RANGE_LABELS).map(([value, title]) => h('option', { value, selected: !fixed && (state.range ?? '1h') === value }, title)),
  h('option', { value: 'fixed', selected: fixed }, 'From … to'));
  const end = (name, value) => h('label', {}, h('span', {}, name), h('input', {
    name, type: 'datetime-local', step: '1', value: Number.isNaN(value) ? '' : local(value), data: { keep: `filter-${name}` },
    onchange: (event) => context.go({ [name]: unix(event.target.value) }),
  }));
  return [h('label', {}, h('span', {}, `time (${zoneText()})`), choose), fixed && end('from', from), fixed && end('to', to)];
}

function objectiveText(state) {
  const asked = OBJECTIVE.filter((n) => state[n]).map((n) => `${n} ${state[n]}`);
  return asked.length ? `objective: ${asked.join(', ')}` : 'objectives as configured';
}

function summaryText(state) {
  const { from, to } = windowOf(state);
  const stamp = (s) => (Number.isNaN(s) ? '?' : `${dayText(new Date(s * 1000))} ${clockText(new Date(s * 1000))}`);
  const time = isFixed(state) ? `${stamp(from)} – ${stamp(to)}` : RANGE_LABELS[state.range ?? '1h'];
  const chosen = SELECTORS.filter((n) => state[n]).map((n) => `${n} ${state[n]}`);
  return [time, ...(chosen.length ? chosen : ['all requests']), objectiveText(state)].join(' · ');
}

let chosenOpen = matchMedia('(min-width: 56rem)').matches;

/** @param only 'objective' where time and selectors change nothing, as on one request's page */
export function drawFilters(container, context, only) {
  const { state } = context;
  const all = only !== 'objective';
  const extra = SELECTORS.filter((n) => state[n] && !SHOWN.includes(n));
  const anything = [...SELECTORS, ...OBJECTIVE].some((n) => state[n]);
  const clear = Object.fromEntries([...SELECTORS, ...OBJECTIVE].map((n) => [n, undefined]));
  const details = h('details', { class: 'filters', open: chosenOpen, ontoggle: (e) => { chosenOpen = e.target.open; } },
    h('summary', {}, all ? summaryText(state) : objectiveText(state)),
    h('form', { 'aria-label': 'Filters', onsubmit: (event) => event.preventDefault() },
      all && h('fieldset', {}, h('legend', { class: 'hidden' }, 'Time'), range(context)),
      all && h('fieldset', {}, h('legend', { class: 'hidden' }, 'Requests'), [...SHOWN, ...extra].map((n) => selector(n, context))),
      h('fieldset', {}, h('legend', { class: 'hidden' }, 'Objective'), OBJECTIVE.map((n) => objective(n, context))),
      anything && h('button', { type: 'button', class: 'plain', onclick: () => context.go(clear) }, 'Clear')));
  replaceKeeping(container, [details]);
}
