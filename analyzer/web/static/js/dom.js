// Building and replacing elements. Text only ever becomes text nodes: what a span says can't become markup.

const SVG_NS = 'http://www.w3.org/2000/svg';

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'style') for (const [k, v] of Object.entries(value)) element.style.setProperty(k, v);
    else if (name === 'data') for (const [k, v] of Object.entries(value)) element.dataset[k] = v;
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return element;
}

export const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);
export const svg = (tag, props, ...children) => fill(document.createElementNS(SVG_NS, tag), props, children);

/** A link inside the page: main.js turns a plain click on it into a change of state. */
export const link = (href, props, ...children) => h('a', { href, 'data-nav': true, ...props }, ...children);

/**
 * Replace a container's children without losing what the reader is doing: the focused element and open
 * <details> are found again by their data-keep name.
 */
export function replaceKeeping(container, nodes) {
  const held = document.activeElement;
  const focused = container.contains(held) ? held.dataset.keep : undefined;
  const open = new Map([...container.querySelectorAll('details[data-keep]')].map((d) => [d.dataset.keep, d.open]));
  const scrolled = new Map([...container.querySelectorAll('.scroll[data-keep]')].map((s) => [s.dataset.keep, s.scrollLeft]));
  container.replaceChildren(...nodes.flat(Infinity).filter(Boolean));
  for (const d of container.querySelectorAll('details[data-keep]')) {
    if (open.has(d.dataset.keep)) d.open = open.get(d.dataset.keep);
  }
  for (const s of container.querySelectorAll('.scroll[data-keep]')) s.scrollLeft = scrolled.get(s.dataset.keep) ?? 0;
  if (focused && document.activeElement?.dataset.keep !== focused) {
    container.querySelector(`[data-keep="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }
}

/** A panel: a titled section, a sentence that says what it shows, and its content. */
export function panel(title, { note, actions, wide, id } = {}, ...children) {
  const slug = id ?? title.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  return h('section', { class: wide ? 'panel wide' : 'panel', 'aria-labelledby': `h-${slug}`, data: { panel: slug } },
    h('header', {}, h('h2', { id: `h-${slug}` }, title), actions),
    note && h('p', { class: 'note' }, note),
    children);
}

const MANY_COLUMNS = 5;

/**
 * A table that scrolls sideways on its own when it must, reachable by keyboard, with a caption for readers.
 * One of many columns becomes a card a row where there is no room for them; with `cards: false` it stays a table.
 */
export function table(caption, columns, rows, { keep, rowProps, empty, cards = columns.length >= MANY_COLUMNS } = {}) {
  if (rows.length === 0) return h('p', { class: 'empty' }, empty ?? 'Nothing in this window.');
  const head = h('tr', {}, columns.map((c) =>
    h('th', { scope: 'col', class: [c.numeric && 'num', c.class].filter(Boolean).join(' ') || null, title: c.hint }, c.title)));
  const body = rows.map((row, i) => h('tr', rowProps?.(row, i) ?? {},
    columns.map((c, k) => h(k === 0 ? 'th' : 'td',
      { scope: k === 0 ? 'row' : null, class: [c.numeric && 'num', c.class].filter(Boolean).join(' ') || null, 'data-label': c.title },
      c.cell(row)))));
  return h('div', { class: cards ? 'scroll cards' : 'scroll', role: 'group', 'aria-label': caption, tabindex: '0', data: { keep: keep ?? caption } },
    h('table', {}, h('caption', { class: 'hidden' }, caption), h('thead', {}, head), h('tbody', {}, body)));
}
