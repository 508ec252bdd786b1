// How we do: attainment and goodput over time, where the misses' time went, percentiles, slowest requests.

import { gather, settle } from '../api.js';
import { h, link, panel, table } from '../dom.js';
import { ifAnswered } from '../empty.js';
import { count, countText, dateOf, duration, durationText, isMissing, missing, percent, percentText, rate, rateText, roundText, text } from '../format.js';
import { named } from '../parts.js';
import { colour, label, MISS_PARTS, missMeaning, TTFT_PARTS } from '../phases.js';
import { byLowerEdge, rangeTable } from '../rangebars.js';
import { requestTable } from '../requesttable.js';
import { common, stepOf, windowOf } from '../state.js';
import { timeChart } from '../timechart.js';

const SLOWEST = 10;
/** So long after its end an interval is known in full: engines export in batches. */
const EXPORTED_AFTER_S = 20;
const BURN_WINDOWS = ['5m', '30m', '1h', '2h', '6h', '1d', '3d'];

async function load(context, signal, arrived) {
  const params = common(context.state);
  return gather({
    slo: settle('slo', params, signal),
    series: settle('slo/timeseries', { ...params, step: stepOf(context.state) }, signal),
    ttft: settle('latency', { ...params, metric: 'ttft', by: 'input_bucket' }, signal),
    tpot: settle('latency', { ...params, metric: 'tpot', by: 'input_bucket' }, signal),
    slowest: settle('requests', { ...params, order: 'slowest', limit: SLOWEST }, signal),
    diagnosis: settle('diagnosis', params, signal),
  }, arrived);
}

const asTarget = (o) => `TTFT ≤ ${isMissing(o.ttft) ? 'any' : roundText(o.ttft)}, TPOT ≤ ${isMissing(o.tpot) ? 'any' : roundText(o.tpot)} for ${percentText(o.target)}`;

/** The objective the tiles speak of: the one chosen, else the one with the least budget left. */
function chosen(objectives, state) {
  const byBudget = [...objectives].sort((a, b) => (a.budget_left ?? Infinity) - (b.budget_left ?? Infinity));
  return objectives.find((o) => o.name === state.objective) ?? byBudget[0] ?? null;
}

function tile(title, value, ...below) {
  return h('div', { class: 'tile' }, h('h2', {}, title), h('p', { class: 'big' }, value), below.map((b) => b && h('div', { class: 'below' }, b)));
}

function burn(objective) {
  const rates = objective.burn_rates ?? {};
  return h('ul', { class: 'burn' }, BURN_WINDOWS.map((w) => h('li', {}, h('span', {}, w), ' ',
    h('b', { class: rates[w] > 1 ? 'bad' : null }, isMissing(rates[w]) ? missing('no evaluated request in this window') : `${Number(rates[w].toPrecision(2))}×`))));
}

function tiles(objective) {
  const n = objective.requests;
  const joint = objective.attainment.joint;
  const under = !isMissing(joint) && joint < objective.target;
  const why = (name, otherwise) => objective.not_measured?.[name] ?? otherwise;
  const nobody = 'no evaluated request in this window';
  return h('div', { class: 'tiles' },
    tile('Attainment', h('span', { class: isMissing(joint) ? null : under ? 'bad' : 'good' }, percent(joint, nobody)),
      h('span', {}, `${isMissing(joint) ? 'target' : under ? '✗ under the target of' : '✓ target'} ${percentText(objective.target)}`),
      h('span', {}, 'TTFT ', percent(objective.attainment.ttft, nobody), ' · TPOT ', percent(objective.attainment.tpot, nobody))),
    tile('Missed', h('span', {}, count(n.missed), h('small', {}, ` of ${countText(n.evaluated)}`)),
      h('span', {}, `errored ${countText(n.errored)} · rejected ${countText(n.rejected)}`),
      h('span', {}, `apart: cancelled ${countText(n.cancelled)} · invalid ${countText(n.invalid)} · incomplete ${countText(n.incomplete)}`)),
    tile('Goodput', rate(objective.goodput_rps, 'no request met both objectives in a measured time'),
      h('span', {}, 'in flight ', count(n.in_flight, why('in_flight', 'nothing reports requests in flight')),
        ' · oldest ', duration(n.oldest_in_flight_s, why('oldest_in_flight_s', 'nothing reports the age of requests in flight'))),
      h('span', {}, 'good requests per GPU-hour ', count(objective.requests_per_gpu_hour, why('requests_per_gpu_hour', 'no worker says how many accelerators it has (pd.gpus)')))),
    tile('Error budget left', h('span', { class: objective.budget_left < 0 ? 'bad' : null }, percent(objective.budget_left, why('budget_left', nobody))),
      h('span', {}, `of ${objective.period_days} days`),
      burn(objective)));
}

