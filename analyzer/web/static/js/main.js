// Boot: the address decides the view, the view loads from REST and draws, a timer keeps it fresh.

import { ApiError } from './api.js';
import { h, link, replaceKeeping } from './dom.js';
import { emptyState, failure } from './empty.js';
import { drawFilters } from './filters.js';
import { clockText } from './format.js';
import { bindKeys, helpContent } from './keyboard.js';
import { Refresher } from './refresh.js';
import * as where from './state.js';
import { askToken } from './token.js';
import { VIEWS, viewById } from './views/all.js';

const main = document.getElementById('main');
const freshness = document.getElementById('freshness');
const notice = document.getElementById('notice');
const liveButton = document.getElementById('live');
const themeButton = document.getElementById('theme');
const help = document.getElementById('help');

const LOST = [0, 401, 502, 503, 504];
const REFUSED = [400, 413, 422, 429];

let state = where.parse(location.search);
let inFlight = null;
let drawn = null;

const context = {
  get state() { return state; },
  href: (changes) => where.href(state, changes),
  go,
  refresh: () => refresher.now(),
};

function go(changes, { replace = false } = {}) {
  const address = where.href(state, changes);
  history[replace ? 'replaceState' : 'pushState'](null, '', address);
  arrive();
}

function arrive() {
  const before = where.viewOf(state);
  state = where.parse(location.search);
  const moved = before !== where.viewOf(state) || drawn === null;
  drawTabs();
  drawFilters(document.getElementById('filters'), context, view().filters);
  if (moved) scrollTo(0, 0);
  refresher.restart(where.isFixed(state) ? null : secondsBetween());
}

const view = () => viewById(where.viewOf(state));

/** Short windows move fast; long ones cost more and change less. */
function secondsBetween() {
  const { from, to } = where.windowOf(state);
  return to - from <= 3600 ? 5 : to - from <= 86400 ? 15 : 60;
}

async function load() {
  inFlight?.abort();
  const mine = new AbortController();
  inFlight = mine;
  const current = view();
  const address = location.search;
  if (drawn !== address) main.setAttribute('aria-busy', 'true');
  if (drawn === null || viewKey(drawn) !== viewKey(address)) replaceKeeping(main, [h('p', { class: 'loading' }, 'Loading…')]);
  try {
    const data = await current.load(context, mine.signal, (some) => {
      if (!mine.signal.aborted && drawn !== address && outcomesOf(some).every((o) => !o.error)) draw(current, some);
    });
    if (mine.signal.aborted) return;
    const outcomes = outcomesOf(data);
    const lost = outcomes.find((o) => LOST.includes(o.error?.status));
    if (lost) throw lost.error;
    const refusal = sharedRefusal(outcomes);
    draw(current, data, refusal);
    markField(refusal?.field);
    drawn = address;
    fresh();
  } catch (error) {
    if (error.name === 'AbortError') return;
    if (!(error instanceof ApiError)) throw error;
    stale(error, address);
  } finally {
    if (inFlight === mine) main.removeAttribute('aria-busy');
  }
}

const outcomesOf = (data) => Object.values(data).filter((o) => o && ('value' in o || 'error' in o));

function draw(current, data, refusal) {
  replaceKeeping(main, [h('h1', { class: 'hidden' }, current.title), refusal ? failure(refusal) : current.render(data, context)]);
}

/** What REST holds against the question itself (a bad time, an unknown name) is said once, not in every panel. */
function sharedRefusal(outcomes) {
  const errors = outcomes.map((o) => o.error).filter((e) => e && REFUSED.includes(e.status));
  return errors.length && outcomes.every((o) => o.error) ? errors[0] : null;
}

function markField(name) {
  for (const field of document.querySelectorAll('#filters [name]')) {
    if (field.name === name) field.setAttribute('aria-invalid', 'true');
    else field.removeAttribute('aria-invalid');
  }
}

const viewKey = (search) => { const s = where.parse(search); return `${where.viewOf(s)} ${s.id ?? ''}`; };

function fresh() {
  notice.replaceChildren();
  document.title = `${view().title} · pdscope`;
  freshness.replaceChildren(`${where.isFixed(state) ? 'Read' : 'Updated'} ${clockText(new Date())}`);
}

/** No answer to draw: what was read earlier stays, marked as old, when it is of the same view. */
function stale(error, address) {
  const kept = drawn !== null && viewKey(drawn) === viewKey(address);
  if (error.status === 401) askToken(notice, error, () => refresher.now());
  else if (LOST.includes(error.status)) notice.replaceChildren(failure(error, kept));
  if (kept && LOST.includes(error.status)) return;
  replaceKeeping(main, [h('h1', { class: 'hidden' }, view().title), LOST.includes(error.status) ? null : emptyState(error)]);
  drawn = null;
}

function drawTabs() {
  const current = view().tab ?? where.viewOf(state);
  const tabs = document.getElementById('tabs');
  tabs.replaceChildren(...VIEWS.filter((v) => v.hotkey).map((v) =>
    link(where.href(state, { view: v.id, id: undefined }), { 'aria-current': v.id === current ? 'page' : null, title: `${v.title} (${v.hotkey})` }, v.title)));
  // On a phone the row of tabs is wider than the screen.
  tabs.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
}

function drawTools() {
  const fixed = where.isFixed(state);
  liveButton.textContent = fixed ? 'Refresh' : refresher.paused ? 'Resume' : 'Pause';
  liveButton.title = fixed ? 'Read again (p)' : 'Live updates (p)';
  liveButton.classList.toggle('live', !fixed && !refresher.paused);
  themeButton.textContent = { system: '◐', light: '☀', dark: '☾' }[window.pdscopeTheme.choice];
  themeButton.setAttribute('aria-label', `Theme: ${window.pdscopeTheme.choice}. Change it`);
  themeButton.title = `Theme: ${window.pdscopeTheme.choice} (t)`;
}

const refresher = new Refresher(load, drawTools);
const toggleLive = () => (where.isFixed(state) ? refresher.now() : refresher.toggle());
const nextTheme = () => { window.pdscopeTheme.next(); drawTools(); };
const showHelp = () => { help.replaceChildren(helpContent(() => help.close())); help.showModal(); };

document.addEventListener('click', (event) => {
  const anchor = event.target.closest('a[data-nav]');
  if (!anchor || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  history.pushState(null, '', anchor.getAttribute('href'));
  arrive();
});
document.getElementById('open').addEventListener('submit', (event) => {
  event.preventDefault();
  const id = document.getElementById('open-id').value.trim();
  if (id) go({ view: 'request', id });
});
liveButton.addEventListener('click', toggleLive);
themeButton.addEventListener('click', nextTheme);
document.getElementById('keys').addEventListener('click', showHelp);
addEventListener('popstate', arrive);
bindKeys({ go, toggleLive, nextTheme, showHelp, openBox: document.getElementById('open-id') });
arrive();
