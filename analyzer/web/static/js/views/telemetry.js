// What pdscope receives, what it misses, and how far that can be trusted.

import { settle } from '../api.js';
import { h, panel } from '../dom.js';
import { ifAnswered } from '../empty.js';
import { anyValue } from '../values.js';
import { common } from '../state.js';

const load = async (context, signal) => ({ telemetry: await settle('telemetry', common(context.state), signal) });

const title = (name) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ');

const render = (data) => ifAnswered(data.telemetry, 'Telemetry', (answer) => h('div', { class: 'grid' },
  Object.entries(answer).map(([name, value]) => panel(title(name), { id: `telemetry-${name}` }, anyValue(value)))));

export const telemetry = { id: 'telemetry', title: 'Telemetry', hotkey: '7', load, render };