function objectivesTable(objectives, current, context) {
  if (objectives.length < 2) return null;
  return panel('Objectives', { id: 'objectives', note: 'The numbers above speak of the marked one; without a choice it is the one with the least budget left.' },
    table('Objectives', [
      { title: 'objective', cell: (o) => link(context.href({ objective: o.name }), { 'aria-current': o === current ? 'true' : null, data: { keep: `objective-${o.name}` } }, o.name) },
      { title: 'promise', cell: asTarget },
      { title: 'evaluated', numeric: true, cell: (o) => count(o.requests.evaluated) },
      { title: 'attainment', numeric: true, cell: (o) => h('b', { class: o.attainment.joint < o.target ? 'bad' : null }, percent(o.attainment.joint, 'no evaluated request')) },
      { title: 'budget left', numeric: true, cell: (o) => h('span', { class: o.budget_left < 0 ? 'bad' : null }, percent(o.budget_left, 'no evaluated request')) },
      { title: 'burn 1h', numeric: true, cell: (o) => (isMissing(o.burn_rates?.['1h']) ? missing('no evaluated request') : `${Number(o.burn_rates['1h'].toPrecision(2))}×`) },
    ], objectives));
}

function sumByPhase(points) {
  const sums = new Map();
  for (const p of points) for (const [part, n] of Object.entries(p.by_phase ?? {})) sums.set(part, (sums.get(part) ?? 0) + n);
  return sums;
}

const seeMissed = (context) => link(context.href({ view: 'requests', missed: 'true', order: 'slowest' }), {}, 'See them');

function missedElsewhere(part, n, objective, context) {
  return h('p', { class: 'headline' }, `${countText(objective.requests.missed)} of ${countText(objective.requests.evaluated)} evaluated requests missed; ${countText(n)}: ${missMeaning(part)}. `, seeMissed(context));
}

/** One sentence to read first: the diagnosis where there is one, else where the misses' time went. */
function headline(data, objective, context) {
  if (data.diagnosis.pending) return h('p', { class: 'headline loading' }, 'Looking for the cause…');
  const diagnosis = data.diagnosis.value;
  if (diagnosis?.summary) {
    return h('p', { class: 'headline' }, diagnosis.summary, ' ', link(context.href({ view: 'why' }), {}, 'Why'),
      diagnosis.settled === false && h('span', { class: 'quiet' }, ' (not settled: newer spans are still being taken into account)'));
  }
  const sums = [...sumByPhase(data.series.value?.points ?? [])].sort((a, b) => b[1] - a[1]);
  if (!objective || !sums.length) return null;
  const [part, n] = sums[0];
  if (!TTFT_PARTS.includes(part)) return missedElsewhere(part, n, objective, context);
  return h('p', { class: 'headline' }, h('b', {}, countText(objective.requests.missed)), ' of ', h('b', {}, countText(objective.requests.evaluated)), ' evaluated requests missed; for ',
    h('b', {}, countText(n)), ' the longest part of the wait was ', named(part), '. ',
    seeMissed(context));
}

/** Up to when this window is known in full, Unix seconds. */
function knownUntil(context, diagnosis) {
  const behind = diagnosis?.settled === false && diagnosis.watermark ? dateOf(diagnosis.watermark).getTime() / 1000 : Infinity;
  return Math.min(windowOf(context.state).to, Date.now() / 1000 - EXPORTED_AFTER_S, behind);
}

