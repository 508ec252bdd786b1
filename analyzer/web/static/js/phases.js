// The parts of TTFT and of the decode interval, in pipeline order (telemetry convention v1).

/** [part, what it means]; the colour of a part is the custom property --part-<part> of css/colours.css. */
const TTFT = [
  ['router_queue', 'the router holds the request, admission included'],
  ['tokenize', 'the prompt is rendered and tokenised'],
  ['prefill_queue', 'a prefill worker has it and has not scheduled it'],
  ['prefill_compute', 'the prompt’s KV is computed'],
  ['kv_publish', 'the KV is ready and being offered to decode'],
  ['kv_transfer', 'KV bytes move to the decode worker'],
  ['decode_queue', 'the decode worker has it and can’t run it yet'],
  ['kv_import', 'the bytes are there and being made usable'],
  ['first_decode_step', 'decode computes the first token'],
  ['network_streaming', 'the first token is on its way to the client'],
  ['retry', 'lost to attempts that were superseded'],
  ['unattributed', 'no span says what happened in this time'],
];

const DECODE = [
  ['running', 'tokens are being produced'],
  ['preempted', 'the request lost its KV to memory pressure and waits'],
  ['recompute', 'prompt work is done on the decode worker'],
  ['handoff', 'KV is still arriving after a relayed first token'],
  ['blocked', 'the reader does not take tokens'],
  ['unattributed', 'no span says what happened in this time'],
];

export const TTFT_PARTS = TTFT.map(([part]) => part);
export const TTFT_PHASES = TTFT_PARTS.slice(0, 10);
export const DECODE_PARTS = DECODE.map(([part]) => part);

/** What else a miss can be counted under, beside the parts of TTFT. */
const MISSED_OTHERWISE = [['decode', 'TTFT was met, TPOT was not'], ['unknown', 'the request has no timeline']];

export const MISS_PARTS = [...TTFT_PARTS, ...MISSED_OTHERWISE.map(([part]) => part)];
export const missMeaning = (part) => new Map(MISSED_OTHERWISE).get(part) ?? meaning(part);

const MEANINGS = new Map([...DECODE, ['decode', 'tokens after the first are produced'], ['unknown', 'not known'], ...TTFT]);

export const meaning = (part) => MEANINGS.get(part) ?? 'not a phase of the convention';
export const label = (part) => part.replaceAll('_', ' ');
export const colour = (part) => `var(--part-${MEANINGS.has(part) ? part : 'unattributed'})`;

/** The part with the longest exposed time, or null when nothing was measured. */
export function longest(exposed) {
  const known = Object.entries(exposed ?? {}).filter(([, s]) => s !== null && s > 0);
  return known.length ? known.reduce((a, b) => (b[1] > a[1] ? b : a)) : null;
}
