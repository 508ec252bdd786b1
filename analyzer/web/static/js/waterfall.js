// The waterfall of one request: lanes by worker, rows by phase. A bar is the phase's own time; its solid part
// is exposed (somebody waited for it), its pale part was hidden behind something else.

import { h, link } from './dom.js';
import { durationText, roundText } from './format.js';
import { swatch } from './parts.js';
import { colour, label, meaning } from './phases.js';
import { isComposite } from './timeline.js';

const TICKS = [1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600];
const TICKS_WANTED = 6;
const LABELLED_SHARE = 0.13;

const percentOf = (seconds, span) => `${(100 * seconds) / span}%`;
const place = (start, end, span) => ({ left: percentOf(Math.max(0, start), span), width: percentOf(Math.max(0, Math.min(end, span) - Math.max(0, start)), span) });

function axis(span) {
  const step = TICKS.find((t) => span / t <= TICKS_WANTED) ?? TICKS.at(-1);
  const ticks = [];
  for (let k = 0; k * step <= span * 0.97 && k < 50; k += 1) ticks.push(Number((k * step).toPrecision(6)));
  return h('div', { class: 'row axis', 'aria-hidden': 'true' }, h('span', { class: 'name' }), h('span', { class: 'track' },
    ticks.map((t) => h('span', { class: 'tick', style: { left: percentOf(t, span) } }, t === 0 ? '0' : roundText(t)))), h('span', { class: 'took' }));
}

function marks(timeline, span) {
  const one = (seconds, name) => seconds !== null && seconds <= span && h('span', { class: `token ${name}`, style: { left: percentOf(seconds, span) } });
  return h('div', { class: 'row marks', 'aria-hidden': 'true' }, h('span', { class: 'name' }),
    h('span', { class: 'track' }, one(timeline.firstToken, 'first'), one(timeline.lastToken, 'last')), h('span', { class: 'took' }));
}

/** The overlap of an interval with the segments that belong to its phase. */
function exposedPieces(interval, cut) {
  const own = isComposite(interval)
    ? cut.filter((s) => String(s.covers ?? '') === String(interval.covers))
    : cut.filter((s) => s.part === interval.phase);
  return own.map((s) => ({ start: Math.max(s.start, interval.start), end: Math.min(s.end, interval.end) })).filter((p) => p.end > p.start);
}

const lengthOf = (pieces) => pieces.reduce((total, p) => total + p.end - p.start, 0);

function sentence(interval, pieces, shaded) {
  return [
    isComposite(interval) ? `within ${interval.covers.map(label).join(', ')}` : label(interval.phase),
    `on ${interval.worker}`,
    `${durationText(interval.start)} to ${durationText(interval.end)}, ${durationText(interval.end - interval.start)} long`,
    shaded && `${durationText(lengthOf(pieces))} exposed`,
    interval.source && interval.source,
    interval.reason,
  ].filter(Boolean).join('; ');
}

function bar(interval, timeline, span, explain) {
  const pieces = timeline.agrees ? exposedPieces(interval, timeline.cut) : [];
  const words = sentence(interval, pieces, timeline.agrees);
  if (interval.start > span || interval.end < 0) return null;
  const part = isComposite(interval) ? 'unattributed' : interval.phase;
  const length = Math.max(interval.end - interval.start, 1e-12);
  return h('button', {
    type: 'button', class: `bar ${isComposite(interval) ? 'composite' : ''} ${interval.source ?? ''}`, 'aria-label': words, title: words,
    style: { ...place(interval.start, interval.end, span), '--c': colour(part) }, onclick: () => explain(words), onfocus: () => explain(words),
  }, pieces.map((p) => h('span', { class: 'exposed', style: { left: percentOf(p.start - interval.start, length), width: percentOf(p.end - p.start, length) } })));
}

function row(entry, timeline, span, explain) {
  const own = entry.intervals.reduce((total, i) => total + i.end - i.start, 0);
  const composite = entry.covers.length > 0;
  const name = composite ? h('span', {}, 'within ', entry.covers.map(label).join(', ')) : label(entry.phase);
  const outside = entry.intervals.every((i) => i.start > span);
  return h('li', { class: 'row' },
    h('span', { class: 'name', title: composite ? 'an interval known to contain several phases' : meaning(entry.phase) },
      swatch(composite ? 'unattributed' : entry.phase, composite), name, entry.attempt && h('small', {}, `attempt ${entry.attempt}`)),
    h('span', { class: 'track' }, entry.intervals.map((i) => bar(i, timeline, span, explain)), outside && h('span', { class: 'outside' }, 'after the first token ›')),
    h('span', { class: 'took' }, durationText(own)));
}

function lane(entry, timeline, span, explain) {
  return h('li', { class: 'lane' }, h('h3', {}, entry.worker, entry.role && h('small', {}, ` ${entry.role}`)),
    h('ol', {}, entry.rows.map((r) => row(r, timeline, span, explain))));
}

