// Time series on uPlot: lines or stacked bars, a legend that reads the point under the cursor, the same
// numbers as a table, arrow keys, and a drag that zooms the whole page to a time range.

import uPlot from '../vendor/uplot/uPlot.esm.js';
import { h, table } from './dom.js';
import { clockText, dayText, isMissing, missing } from './format.js';

const SYNC_KEY = 'time';
const HEIGHT = 210;
const charts = new Map();
let dragged = null;

const probe = h('span', { hidden: true });

/** A canvas knows no var() and no light-dark(): an element that wears the colour says what it is now. */
function resolved(colour, opacity = 1) {
  if (!probe.isConnected) document.body.append(probe);
  probe.style.color = opacity === 1 ? colour : `color-mix(in srgb, ${colour} ${opacity * 100}%, transparent)`;
  return getComputedStyle(probe).color;
}

/** Times with every step present: a bucket without a point is a gap, not a straight line across it. */
function regular(points, step) {
  if (points.length < 2) return points;
  const byTime = new Map(points.map((p) => [p.x, p]));
  const first = points[0].x;
  const last = points.at(-1).x;
  if (!points.every((p) => (p.x - first) % step === 0) || (last - first) / step > 5000) return points;
  const all = [];
  for (let x = first; x <= last; x += step) all.push(byTime.get(x) ?? { x, absent: true });
  return all;
}

/** Running sums from the bottom of the stack to its top. */
function stack(columns) {
  let below = columns[0]?.map(() => 0) ?? [];
  return columns.map((column) => {
    below = column.map((v, i) => below[i] + (v ?? 0));
    return below;
  });
}

function axisTime(u, splits, axisIndex, space, increment) {
  let day = '';
  return splits.map((s) => {
    const date = new Date(s * 1000);
    const clock = increment < 60 ? clockText(date) : clockText(date).slice(0, 5);
    const here = dayText(date);
    const turned = day !== '' && here !== day;
    day = here;
    return increment >= 86400 ? here : turned ? `${clock}\n${here}` : clock;
  });
}

function optionsOf(chart, width) {
  const { spec } = chart;
  const axis = { stroke: () => resolved('var(--quiet)'), grid: { stroke: () => resolved('var(--line)'), width: 1 }, ticks: { show: false }, font: '12px system-ui, sans-serif' };
  const drawn = spec.stacked ? [...spec.series].reverse() : spec.series;
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    scales: { x: { time: true }, y: { range: spec.range ?? ((u, low, high) => [0, high > 0 ? high * 1.08 : 1]) } },
    axes: [{ ...axis, size: 34, space: 76, values: axisTime }, { ...axis, size: 62, values: (u, splits) => splits.map((v) => spec.format(v)) }],
    cursor: { sync: { key: SYNC_KEY }, drag: { x: true, y: false, setScale: false }, points: { show: !spec.stacked, size: 7 } },
    series: [{}, ...drawn.map((s) => ({
      label: s.label,
      stroke: () => resolved(s.colour),
      fill: spec.stacked ? () => resolved(s.colour) : s.filled ? () => resolved(s.colour, 0.14) : undefined,
      width: spec.stacked ? 0 : 2,
      dash: s.dashed ? [6, 5] : undefined,
      points: { show: spec.stacked || s.dashed ? false : undefined, size: 5 },
      paths: spec.stacked ? uPlot.paths.bars({ size: [0.86, 40], align: 1 }) : undefined,
    }))],
    hooks: {
      setCursor: [(u) => readOut(chart, u.cursor.idx)],
      setSelect: [(u) => zoomTo(chart, u)],
    },
  };
}

function zoomTo(chart, u) {
  if (u.select.width < 8) return;
  const from = Math.floor(u.posToVal(u.select.left, 'x'));
  const to = Math.ceil(u.posToVal(u.select.left + u.select.width, 'x'));
  u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  // The other charts follow the selection; only the one under the pointer may act on it.
  if (dragged !== chart) return;
  dragged = null;
  chart.spec.onZoom?.(from, Math.max(to, from + chart.spec.step));
}

function readOut(chart, index) {
  const { spec } = chart;
  const pointed = index === null || index === undefined ? null : chart.points[index];
  const summed = !pointed && spec.stacked;
  const at = pointed ?? lastFull(chart);
  chart.when.replaceChildren(summed ? 'sum' : at ? clockText(new Date(at.x * 1000)) : 'no full interval');
  chart.when.title = pointed || summed ? '' : 'the last full interval';
  spec.series.forEach((s, i) => {
    const value = summed ? sum(chart, s) : !at || at.absent ? null : s.value(at);
    chart.values[i].replaceChildren(isMissing(value) ? missing('no value at this time') : spec.format(value));
  });
}

