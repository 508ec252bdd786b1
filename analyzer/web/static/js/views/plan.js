// What if: other layouts for the traffic of this window. REST simulates, recommends and draws; this page asks and shows.

import { download, getDrawing, post, settle } from '../api.js';
import { h, panel, table } from '../dom.js';
import { emptyState, failure } from '../empty.js';
import { count, countText, duration, isMissing, missing, percent, percentText, rate } from '../format.js';
import { common, OBJECTIVE } from '../state.js';

const PLOTS = [
  ['frontier', 'TTFT against TPOT', 'A dot per layout, larger with more goodput; blue colocated, green two pools, hollow refused. The line joins layouts that no other beats in both. Dashed: the objectives.'],
  ['ratios', 'Chunk budgets and ratios', 'Share of requests within both objectives. Dashed: what is asked for.'],
  ['lanes', 'One request under every layout', 'The same long prompt, from its arrival to its last token. Dashed: the TTFT objective.'],
];
const RUNNING = ['waiting', 'running'];
const AGAIN_MS = 700;
const MOST_REASONS = 2;
const PANEL_PADDING_PX = 40;
const WIDEST_PX = 1000;
const finished = new Map();

/** Drawings are made for the width they get, so that their letters stay as large as the page's. */
function widthOf() {
  const main = document.getElementById('main').clientWidth - PANEL_PADDING_PX * 2;
  return Math.max(260, Math.min(WIDEST_PX, Math.round(main)));
}

async function load(context, signal) {
  const { plan: id } = context.state;
  if (!id) return {};
  const width = widthOf();
  const key = `${id} ${width}`;
  if (finished.has(key)) return finished.get(key);
  const plan = await settle(`plan/${encodeURIComponent(id)}`, {}, signal);
  if (RUNNING.includes(plan.value?.state)) setTimeout(() => signal.aborted || context.refresh(), AGAIN_MS);
  if (!plan.value?.answer?.scenarios?.length) return { plan };
  const drawings = await Promise.all(PLOTS.map(([name]) =>
    settle(`plan/${encodeURIComponent(id)}/plots/${name}.svg`, { width, bare: true }, signal, getDrawing)));
  const data = { plan, drawings };
  finished.set(key, data);
  return data;
}

const whole = (text) => (text.trim() ? Number(text) : null);
const listed = (text) => text.split(/[\s,]+/).filter(Boolean).map(Number);

function asked(form, state) {
  const { ttft, tpot, target, pool, worker, ...scope } = common(state);
  const objective = Object.fromEntries(OBJECTIVE.filter((name) => state[name]).map((name) => [name, Number(state[name])]));
  return {
    scope: Object.fromEntries(Object.entries(scope).map(([name, value]) => [name, String(value)])),
    objective,
    grid: { workers: whole(form.workers.value), chunks: listed(form.chunks.value), headroom: Number(form.headroom.value) / 100 },
    served_chunk: whole(form.served.value),
  };
}

async function submit(event, context) {
  event.preventDefault();
  const form = event.target;
  const said = form.querySelector('output');
  said.replaceChildren('Asking…');
  try {
    const plan = await post('plan', asked(form, context.state));
    said.replaceChildren();
    context.go({ plan: plan.id });
  } catch (error) {
    said.replaceChildren(failure(error));
  }
}

function field(title, name, props) {
  return h('label', {}, h('span', {}, title), h('input', { name, autocomplete: 'off', data: { keep: `plan-${name}` }, ...props }));
}