/** The strip that adds up to TTFT: every instant until the first token belongs to one part, gaps included. */
function strip(timeline, request, span, explain) {
  if (!timeline.cut.length || !timeline.agrees) return null;
  const pieces = timeline.cut.map((s) => {
    const name = s.covers ? `within ${s.covers.map(label).join(', ')}` : label(s.part);
    const short = `${name} ${durationText(s.end - s.start)}`;
    const words = `${short} exposed; ${durationText(s.start)} to ${durationText(s.end)}; ${s.reason ?? meaning(s.part)}`;
    return h('button', { type: 'button', class: s.covers ? 'bar solid composite' : s.part === 'unattributed' ? 'bar solid gap' : 'bar solid', 'aria-label': words, title: words,
      style: { ...place(s.start, s.end, span), '--c': colour(s.part) }, onclick: () => explain(words), onfocus: () => explain(words) },
    s.end - s.start > span * LABELLED_SHARE && h('span', { class: 'chip' }, short));
  });
  return h('li', { class: 'lane strip' }, h('h3', {}, 'Exposed', h('small', {}, ' adds up to TTFT')),
    h('ol', {}, h('li', { class: 'row' }, h('span', { class: 'name' }, 'all parts'), h('span', { class: 'track' }, pieces), h('span', { class: 'took' }, durationText(request.ttft)))));
}

/**
 * Gaps of the strip that are worth naming, as sentences.
 * @returns [{start, end, covers?, reason?}] longer than a hundredth of TTFT
 */
const namedGaps = (timeline, ttft) => timeline.cut.filter((s) => s.part === 'unattributed' && s.end - s.start > ttft / 100);

function gapList(timeline, request) {
  const gaps = timeline.agrees ? namedGaps(timeline, request.ttft) : [];
  if (!gaps.length) return null;
  return h('div', { class: 'gaps' }, h('h3', {}, 'Gaps'), h('ul', {}, gaps.map((g) => h('li', {}, swatch('unattributed', Boolean(g.covers)),
    h('b', {}, durationText(g.end - g.start)), ` from ${durationText(g.start)} to ${durationText(g.end)}: `,
    g.covers ? `within ${g.covers.map(label).join(', ')}${g.reason ? ` (${g.reason})` : ''}` : 'unattributed, no span covers it'))));
}

function zoomLinks(all, timeline, context) {
  if (timeline.firstToken === null || timeline.end <= timeline.firstToken * 1.05) return null;
  const one = (zoom, title, current) => link(context.href({ zoom }), { 'data-zoom': true, 'aria-current': current ? 'true' : null, data: { keep: `zoom-${zoom ?? 'ttft'}` } }, title);
  return h('span', { class: 'switch' }, one(undefined, 'Until first token', !all), one('all', 'Whole request', all));
}

function tokenLegend(timeline) {
  const item = (seconds, name, title) => h('li', {}, h('span', { class: `token-key ${name}`, 'aria-hidden': 'true' }), `${title} `, seconds === null ? 'not seen' : h('b', {}, durationText(seconds)));
  return h('ul', { class: 'legend' }, item(timeline.firstToken, 'first', 'first token'), item(timeline.lastToken, 'last', 'last token'),
    h('li', {}, h('span', { class: 'swatch' }), 'exposed'), h('li', {}, h('span', { class: 'swatch pale' }), 'hidden behind another phase'),
    h('li', {}, h('span', { class: 'swatch hatched' }), 'within several phases'), h('li', {}, h('span', { class: 'swatch gap' }), 'no span'));
}

/** @returns {actions, body}: the zoom links and the waterfall */
export function waterfall(request, timeline, context) {
  const all = context.state.zoom === 'all' || timeline.firstToken === null;
  const span = all ? timeline.end * 1.01 : timeline.firstToken * 1.04;
  const said = h('output', { class: 'explained' }, 'Choose a bar to read it.');
  const explain = (words) => said.replaceChildren(words);
  const unlike = timeline.cut.length > 0 && !timeline.agrees;
  return {
    actions: zoomLinks(all, timeline, context),
    body: timeline.intervals.length === 0
      ? h('p', { class: 'empty' }, 'No interval is known for this request: no span of it names a phase.')
      : [tokenLegend(timeline),
        unlike && h('p', { class: 'note warn' }, 'Exposed time is not shaded here: laid out from these intervals alone it would not match the measured amounts below.'),
        h('div', { class: 'waterfall' }, marks(timeline, span), axis(span),
          h('ol', { class: 'lanes' }, strip(timeline, request, span, explain), timeline.lanes.map((l) => lane(l, timeline, span, explain)))),
        said, gapList(timeline, request)],
  };
}