/** The newest interval that is over: of one under way a rate says too little. */
const lastFull = (chart) => chart.points.findLast((p) => p.x + chart.spec.step <= (chart.spec.until ?? Infinity));

function sum(chart, series) {
  const known = chart.points.map((p) => (p.absent ? null : series.value(p))).filter((v) => !isMissing(v));
  return known.length ? known.reduce((a, b) => a + b, 0) : null;
}

function columnsOf(chart) {
  const raw = chart.spec.series.map((s) => chart.points.map((p) => (p.absent ? null : s.value(p) ?? null)));
  return [chart.points.map((p) => p.x), ...(chart.spec.stacked ? stack(raw).reverse() : raw)];
}

function frameOf(chart) {
  chart.when = h('span', { class: 'when' });
  chart.values = [];
  chart.legend = h('ul', { class: 'legend' });
  chart.plot = h('div', {
    class: 'plot', role: 'group', tabindex: '0', data: { keep: `chart-${chart.key}` },
    onkeydown: (event) => moveCursor(chart, event), onmousedown: () => { dragged = chart; }, onblur: () => chart.u?.setCursor({ left: -10, top: -10 }),
  });
  chart.numbers = h('details', { class: 'numbers', data: { keep: `numbers-${chart.key}` }, ontoggle: () => fillNumbers(chart) }, h('summary', {}, 'Numbers'));
  return h('div', { class: 'chart' }, h('output', { class: 'readout' }, chart.when, chart.legend), chart.plot, chart.numbers);
}

function moveCursor(chart, event) {
  const move = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
  if (move === undefined || !chart.points.length) return;
  event.preventDefault();
  const last = chart.points.length - 1;
  const next = Math.max(0, Math.min(last, (chart.u.cursor.idx ?? (move < 0 ? last + 1 : -1)) + move));
  chart.u.setCursor({ left: chart.u.valToPos(chart.points[next].x, 'x') + 1, top: 10 });
  readOut(chart, next);
}

function fillNumbers(chart) {
  if (!chart.numbers.open) return;
  const columns = [
    { title: 'time', cell: (p) => `${dayText(new Date(p.x * 1000))} ${clockText(new Date(p.x * 1000))}` },
    ...chart.spec.series.map((s) => ({ title: s.label, numeric: true, cell: (p) => (p.absent || isMissing(s.value(p)) ? missing('no value at this time') : chart.spec.format(s.value(p))) })),
  ];
  chart.numbers.replaceChildren(chart.numbers.firstChild, table(`${chart.spec.title}: numbers`, columns, [...chart.points].reverse()));
}

function relabel(chart) {
  chart.values = chart.spec.series.map(() => h('b', {}));
  chart.legend.replaceChildren(...chart.spec.series.map((s, i) => h('li', { title: s.hint },
    h('span', { class: s.dashed ? 'swatch dashed' : 'swatch', style: { '--c': s.colour }, 'aria-hidden': 'true' }), `${s.label} `, chart.values[i])));
  chart.plot.setAttribute('aria-label', `${chart.spec.title}. Chart; the arrow keys move through time.`);
}

function redraw(chart) {
  const width = chart.plot.clientWidth;
  if (!width) return;
  const shape = JSON.stringify(chart.spec.series.map((s) => [s.label, s.colour]));
  if (chart.u && chart.shape === shape) {
    chart.u.setData(columnsOf(chart));
    return;
  }
  chart.u?.destroy();
  chart.shape = shape;
  chart.u = new uPlot(optionsOf(chart, width), columnsOf(chart), chart.plot);
  chart.u.root.setAttribute('aria-hidden', 'true');
}

/**
 * The chart named `key`, made on first use and fed afterwards, so a live update keeps the cursor.
 * @param spec {title, points: [{x: Unix seconds, …}], step, series: [{label, colour, value(point), hint, dashed, filled}],
 *              stacked, format(value), range, until: where the window ends, onZoom(from, to)}
 */
export function timeChart(key, spec) {
  let chart = charts.get(key);
  if (!chart) {
    chart = { key };
    chart.frame = frameOf(chart);
    new ResizeObserver(() => {
      if (!chart.u) redraw(chart);
      else if (chart.plot.clientWidth && chart.plot.clientWidth !== chart.u.width) chart.u.setSize({ width: chart.plot.clientWidth, height: HEIGHT });
    }).observe(chart.plot);
    charts.set(key, chart);
  }
  chart.spec = spec;
  chart.points = regular(spec.points, spec.step);
  relabel(chart);
  redraw(chart);
  readOut(chart, chart.u?.cursor.idx);
  fillNumbers(chart);
  return chart.frame;
}

document.documentElement.addEventListener('themechange', () => {
  for (const chart of charts.values()) chart.u?.redraw(false, true);
});