function form(plan, context) {
  const grid = plan?.asked.grid;
  return panel('Ask', { id: 'plan-ask', wide: true, note: 'Arrivals, lengths and cache hits of the window above are replayed through a model calibrated on the same requests. Every figure is modelled.' },
    h('form', { class: 'plan-form', onsubmit: (event) => submit(event, context) },
      field('workers', 'workers', { type: 'number', min: '1', max: '1024', value: grid?.workers ?? '', placeholder: 'as served' }),
      field('chunk budgets (tokens)', 'chunks', { value: (grid?.chunks ?? [512, 2048]).join(', '), required: true }),
      field('headroom (%)', 'headroom', { type: 'number', min: '0', max: '1000', step: 'any', value: String(Math.round((grid?.headroom ?? 0.15) * 1000) / 10), required: true }),
      field('served chunk (tokens)', 'served', { type: 'number', min: '1', value: plan?.asked.served_chunk ?? '', placeholder: 'if colocated' }),
      h('button', { type: 'submit', data: { keep: 'plan-go' } }, 'Plan'), h('output', {})));
}

function waiting(plan) {
  return panel('Simulating', { id: 'plan-progress', wide: true, note: plan.announcement },
    h('p', {}, plan.of ? `${countText(plan.done)} of ${countText(plan.of)} simulations` : plan.state === 'waiting' ? 'Waiting for another plan to end.' : 'Reading and calibrating…'),
    h('progress', plan.of ? { max: plan.of, value: plan.done, 'aria-label': 'simulations done' } : { 'aria-label': 'calibrating' }));
}

function recommendation(plan) {
  const { answer, id } = plan;
  const r = answer.recommendation;
  const lanes = r.lanes.map((lane) => `${lane.pool} ${lane.change}: ${lane.now ?? 'none'} → ${lane.then}`);
  const file = (name, title) => h('button', { type: 'button', class: 'plain', onclick: () => download(`plan/${id}/${name}`, name.replace('receipt', `plan-${id}`)) }, title);
  return panel('Recommendation', { id: 'plan-recommendation', wide: true, actions: h('span', { class: 'quiet' }, 'modelled') },
    h('p', { class: 'headline' }, r.statement),
    h('ul', { class: 'considered' }, [...lanes, ...r.considered].map((line) => h('li', {}, line))),
    h('p', {}, file('receipt.json', 'Save the receipt (JSON)'), file('receipt.csv', 'Save its matrix (CSV)'),
      plan.asked.scope && file('receipt.requests.csv.gz', 'Save its requests (numbers only)')));
}

function calibration(answer) {
  const c = answer.calibration;
  if (!c) return null;
  const value = (f, v) => (f.unit === 'fraction' ? percent(v) : duration(v));
  const error = (f) => (isMissing(f.error) ? missing('nothing to compare') : f.unit === 'fraction' ? `${(100 * f.error).toFixed(1)} points` : `${(100 * f.error).toFixed(1)} %`);
  return panel('Does the model fit?', { id: 'plan-fit', note: `Fitted to ${c.served} as it served this window, then played again: ${c.errors.map((e) => `${e.what} within ${percentText(e.median)}`).join(', ')}.` },
    table('Replay of the window', [
      { title: 'figure', cell: (f) => f.name }, { title: 'modelled', numeric: true, cell: (f) => value(f, f.predicted) },
      { title: 'measured', numeric: true, cell: (f) => value(f, f.measured) }, { title: 'error', numeric: true, cell: error },
    ], c.replay.figures),
    c.notes.length > 0 && h('ul', {}, c.notes.map((note) => h('li', { class: 'quiet' }, note))));
}

