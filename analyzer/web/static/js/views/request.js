// One request: what happened to it, lane by lane, and where its time went.

import { get, SeveralMatches } from '../api.js';
import { causeColour } from '../causecolours.js';
import { h, link, panel, table } from '../dom.js';
import { count, countText, duration, durationText, isMissing, missing, percentText, text, time } from '../format.js';
import { named, partsBar, partsLegend, swatch } from '../parts.js';
import { DECODE_PARTS, label, meaning, TTFT_PARTS } from '../phases.js';
import { cause, outcome, tpot, ttft, ttftParts, verdictMark } from '../requestparts.js';
import { requestTable } from '../requesttable.js';
import { ownDuration, sourcesOf, timelineOf } from '../timeline.js';
import { anyValue, evidence, pairs } from '../values.js';
import { CAUSES } from '../vocabulary.js';
import { waterfall } from '../waterfall.js';

async function load(context, signal) {
  const { id, ttft: t, tpot: p, target } = context.state;
  if (!id) return { request: null };
  try {
    return { request: await get(`requests/${encodeURIComponent(id)}`, { ttft: t, tpot: p, target }, signal) };
  } catch (error) {
    if (error instanceof SeveralMatches) return { several: error.requests };
    throw error;
  }
}

function copyable(value, what) {
  if (!value) return missing(`no ${what}`);
  const button = h('button', { type: 'button', class: 'plain', 'aria-label': `Copy the ${what}`, onclick: async () => {
    await navigator.clipboard.writeText(value);
    button.textContent = 'copied';
    setTimeout(() => { button.textContent = 'copy'; }, 1500);
  } }, 'copy');
  return h('span', { class: 'copyable' }, h('code', {}, value), button);
}

/** How the TTFT is known: who saw the first token and how far the clocks may be off. */
function ttftBasis(r) {
  if (r.censored) return h('span', {}, 'no first token was seen');
  const bound = isMissing(r.ttft_uncertainty) ? missing('no bound on the clocks is known') : durationText(r.ttft_uncertainty);
  return h('span', {}, '± ', bound, ', by ', text(r.ttft_source ? label(r.ttft_source) : null, 'nothing says when the first token was sent'));
}

const tpotMark = (r) => (r.tpot === null && r.met?.tpot ? h('span', {}, 'undefined counts as met') : verdictMark(r.met?.tpot, 'TPOT'));

function summary(r) {
  const tile = (title, value, ...below) => h('div', { class: 'tile' }, h('h2', {}, title), h('p', { class: 'big' }, value), below.map((b) => h('div', { class: 'below' }, b)));
  return h('div', { class: 'tiles' },
    tile('TTFT', h('span', { class: r.met?.ttft === false ? 'bad' : null }, ttft(r)), verdictMark(r.met?.ttft, 'TTFT'), ttftBasis(r)),
    tile('TPOT', h('span', { class: r.met?.tpot === false ? 'bad' : null }, tpot(r)), tpotMark(r), h('span', {}, count(r.output_tokens, 'output tokens not reported'), ' output tokens')),
    tile('Whole request', duration(r.e2e, 'no end was seen'), h('span', {}, outcome(r), r.complete === false && ' · incomplete: spans are missing'), h('span', {}, count(r.attempts), r.attempts === 1 ? ' attempt' : ' attempts')),
    tile('Prompt', h('span', {}, count(r.input_tokens, 'input tokens not reported'), h('small', {}, ' tokens')), h('span', {}, count(r.cached_tokens, 'nothing reports cached tokens'), ' cached')));
}

/** Composites are time known to lie within several phases: part of unattributed, shown under it. */
function phaseRows(r, timeline) {
  const rows = TTFT_PARTS.map((part) => ({ part, exposed: r.exposed?.[part], own: ownDuration(r, timeline.intervals, part), sources: sourcesOf(timeline.intervals, part) }));
  const inside = (r.composites ?? []).map((c) => ({ composite: c, exposed: c.exposed }));
  return [...rows, ...inside];
}

