// One-letter shortcuts; off while typing. Row movement works on any list marked data-rows.

import { h } from './dom.js';
import { VIEWS } from './views/all.js';

const typing = (target) => target.closest('input, textarea, select, [contenteditable]') !== null;

function moveRow(step) {
  const rows = [...document.querySelectorAll('main [data-row-link]')];
  if (!rows.length) return;
  const now = rows.indexOf(document.activeElement);
  const next = rows[Math.max(0, Math.min(rows.length - 1, now + step))];
  next.focus();
  next.scrollIntoView({ block: 'nearest' });
}

export function bindKeys({ go, toggleLive, nextTheme, showHelp, openBox }) {
  const actions = new Map([
    ['j', () => moveRow(1)],
    ['k', () => moveRow(-1)],
    ['p', toggleLive],
    ['t', nextTheme],
    ['?', showHelp],
    ['/', () => openBox.focus()],
    ['u', () => history.back()],
    ['z', () => document.querySelector('[data-zoom]:not([aria-current])')?.click()],
    ...VIEWS.filter((v) => v.hotkey).map((v) => [v.hotkey, () => go({ view: v.id, id: undefined })]),
  ]);
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
    if (typing(event.target)) {
      if (event.key === 'Escape') event.target.blur();
      return;
    }
    const action = actions.get(event.key);
    if (!action) return;
    event.preventDefault();
    action();
  });
}

export function helpContent(close) {
  const rows = [
    ...VIEWS.filter((v) => v.hotkey).map((v) => [v.hotkey, v.title]),
    ['j k', 'next, previous row'], ['Enter', 'open the row'], ['u', 'back'], ['/', 'open a request by id'],
    ['z', 'waterfall: first token or whole request'], ['← →', 'move through a chart that has the focus'],
    ['p', 'pause or resume live updates'], ['t', 'theme: system, light, dark'], ['?', 'this list'],
  ];
  return h('div', {}, h('h2', { id: 'help-title' }, 'Keyboard'),
    h('dl', { class: 'keys' }, rows.map(([key, what]) => [h('dt', {}, key.split(' ').map((k) => h('kbd', {}, k))), h('dd', {}, what)])),
    h('p', { class: 'quiet' }, 'Drag across a chart to look at that time only. The address holds all you have chosen; send it to somebody.'),
    h('form', { method: 'dialog', onsubmit: (event) => { event.preventDefault(); close(); } }, h('button', { autofocus: true }, 'Close')));
}
