// The list of requests: filter, order, page through, open.

import { settle } from '../api.js';
import { h, panel } from '../dom.js';
import { ifAnswered } from '../empty.js';
import { countText } from '../format.js';
import { requestTable } from '../requesttable.js';
import { common } from '../state.js';

const PAGE = 50;
const LARGEST_PAGE = 1000;
const OUTCOMES = ['ok', 'cancelled', 'interrupted', 'rejected', 'invalid', 'timeout', 'error'];
const wanted = { key: null, limit: PAGE };

/** More rows are asked for by a larger page, so that a live update keeps what was opened. */
async function load(context, signal) {
  const { outcome, missed, cause, order } = context.state;
  const asked = { ...common(context.state), outcome, missed, cause, order: order ?? 'newest' };
  const key = JSON.stringify({ ...context.state });
  if (wanted.key !== key) Object.assign(wanted, { key, limit: PAGE });
  return { list: await settle('requests', { ...asked, limit: wanted.limit }, signal) };
}

function choice(name, options, context) {
  return h('label', {}, h('span', {}, name), h('select', { name, data: { keep: `choice-${name}` }, onchange: (event) => context.go({ [name]: event.target.value || undefined }) },
    options.map(([value, title]) => h('option', { value, selected: (context.state[name] ?? '') === value }, title))));
}

function bar(context) {
  const causes = context.state.cause ? [['', 'any'], [context.state.cause, context.state.cause]] : null;
  return h('form', { class: 'choices', 'aria-label': 'Which requests', onsubmit: (event) => event.preventDefault() },
    choice('order', [['', 'newest first'], ['slowest', 'slowest first']], context),
    choice('missed', [['', 'met or missed'], ['true', 'missed'], ['false', 'met']], context),
    choice('outcome', [['', 'any outcome'], ...OUTCOMES.map((o) => [o, o])], context),
    causes && choice('cause', causes, context));
}

function more(list, context) {
  if (!list.next_cursor) return null;
  if (wanted.limit >= LARGEST_PAGE) return h('p', { class: 'quiet' }, `The first ${countText(LARGEST_PAGE)} are shown; narrow the window for the rest.`);
  return h('button', { type: 'button', data: { keep: 'more' }, onclick: () => { wanted.limit = Math.min(LARGEST_PAGE, wanted.limit * 2); context.refresh(); } }, 'More');
}

function render(data, context) {
  const total = data.list.value?.total;
  return panel(`Requests`, { id: 'requests', wide: true, actions: total === undefined ? null : h('span', { class: 'quiet' }, `${countText(data.list.value.requests.length)} of ${countText(total)}`) },
    bar(context),
    ifAnswered(data.list, 'Requests', (list) => [
      requestTable('Requests', list.requests, ['started', 'model', 'tenant', 'outcome', 'ttft', 'tpot', 'e2e', 'tokens', 'longest', 'cause'], context, 'No request fits in this window.'),
      more(list, context),
    ]));
}

export const requests = { id: 'requests', title: 'Requests', hotkey: '3', load, render };
