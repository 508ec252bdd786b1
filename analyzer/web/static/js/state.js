// What the reader looks at, kept in the address: every view is a link that can be sent to somebody.

export const RANGES = { '15m': 900, '1h': 3600, '6h': 21600, '24h': 86400, '7d': 604800, '30d': 2592000 };
export const RANGE_LABELS = {
  '15m': 'Last 15 minutes', '1h': 'Last hour', '6h': 'Last 6 hours', '24h': 'Last 24 hours', '7d': 'Last 7 days', '30d': 'Last 30 days',
};
export const SELECTORS = ['model', 'tenant', 'route', 'cohort', 'pool', 'worker'];
export const OBJECTIVE = ['ttft', 'tpot', 'target'];
const WINDOW = ['range', 'from', 'to'];
const VIEW_ONLY = ['id', 'objective', 'outcome', 'missed', 'cause', 'order', 'by', 'zoom', 'plan'];

const KEPT = [...WINDOW, ...SELECTORS, ...OBJECTIVE];
const KNOWN = ['view', ...VIEW_ONLY, ...KEPT];
const DEFAULTS = { view: 'overview', range: '1h' };
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400];
const POINTS_WANTED = 90;

/** Known parameters of a query string; anything else, a range that is none of ours too, is dropped. */
export function parse(search) {
  const given = new URLSearchParams(search);
  const state = {};
  for (const name of KNOWN) if (given.get(name)) state[name] = given.get(name);
  if (!Object.hasOwn(RANGES, state.range)) delete state.range;
  return state;
}

const asText = (state) =>
  new URLSearchParams(KNOWN.filter((n) => state[n] && state[n] !== DEFAULTS[n]).map((n) => [n, state[n]])).toString();

/** The address of `state` with `changes`; a change of view keeps the window, selectors and objective only. */
export function href(state, changes = {}) {
  const base = 'view' in changes && changes.view !== state.view
    ? Object.fromEntries(Object.entries(state).filter(([name]) => KEPT.includes(name)))
    : state;
  return `?${asText({ ...base, ...changes })}`;
}

export const viewOf = (state) => state.view ?? DEFAULTS.view;
export const isFixed = (state) => Boolean(state.from || state.to);

const unixSeconds = (value) => (/^\d+(\.\d+)?$/.test(value) ? Number(value) : Date.parse(value) / 1000);

/** The window in Unix seconds: what the address fixes, else the range that ends now. */
export function windowOf(state, now = Date.now() / 1000) {
  const length = RANGES[state.range] ?? RANGES[DEFAULTS.range];
  const to = state.to ? unixSeconds(state.to) : isFixed(state) ? Math.floor(now) : Math.ceil(now);
  const from = state.from ? unixSeconds(state.from) : to - length;
  return { from, to };
}

/** REST's common parameters. Fixed ends go out as they were written; REST is the judge of them. */
export function common(state, now) {
  const { from, to } = windowOf(state, now);
  const params = { from: state.from ?? from, to: state.to ?? to };
  for (const name of [...SELECTORS, ...OBJECTIVE]) if (state[name]) params[name] = state[name];
  return params;
}

/** Seconds per point of a series, so that a chart has about ninety of them. */
export function stepOf(state) {
  const { from, to } = windowOf(state);
  const wanted = (to - from) / POINTS_WANTED;
  return STEPS.find((s) => s >= wanted) ?? STEPS.at(-1);
}
