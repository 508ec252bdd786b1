// Why requests missed: GET /diagnosis, read top down by somebody who has just been woken.

import { gather, settle } from '../api.js';
import { causeColour } from '../causecolours.js';
import { h, link, panel, table } from '../dom.js';
import { ifAnswered } from '../empty.js';
import { count, countText, dateOf, duration, durationText, isMissing, missing, percent, percentText, time } from '../format.js';
import { common, stepOf } from '../state.js';
import { timeChart } from '../timechart.js';
import { anyValue, evidence, pairs } from '../values.js';
import { CAUSES, FINDINGS } from '../vocabulary.js';

async function load(context, signal, arrived) {
  const params = common(context.state);
  return gather({
    diagnosis: settle('diagnosis', params, signal),
    series: settle('slo/timeseries', { ...params, step: stepOf(context.state) }, signal),
  }, arrived);
}

const COUNTS = ['evaluated', 'met', 'missed', 'rejected', 'errored', 'cancelled', 'invalid', 'incomplete', 'in_flight'];
const milliseconds = (value, reason) => duration(isMissing(value) ? null : value / 1000, reason);

function excess(title, quantiles) {
  if (!quantiles) return null;
  return h('p', {}, `${title} above its baseline: p50 `, milliseconds(quantiles.p50), ', p95 ', milliseconds(quantiles.p95));
}

/** A miss shared between causes makes fractions; nobody needs them past the first ten. */
const shared = (requests) => (isMissing(requests) || requests < 10 ? requests : Math.round(requests));

function causeCard(c, context) {
  return h('article', { class: 'cause' },
    h('header', {}, h('h3', {}, link(context.href({ view: 'requests', missed: 'true', cause: c.cause, order: 'slowest' }), { 'data-row-link': true }, c.cause)), h('b', {}, percent(c.share))),
    h('p', { class: 'quiet' }, CAUSES[c.cause] ?? 'not in the vocabulary'),
    h('div', { class: 'share', 'aria-hidden': 'true' }, h('span', { style: { width: `${100 * Math.min(1, c.share ?? 0)}%` } })),
    h('p', {}, h('b', { title: countText(c.requests) }, count(shared(c.requests))), ' missed requests; without it ', count(c.would_have_met_without_it, 'no counterfactual'), ' would have met.'),
    excess('TTFT', c.excess_ttft_ms), excess('TPOT', c.excess_tpot_ms), evidence(c.evidence),
    c.next_step && h('p', { class: 'next' }, h('b', {}, 'Next: '), c.next_step));
}

function verdict(d) {
  const dominant = d.dominant_cause;
  return h('div', { class: 'verdict' },
    h('p', { class: 'headline' }, d.summary),
    h('p', {}, 'Dominant cause: ', h('b', {}, dominant), isMissing(d.confidence) ? '' : ` · confidence ${percentText(d.confidence)}`,
      h('span', { class: 'quiet' }, ` · ${CAUSES[dominant] ?? ''}`)),
    d.settled === false && h('p', { class: 'note warn' }, 'Not settled: spans of this window are received and not yet taken into account. Newest counted: ', time(d.watermark), '.'),
    h('dl', { class: 'counts' }, COUNTS.map((name) => h('div', {}, h('dt', {}, name.replace('_', ' ')), h('dd', {}, count(d.requests[name]))))));
}

/** Each miss counts once, under its largest cause. */
function overTime(series, context) {
  const points = series.points.map((p) => ({ ...p, x: Math.round(dateOf(p.t).getTime() / 1000) }));
  const sums = new Map();
  for (const p of points) for (const [cause, n] of Object.entries(p.by_cause ?? {})) sums.set(cause, (sums.get(cause) ?? 0) + n);
  const causes = [...sums].sort((a, b) => b[1] - a[1]).map(([cause]) => cause);
  if (!causes.length) return h('p', { class: 'empty' }, 'No request missed in this window.');
  return timeChart('causes', {
    points, step: Number(series.step), title: 'Missed requests by largest cause', format: countText, stacked: true,
    onZoom: (from, to) => context.go({ range: undefined, from: String(from), to: String(to) }),
    series: causes.map((cause) => ({ label: cause, hint: CAUSES[cause], colour: causeColour(cause), value: (p) => p.by_cause?.[cause] ?? 0 })),
  });
}

/** A quantity in the unit that its name ends with. */
function quantity(name, value) {
  if (value !== null && typeof value === 'object' && !Array.isArray(value)) return pairs(Object.entries(value).map(([k, v]) => [k.replaceAll('_', ' '), quantity(`${name} ${k}`, v)]));
  if (typeof value !== 'number') return anyValue(value);
  if (/share|fraction/.test(name)) return percentText(value);
  if (/_ms(_|$)/.test(name)) return durationText(value / 1000);
  if (/_gb_s$/.test(name)) return `${Number(value.toPrecision(3))} GB/s`;
  return anyValue(value);
}

const quantityName = (name) => name.replaceAll('_', ' ').replace(/ (ms|gb s)( |$)/, '$2').trim();

function draw(d, data, context) {
  return [
    verdict(d),
    h('div', { class: 'grid' },
      panel('Misses by cause', { id: 'over-time', wide: true, note: 'When they started; each counts once, under its largest cause.' }, ifAnswered(data.series, 'The series', (s) => overTime(s, context))),
      panel('Causes', { id: 'causes', wide: true, note: 'A miss may be shared between causes; its shares add up to one.' }, d.causes.length ? d.causes.map((c) => causeCard(c, context)) : h('p', { class: 'empty' }, 'No cause is named.')),
      panel('Findings', { id: 'findings' }, d.findings.length ? h('ul', { class: 'findings' }, d.findings.map((f) => h('li', { class: f.severity },
        h('b', {}, f.finding), ` ${f.severity ?? ''} · `, f.detail, isMissing(f.requests) ? '' : ` · ${countText(f.requests)} ${f.requests === 1 ? 'request' : 'requests'}`, h('p', { class: 'quiet' }, FINDINGS[f.finding] ?? ''), evidence(f.evidence)))) : h('p', { class: 'empty' }, 'Nothing found.')),
      panel('Missing telemetry', { id: 'missing', note: 'What would make the answer surer.' }, table('Missing telemetry', [
        { title: 'signal', cell: (m) => h('code', {}, m.signal) }, { title: 'why it matters', cell: (m) => m.why_it_matters }, { title: 'how to get it', cell: (m) => m.how_to_get_it },
      ], d.missing_telemetry, { empty: 'Nothing that this answer needs is missing.' })),
      panel('Quantities', { id: 'quantities', wide: true, note: 'Only what could be measured.' }, Object.keys(d.quantities).length ? h('details', { data: { keep: 'quantities' } }, h('summary', {}, `${Object.keys(d.quantities).length} quantities`), pairs(Object.entries(d.quantities).map(([k, v]) => [quantityName(k), quantity(k, v)]))) : missing('none could be measured'))),
  ];
}

const render = (data, context) => ifAnswered(data.diagnosis, 'Why', (d) => draw(d, data, context));

export const why = { id: 'why', title: 'Why', hotkey: '2', load, render };
