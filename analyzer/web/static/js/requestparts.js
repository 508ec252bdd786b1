// Pieces of a request that both the lists and its own page show.

import { h, link } from './dom.js';
import { duration, durationText, missing } from './format.js';
import { partsBar } from './parts.js';
import { TTFT_PARTS, longest } from './phases.js';
import { named } from './parts.js';

const NO_TTFT = { cancelled: 'the client left before the first token', rejected: 'it was rejected', invalid: 'the request was invalid' };

/** TTFT with what it means when it is censored or absent. */
export function ttft(request) {
  if (request.ttft === null) return missing(NO_TTFT[request.outcome] ?? 'no first token was seen');
  const value = duration(request.ttft);
  return request.censored ? h('span', { title: 'no first token was seen: TTFT is at least the request’s age' }, '≥ ', value) : value;
}

export function tpot(request) {
  const few = request.output_tokens !== null && request.output_tokens < 2;
  return duration(request.tpot, few ? 'undefined below two output tokens' : 'first or last token was not seen');
}

export function verdictMark(ok, what) {
  if (ok === null || ok === undefined) return missing(`${what}: not evaluated`);
  return h('span', { class: ok ? 'mark good' : 'mark bad' }, ok ? '✓ met' : '✗ missed');
}

export function outcome(request) {
  if (!request.outcome) return missing('nothing says yet how it ended');
  return h('span', { class: request.outcome === 'ok' ? 'outcome' : 'outcome bad' }, request.outcome);
}

export function cause(request) {
  const { cause: name } = request;
  if (!name) return missing('no verdict');
  if (name === 'insufficient_evidence') return h('span', { class: 'quiet', title: 'the telemetry can’t decide' }, 'insufficient evidence');
  return h('span', {}, name);
}

export function longestPart(request) {
  const found = longest(request.exposed);
  return found ? h('span', { title: durationText(found[1]) }, named(found[0])) : missing('no exposed time: TTFT is not known');
}

export const ttftParts = (request) => TTFT_PARTS.map((part) => [part, request.exposed?.[part] ?? 0]);

export function exposedBar(request, scale) {
  if (request.ttft === null || !request.exposed) return missing('no exposed time: TTFT is not known');
  return partsBar(ttftParts(request), scale, 'Exposed time until the first token');
}

export const shortId = (request) => {
  const id = request.request_id || request.client_request_id || request.trace_id || request.key;
  return id.length > 22 ? `${id.slice(0, 8)}…${id.slice(-12)}` : id;
};

export const requestLink = (request, context) =>
  link(context.href({ view: 'request', id: request.key }), { class: 'id', 'data-row-link': true, title: request.request_id || request.key, data: { keep: `row-${request.key}` } }, shortId(request));
