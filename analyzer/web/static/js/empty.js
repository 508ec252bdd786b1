// What is shown when there is nothing to show, and why.

import { NotAnswered } from './api.js';
import { h } from './dom.js';

export function emptyState(error, what = 'This view') {
  if (error instanceof NotAnswered) {
    return h('div', { class: 'empty', role: 'note' },
      h('p', {}, h('b', {}, `${what} has nothing to show: `), error.message, '.'),
      h('p', { class: 'quiet' }, 'Nothing is measured as zero here; there is simply no answer.'));
  }
  return failure(error);
}

export function failure(error, kept = false) {
  return h('div', { class: 'failure' },
    h('p', {}, h('b', {}, error.status ? `HTTP ${error.status}: ` : ''), error.message, error.field ? ` (${error.field})` : ''),
    kept && h('p', { class: 'quiet' }, 'What is below was read earlier; trying again.'));
}

const reading = () => h('p', { class: 'loading' }, 'Loading…');

/** `draw(value)` of a settled call, or its reason for being empty; of one that is still out, that it is. */
export const ifAnswered = (settled, what, draw) =>
  (settled.pending ? reading() : settled.error ? emptyState(settled.error, what) : draw(settled.value));