const notAPhase = (part) => part === 'retry' || part === 'unattributed';

function exposedCell(row) {
  if (row.composite) return h('span', { class: 'quiet' }, duration(row.exposed));
  const unseen = row.own === null && !row.exposed && !notAPhase(row.part);
  return unseen ? missing('no span of this phase was seen') : duration(row.exposed, 'TTFT is not known');
}

function phaseTable(r, timeline) {
  return table('Phases until the first token', [
    { title: 'part', cell: (row) => (row.composite ? h('span', { class: 'named inside' }, swatch('unattributed', true), `of it within ${row.composite.covers.map(label).join(', ')}`) : named(row.part)) },
    { title: 'exposed', hint: 'time somebody waited for this', numeric: true, cell: exposedCell },
    { title: 'of TTFT', numeric: true, cell: (row) => (isMissing(row.exposed) || !r.ttft || (!row.composite && row.own === null && !row.exposed && !notAPhase(row.part)) ? missing('not measured') : percentText(row.exposed / r.ttft)) },
    { title: 'own duration', hint: 'union of its intervals, hidden or not', numeric: true, cell: (row) => (row.composite || notAPhase(row.part) ? missing('not a phase of its own') : duration(row.own, 'no span of this phase was seen')) },
    { title: 'source', cell: (row) => (row.composite ? h('span', { class: 'source' }, 'bounded') : row.sources?.length ? row.sources.map((s) => h('span', { class: `source ${s}` }, s)) : missing(notAPhase(row.part) ? 'what is left over' : 'no span of this phase was seen')) },
    { title: 'meaning', class: 'meaning', cell: (row) => h('span', { class: 'quiet' }, row.composite ? row.composite.reason || 'known to lie in these, not split between them' : meaning(row.part)) },
  ], phaseRows(r, timeline));
}

function decodePanel(r) {
  const parts = DECODE_PARTS.map((part) => [part, r.exposed_decode?.[part] ?? 0]);
  const total = parts.reduce((sum, [, s]) => sum + s, 0);
  return panel('After the first token', { id: 'decode' }, total > 0
    ? [partsBar(parts, total, 'Decode interval'), partsLegend(parts, total)]
    : h('p', { class: 'empty' }, 'No decode interval: the first or the last token was not seen.'));
}

const missingSignals = (signals) => h('ul', { class: 'evidence' }, signals.map((m) => h('li', {}, h('code', {}, m.signal), ` ${m.why_it_matters}; ${m.how_to_get_it}`)));

/** What the miss is made of, when there is more than one cause. */
function shares(causes) {
  const parts = Object.entries(causes ?? {}).sort((a, b) => b[1] - a[1]);
  return parts.length > 1 && h('ul', { class: 'legend' }, parts.map(([cause, share]) =>
    h('li', { title: CAUSES[cause] }, h('span', { class: 'swatch', style: { '--c': causeColour(cause) }, 'aria-hidden': 'true' }), `${cause} `, h('b', {}, percentText(share)))));
}

function verdictPanel(r) {
  const v = r.verdict;
  const body = !v || v.cause === 'insufficient_evidence'
    ? [h('p', {}, h('b', {}, 'Insufficient evidence. '), 'pdscope names no cause that its telemetry can’t carry.'), v && evidence(v.evidence), v?.missing_telemetry?.length ? missingSignals(v.missing_telemetry) : null]
    : v.cause === 'none' ? h('p', {}, 'Objective met; nothing to blame.')
      : [h('p', {}, h('b', {}, v.cause), isMissing(v.confidence) ? '' : ` · confidence ${percentText(v.confidence)}`),
        h('p', { class: 'quiet' }, CAUSES[v.cause] ?? 'not in the vocabulary'), shares(r.causes), evidence(v.evidence),
        v.counterfactual !== null && v.counterfactual !== undefined && h('div', {}, h('h3', {}, 'Without it'), anyValue(v.counterfactual)),
        v.next_step && h('p', { class: 'next' }, h('b', {}, 'Next: '), v.next_step)];
  return panel('Verdict', { id: 'verdict' }, body);
}