function scenarios(answer) {
  const refused = new Map(answer.recommendation.rejected.map((r) => [r.layout, r.reasons]));
  const rows = answer.scenarios.filter((row) => row.arrivals === 1);
  const denser = (row) => answer.scenarios.find((other) => other.layout === row.layout && other.arrivals !== 1);
  return panel('Every layout tried', { id: 'plan-scenarios', wide: true, note: `The last column but one: with ${percentText(answer.contract.headroom)} more requests.` },
    table('Layouts', [
      { title: 'layout', cell: (r) => r.layout }, { title: 'accelerators', numeric: true, cell: (r) => count(r.accelerators) },
      { title: 'TTFT p95', numeric: true, cell: (r) => duration(r.ttft95_s, 'nothing was served') }, { title: 'TPOT p95', numeric: true, cell: (r) => duration(r.tpot95_s, 'nothing was served') },
      { title: 'goodput', numeric: true, cell: (r) => rate(r.goodput_rps) }, { title: 'met', numeric: true, cell: (r) => percent(r.met) },
      { title: 'with headroom', numeric: true, cell: (r) => percent(denser(r)?.met, 'not asked for') },
      { title: 'verdict', class: 'meaning', cell: (r) => (refused.has(r.layout) ? h('span', { class: 'bad' }, `✗ ${refused.get(r.layout).slice(0, MOST_REASONS).join('; ')}`) : h('span', { class: 'mark good' }, '✓ meets the contract')) },
    ], rows));
}

function rest(answer) {
  return [
    panel('When something fails', { id: 'plan-degraded', note: 'One worker lost for good, or the link: then all that is left serves colocated.' }, table('Degraded modes', [
      { title: 'layout', cell: (r) => r.layout }, { title: 'failure', cell: (r) => r.mode }, { title: 'serves on as', cell: (r) => r.serves }, { title: 'met', numeric: true, cell: (r) => percent(r.met) },
    ], answer.degraded, { empty: 'Not asked for.' })),
    panel('When to scale', { id: 'plan-signals', wide: true, note: 'Signals of the recommended layout, per worker.' }, table('Autoscaling signals', [
      { title: 'pool', cell: (s) => s.pool }, { title: 'signal', cell: (s) => h('code', {}, s.signal) }, { title: 'out above', numeric: true, cell: (s) => `${countText(Number(s.out.toPrecision(3)))} ${s.unit}` },
      { title: 'in below', numeric: true, cell: (s) => (isMissing(s.in_below) ? missing('nothing says when it is safe') : countText(Number(s.in_below.toPrecision(3)))) }, { title: 'why', class: 'meaning', cell: (s) => s.why },
    ], answer.signals, { empty: 'No layout is recommended.' })),
    panel('Inputs', { id: 'plan-inputs', wide: true, note: 'What the model rests on, and where each number is from.' }, table('Inputs', [
      { title: 'input', cell: (i) => i.name.replaceAll('_', ' ') }, { title: 'value', numeric: true, cell: (i) => Number(i.value.toPrecision(4)).toString() }, { title: 'unit', cell: (i) => i.unit },
      { title: 'known as', cell: (i) => i.label }, { title: 'from', class: 'meaning', cell: (i) => i.origin },
    ], answer.inputs)),
  ];
}

function answered(plan, data) {
  const { answer } = plan;
  if (answer.refused) return panel('No recommendation', { id: 'plan-refused', wide: true }, h('p', { class: 'note warn' }, answer.refused));
  if (!answer.scenarios) return panel('A backtest', { id: 'plan-backtest', wide: true }, h('p', {}, 'This plan is a backtest; ', h('code', {}, 'pdscope plan backtest'), ' shows it.'));
  const plots = PLOTS.map(([name, title, note], i) => panel(title, { id: `plot-${name}`, wide: true, note },
    data.drawings[i].error ? emptyState(data.drawings[i].error, title) : data.drawings[i].value));
  return [recommendation(plan), ...plots, scenarios(answer), calibration(answer), ...rest(answer)];
}

function render(data, context) {
  const plan = data.plan?.value;
  const body = data.plan?.error ? emptyState(data.plan.error, 'This plan')
    : !plan ? null
      : plan.state === 'failed' ? h('div', { class: 'failure wide' }, h('p', {}, plan.error))
        : plan.answer ? answered(plan, data) : waiting(plan);
  return h('div', { class: 'grid' }, form(plan, context), body);
}

export const plan = { id: 'plan', title: 'Plan', hotkey: '8', load, render };
