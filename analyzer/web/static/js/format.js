// Numbers and times as people write them. null is "not measured": a dash with its reason, never 0.

import { h } from './dom.js';

const NUMBER = new Intl.NumberFormat('en', { maximumFractionDigits: 2 });
const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

const significant = (value, digits) => String(Number(value.toPrecision(digits)));

/** Three digits that matter, never an exponent: 1.80, 12.0, 526. */
const three = (value) => value.toFixed(Math.abs(value) < 9.995 ? 2 : Math.abs(value) < 99.95 ? 1 : 0);

/** The dash that stands for a value nobody measured; the reason is shown on hover and read aloud. */
export const missing = (reason = 'not measured') =>
  h('span', { class: 'missing', title: reason }, '–', h('span', { class: 'hidden' }, ` (${reason})`));

const shown = (text) => (value, reason) => (isMissing(value) ? missing(reason) : text(value));

export const isMissing = (value) => value === null || value === undefined || Number.isNaN(value);

export function durationText(seconds) {
  const size = Math.abs(seconds);
  if (size === 0) return '0 s';
  if (size < 0.9995e-6) return `${(seconds * 1e9).toFixed(0)} ns`;
  if (size < 0.9995e-3) return `${three(seconds * 1e6)} µs`;
  if (size < 0.9995) return `${three(seconds * 1e3)} ms`;
  if (size < 120) return `${three(seconds)} s`;
  if (size < 7200) return `${three(seconds / 60)} min`;
  if (size < 172800) return `${three(seconds / 3600)} h`;
  return `${three(seconds / 86400)} d`;
}

/** A duration that was chosen rather than measured: 2 s, 12 ms, 1.5 s. */
export const roundText = (seconds) => durationText(seconds).replace(/(\.\d*?)0+ /, '$1 ').replace('. ', ' ');

/**
 * A ratio as a percentage; near 100 % more digits, because 99.9 and 99.99 are different worlds, and
 * neither end is claimed by rounding.
 */
export function percentText(ratio) {
  const percent = ratio * 100;
  if (ratio > 0 && percent < 0.001) return '< 0.001 %';
  if (ratio < 1 && percent > 99.999) return '> 99.999 %';
  const distance = Math.min(Math.abs(percent), Math.abs(100 - percent));
  const digits = distance === 0 || Math.abs(percent) >= 1000 ? 0 : distance < 0.1 ? 3 : distance < 1 ? 2 : 1;
  return `${digits === 0 ? WHOLE.format(percent) : Number(percent.toFixed(digits))} %`.replace('-', '−');
}

export function bytesText(bytes) {
  const units = [['TB', 1e12], ['GB', 1e9], ['MB', 1e6], ['kB', 1e3]];
  for (const [unit, size] of units) if (Math.abs(bytes) >= size) return `${significant(bytes / size, 3)} ${unit}`;
  return `${WHOLE.format(bytes)} B`;
}

export const countText = (value) => (Number.isInteger(value) ? WHOLE : NUMBER).format(value);
export const rateText = (perSecond) => `${significant(perSecond, 3)}/s`;

export const duration = shown(durationText);
export const percent = shown(percentText);
export const bytes = shown(bytesText);
export const count = shown(countText);
export const rate = shown(rateText);
export const text = shown((value) => (value === '' ? missing('empty') : String(value)));

/** Nanoseconds since 1970 as a BigInt, from RFC 3339 or Unix seconds: a Date would drop all below the millisecond. */
export function instantNs(value) {
  if (typeof value === 'number') return BigInt(Math.round(value * 1e6)) * 1000n;
  const match = /^(.*T\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(.*)$/.exec(value);
  if (!match) throw new RangeError(`not an RFC 3339 time: ${value}`);
  const whole = Date.parse(match[1] + (match[3] || 'Z'));
  if (Number.isNaN(whole)) throw new RangeError(`not an RFC 3339 time: ${value}`);
  return BigInt(whole) * 1000000n + BigInt((match[2] ?? '').padEnd(9, '0'));
}

/** Seconds from `start` to `value`, both instants as REST gives them. */
export const secondsSince = (start, value) => Number(instantNs(value) - instantNs(start)) / 1e9;

export const dateOf = (value) => new Date(Number(instantNs(value) / 1000000n));

const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const DAY = new Intl.DateTimeFormat('en-GB', { day: '2-digit', month: 'short' });
const ZONE = new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' });

export const clockText = (date) => CLOCK.format(date);
export const dayText = (date) => DAY.format(date);
export const zoneText = () => ZONE.formatToParts(new Date()).find((p) => p.type === 'timeZoneName')?.value ?? '';

/** Local clock time, the day when it is not today, and the exact instant in UTC on hover. */
export function time(value, reason) {
  if (isMissing(value)) return missing(reason);
  const date = dateOf(value);
  const today = date.toDateString() === new Date().toDateString();
  return h('time', { datetime: date.toISOString(), title: typeof value === 'string' ? value : date.toISOString() },
    today ? clockText(date) : `${dayText(date)} ${clockText(date)}`);
}