function seriesPanels(series, objective, context, diagnosis) {
  const points = series.points.map((p) => ({ ...p, x: Math.round(dateOf(p.t).getTime() / 1000) }));
  const step = Number(series.step);
  const onZoom = (from, to) => context.go({ range: undefined, from: String(from), to: String(to) });
  const until = knownUntil(context, diagnosis);
  const shared = { points, step, onZoom, until };
  // what an interval under way would show as a rate is only how much of it is over
  const full = points.filter((p) => p.x + step <= until);
  const target = objective?.target;
  const lowest = Math.min(target ?? 1, ...points.map((p) => p.attainment ?? 1));
  const floor = lowest > 0.95 ? 0.9 : lowest > 0.6 ? 0.5 : 0;
  const parts = MISS_PARTS.filter((part) => points.some((p) => p.by_phase?.[part]));
  return [
    panel('Attainment', { id: 'attainment', note: 'Evaluated requests that met TTFT and TPOT, of all evaluated.' }, timeChart('attainment', {
      ...shared, title: 'Attainment over time', format: percentText, range: [floor, 1 + (1 - floor) * 0.04],
      series: [{ label: 'attainment', colour: 'var(--accent)', filled: true, value: (p) => p.attainment },
        ...(isMissing(target) ? [] : [{ label: 'target', colour: 'var(--bad)', dashed: true, value: () => target }])],
    })),
    panel('Goodput', { id: 'goodput', note: 'Requests per second that met both objectives, under all that started.' }, timeChart('goodput', {
      ...shared, points: full.length ? full : points, title: 'Goodput over time', format: rateText,
      series: [{ label: 'started', colour: 'var(--quiet)', value: (p) => p.requests / step, hint: 'requests of the step ÷ its length' },
        { label: 'goodput', colour: 'var(--good)', filled: true, value: (p) => p.goodput_rps }],
    })),
    panel('Misses by longest exposed phase', { id: 'misses', wide: true, note: 'Each missed request counts once, under the part of its wait that was longest.' },
      parts.length ? timeChart('misses', {
        ...shared, title: 'Missed requests by longest exposed phase', format: countText, stacked: true,
        series: parts.map((part) => ({ label: label(part), hint: missMeaning(part), colour: colour(part), value: (p) => p.by_phase?.[part] ?? 0 })),
      }) : h('p', { class: 'empty' }, points.some((p) => p.missed > 0) ? 'Requests missed, and this pdscope does not say in which phase.' : 'No request missed in this window.')),
  ];
}

function quiet(data, context) {
  const { from, to } = windowOf(context.state);
  return h('div', { class: 'empty first' }, h('p', {}, h('b', {}, 'No requests in this window.'), ` ${durationText(to - from)} were looked at.`),
    h('p', {}, 'Send OTLP to port 4317 (gRPC) or 4318 (HTTP), or load a capture with ', h('code', {}, 'pdscope import PATH'), '. ',
      link(context.href({ range: '7d', from: undefined, to: undefined }), {}, 'Look at the last 7 days'), ' or at ', link(context.href({ view: 'telemetry' }), {}, 'what has been received'), '.'));
}

function render(data, context) {
  const objectives = data.slo.value?.objectives ?? [];
  const objective = chosen(objectives, context.state);
  const nothing = data.slowest.value?.total === 0 && (objective?.requests.total ?? 0) === 0;
  if (nothing) return quiet(data, context);
  return [
    headline(data, objective, context),
    ifAnswered(data.slo, 'The SLO', () => (objective
      ? [h('p', { class: 'objective-line' }, h('b', {}, text(objective.name)), ' ', asTarget(objective)), tiles(objective), objectivesTable(objectives, objective, context)]
      : h('p', { class: 'empty' }, 'No objective is configured; give TTFT, TPOT and target above, or start pdscope with --slo FILE.'))),
    h('div', { class: 'grid' },
      ifAnswered(data.series, 'The series', (series) => seriesPanels(series, objective, context, data.diagnosis.value)),
      panel('TTFT by prompt length', { id: 'ttft', wide: false, note: 'Start of the request to the first token sent to the client.' },
        ifAnswered(data.ttft, 'TTFT', (l) => rangeTable('TTFT percentiles by input tokens', 'input tokens', byLowerEdge(l.rows), objective?.ttft ?? null, l.note))),
      panel('TPOT by prompt length', { id: 'tpot', note: 'Time per output token after the first.' },
        ifAnswered(data.tpot, 'TPOT', (l) => rangeTable('TPOT percentiles by input tokens', 'input tokens', byLowerEdge(l.rows), objective?.tpot ?? null, l.note))),
      panel('Slowest requests', { id: 'slowest', wide: true, actions: link(context.href({ view: 'requests', order: 'slowest' }), {}, 'All requests') },
        ifAnswered(data.slowest, 'Requests', (l) => requestTable('Slowest requests', l.requests, ['started', 'ttft', 'tpot', 'tokens', 'outcome', 'longest'], context)))),
  ];
}

export const overview = { id: 'overview', title: 'Overview', hotkey: '1', load, render };