const correction = (c) => h('li', {}, `${c.worker}: ${durationText(c.offset)} ± `, duration(c.uncertainty, 'unbounded on one side'));

const routed = (way) => [
  way.reason, way.candidates && `among ${way.candidates.join(', ')}`, way.rejected && `not ${way.rejected.join(', ')}`,
  way.fallback && `fallback: ${way.fallback}`, !isMissing(way.admission_wait) && `admitted after ${durationText(way.admission_wait)}`,
  way.deadline && `due ${way.deadline}`,
].filter(Boolean).join('; ');

function identity(r) {
  return panel('Identity', { id: 'identity' }, pairs([
    ['key', copyable(r.key, 'key')], ['request id', copyable(r.request_id, 'request id')], ['client’s id', copyable(r.client_request_id, 'client request id')], ['trace', copyable(r.trace_id, 'trace id')],
    ['prefill worker', text(r.prefill_worker, 'no span names the prefill worker')], ['decode worker', text(r.decode_worker, 'no span names the decode worker')],
    ['tenant', text(r.tenant, 'no tenant was given')], ['route', text(r.route, 'no route was given')], ['cohort', text(r.cohort, 'no cohort was given')],
    ['joined by', r.joined_by?.length ? h('span', { class: 'tags' }, r.joined_by.map((j) => h('span', { class: 'tag' }, j))) : missing('its spans needed no joining')],
    ['clock corrections', r.clock_corrections?.length ? h('ul', {}, r.clock_corrections.map(correction)) : missing('none were made')],
    ...(isMissing(r.spans) ? [] : [['spans', `${countText(r.spans)}, ${countText(r.late_spans)} late, ${countText(r.duplicate_spans)} duplicate`]]),
    ...(r.routing ? [['routing', routed(r.routing)]] : []),
    ...(r.error_type ? [['error', r.error_type]] : []),
    ...(r.notes?.length ? [['notes', anyValue(r.notes)]] : []),
  ]));
}

function render(data, context) {
  if (data.several) return panel('Several requests bear this id', { id: 'several', wide: true }, requestTable('Matches', data.several, ['started', 'model', 'outcome', 'ttft', 'e2e'], context));
  const r = data.request;
  if (!r) return h('p', { class: 'empty' }, 'No request was named. Enter an id above, or choose one from the ', link(context.href({ view: 'requests' }), {}, 'list'), '.');
  const timeline = timelineOf(r);
  const drawn = waterfall(r, timeline, context);
  const blamed = r.verdict && !['none', 'insufficient_evidence'].includes(r.verdict.cause);
  return [
    h('div', { class: 'request-head' }, h('h2', { class: 'id' }, r.request_id || r.key), h('p', {}, r.model ?? 'model not named', ' · started ', time(r.started_at), ' · ', verdictMark(r.met?.joint, 'objective'), ' · cause: ', cause(r))),
    summary(r),
    blamed && verdictPanel(r),
    panel('Waterfall', { id: 'waterfall', wide: true, actions: drawn.actions }, drawn.body),
    panel('Where TTFT went', { id: 'phases', wide: true }, r.ttft > 0 && r.exposed ? [partsBar(ttftParts(r), r.ttft, 'Exposed time until the first token'), partsLegend(ttftParts(r), r.ttft)] : null, phaseTable(r, timeline)),
    h('div', { class: 'grid' }, h('div', { class: 'stack' }, decodePanel(r), !blamed && verdictPanel(r)), identity(r)),
  ];
}

export const request = { id: 'request', title: 'Request', tab: 'requests', filters: 'objective', load, render };
