// A bar cut into named parts, and the legend that names them.

import { h } from './dom.js';
import { durationText, percentText } from './format.js';
import { colour, label, meaning } from './phases.js';

export const swatch = (part, hatched = false) =>
  h('span', { class: hatched ? 'swatch hatched' : 'swatch', style: { '--c': colour(part) }, 'aria-hidden': 'true' });

export const named = (part) => h('span', { class: 'named', title: meaning(part) }, swatch(part), label(part));

const sentence = (parts) => parts.map(([part, s]) => `${label(part)} ${durationText(s)}`).join(', ');

/**
 * @param parts [[part, seconds]] in order
 * @param scale seconds that fill the whole width
 */
export function partsBar(parts, scale, what) {
  const positive = parts.filter(([, s]) => s > 0);
  return h('span', { class: 'parts', role: 'img', 'aria-label': `${what}: ${sentence(positive) || 'no time'}` },
    positive.map(([part, s]) => h('span', {
      class: part === 'unattributed' ? 'part gap' : 'part',
      title: `${label(part)} ${durationText(s)}`,
      style: { width: `${(100 * s) / scale}%`, '--c': colour(part) },
    })));
}

/** A legend with amounts; parts without time are left out. */
export function partsLegend(parts, total) {
  return h('ul', { class: 'legend' }, parts.filter(([, s]) => s > 0).map(([part, s]) =>
    h('li', { title: meaning(part) }, swatch(part), `${label(part)} `, h('b', {}, durationText(s)),
      total > 0 && h('span', { class: 'quiet' }, ` ${percentText(s / total)}`))));
}
