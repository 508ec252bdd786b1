// REST over fetch. One error shape: {"error": {"code", "message", "field"}}.

const ROOT = 'api/v1/';
const TOKEN_KEY = 'pdscope.token';

export class ApiError extends Error {
  constructor(status, code, message, field) {
    super(message);
    this.status = status;
    this.code = code;
    this.field = field ?? null;
  }
}

/** The call isn't answered by this pdscope: an honest empty state, not a failure. */
export class NotAnswered extends ApiError {}

/** Several requests bear the id that was asked for. */
export class SeveralMatches extends ApiError {
  constructor(requests) {
    super(300, 'several_matches', `${requests.length} requests bear this id`);
    this.requests = requests;
  }
}

export function setToken(token) {
  if (token) sessionStorage.setItem(TOKEN_KEY, token);
  else sessionStorage.removeItem(TOKEN_KEY);
}

function headers() {
  const token = sessionStorage.getItem(TOKEN_KEY);
  return token ? { accept: 'application/json', authorization: `Bearer ${token}` } : { accept: 'application/json' };
}

async function bodyOf(response) {
  try {
    return await response.json();
  } catch {
    throw new ApiError(response.status, 'not_json', `HTTP ${response.status} with a body that is not JSON`);
  }
}

async function ask(address, path, options, read) {
  const response = await fetch(address, options).catch((cause) => {
    if (cause.name === 'AbortError') throw cause;
    throw new ApiError(0, 'unreachable', `pdscope does not answer at ${new URL(ROOT, document.baseURI).host}`);
  });
  if (response.ok) return read(response);
  if (response.status === 501) throw new NotAnswered(501, 'not_answered', `this pdscope does not answer /${path} yet (HTTP 501)`);
  const body = await bodyOf(response);
  if (response.status === 300) throw new SeveralMatches(body.requests ?? body.matches ?? []);
  const error = body.error ?? { code: `http_${response.status}`, message: body.detail ?? response.statusText };
  const Kind = response.status === 404 ? NotAnswered : ApiError;
  throw new Kind(response.status, error.code, String(error.message), error.field);
}

/** @param {object} params names to values; null, undefined and '' are left out. */
function addressOf(path, params = {}) {
  const query = new URLSearchParams(Object.entries(params).filter(([, v]) => v !== null && v !== undefined && v !== ''));
  return `${ROOT}${path}${query.size ? `?${query}` : ''}`;
}

export const get = (path, params, signal) => ask(addressOf(path, params), path, { headers: headers(), signal }, bodyOf);

/** A question too large for an address. */
export const post = (path, body) => ask(addressOf(path), path,
  { method: 'POST', headers: { ...headers(), 'content-type': 'application/json' }, body: JSON.stringify(body) }, bodyOf);

/** Save an answer as a file: a plain link would not carry the token. */
export async function download(path, name) {
  const url = URL.createObjectURL(await ask(addressOf(path), path, { headers: headers() }, (response) => response.blob()));
  const link = document.createElement('a');
  Object.assign(link, { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}

/** A drawing that REST has made, as an element of this page. */
export const getDrawing = (path, params, signal) => ask(addressOf(path, params), path, { headers: headers(), signal }, async (response) => {
  const parsed = new DOMParser().parseFromString(await response.text(), 'image/svg+xml').documentElement;
  if (parsed.nodeName !== 'svg') throw new ApiError(response.status, 'not_svg', `HTTP ${response.status} with a body that is not SVG`);
  return document.importNode(parsed, true);
});

/**
 * Wait for calls by name. `arrived(data)` hears of each one that comes before the last; what is still out is {pending}.
 */
export async function gather(calls, arrived) {
  const data = Object.fromEntries(Object.keys(calls).map((name) => [name, { pending: true }]));
  let out = Object.keys(calls).length;
  await Promise.all(Object.entries(calls).map(async ([name, call]) => {
    data[name] = await call;
    out -= 1;
    if (out) arrived({ ...data });
  }));
  return data;
}

/** Like get (or another way of asking), but a call that fails leaves the rest of the view standing: {value} or {error}. */
export async function settle(path, params, signal, how = get) {
  try {
    return { value: await how(path, params, signal) };
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    return { error, path };
  }
}
