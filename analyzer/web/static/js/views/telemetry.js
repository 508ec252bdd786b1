// What pdscope receives, what it misses, and how far that can be trusted.

import { settle } from '../api.js';
import { h, panel } from '../dom.js';
import { ifAnswered } from '../empty.js';
import { anyValue } from '../values.js';
import { common } from '../state.js';

const load = async (context, signal) => ({ telemetry: await settle('telemetry', common(context.state), signal) });

const title = (name) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ');

const isGroup = (value) => value !== null && typeof value === 'object';

function draw(answer) {
  const groups = Object.entries(answer).filter(([, value]) => isGroup(value));
  const single = Object.fromEntries(Object.entries(answer).filter(([, value]) => !isGroup(value)));
  return h('div', { class: 'grid' },
    groups.map(([name, value]) => panel(title(name), { id: `telemetry-${name}`, wide: Array.isArray(value) }, anyValue(value))),
    Object.keys(single).length > 0 && panel('Totals', { id: 'telemetry-totals' }, anyValue(single)));
}

const render = (data) => ifAnswered(data.telemetry, 'Telemetry', draw);

export const telemetry = { id: 'telemetry', title: 'Telemetry', hotkey: '7', load, render };
