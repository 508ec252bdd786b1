// What pdscope receives, what it misses, and how far that can be trusted.

import { settle } from '../api.js';
import { h, panel } from '../dom.js';
import { ifAnswered } from '../empty.js';
import { anyValue } from '../values.js';
import { common } from '../state.js';

const load = async (context, signal) => ({ telemetry: await settle('telemetry', common(context.state), signal) });

const title = (name) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ');

const isGroup = (value) => value !== null && typeof value === 'object';

/** One check: what is wrong, what follows from it, and what would mend it. */
const check = (c) => h('li', { class: c.severity },
  h('p', {}, h('b', {}, [c.system, c.subject].filter(Boolean).join(' ') || c.check), ` ${c.severity} · `, c.says),
  c.matters && h('p', { class: 'quiet' }, c.matters),
  c.fix && h('p', {}, '→ ', h('code', {}, c.fix)));

const checkList = (checks) => h('ul', { class: 'findings' }, checks.map(check));

/** What is wrong, in full; what is merely worth knowing, behind a fold. */
function checks(all) {
  const [minor, wrong] = [all.filter((c) => c.severity === 'info'), all.filter((c) => c.severity !== 'info')];
  return panel('Checks', { id: 'telemetry-checks', wide: true, note: 'What is missing, for which answer, and what would bring it; what contradicts itself.' },
    wrong.length ? checkList(wrong) : h('p', { class: 'empty' }, 'Nothing is missing, and nothing contradicts itself.'),
    minor.length > 0 && h('details', { data: { keep: 'minor-checks' } }, h('summary', {}, minor.length === 1 ? '1 more is merely worth knowing' : `${minor.length} more are merely worth knowing`), checkList(minor)));
}

function draw({ checks: checked, ...answer }) {
  const groups = Object.entries(answer).filter(([, value]) => isGroup(value));
  const single = Object.fromEntries(Object.entries(answer).filter(([, value]) => !isGroup(value)));
  return h('div', { class: 'grid' },
    checked && checks(checked),
    groups.map(([name, value]) => panel(title(name), { id: `telemetry-${name}`, wide: Array.isArray(value) }, anyValue(value))),
    Object.keys(single).length > 0 && panel('Totals', { id: 'telemetry-totals' }, anyValue(single)));
}

const render = (data) => ifAnswered(data.telemetry, 'Telemetry', draw);

export const telemetry = { id: 'telemetry', title: 'Telemetry', hotkey: '7', load, render };
