// `fetch` through the daemon: the origin's answers, online and offline.

import { Core, chunks, problemOf } from "./core.js";
import { NoDaemon } from "../wire.js";
import { Problem } from "./problem.js";

const REDIRECTS = [301, 302, 303, 307, 308];
const NO_BODY = new Set([204, 205, 304]);
const READS = new Set(["GET", "HEAD", "OPTIONS", "QUERY"]);
/** Directives of Cache-Control for modes of another name. */
const CACHE_MODES = { default: undefined, reload: "no-cache", "force-cache": "max-stale" };
const WHOLE = [String, ArrayBuffer, URLSearchParams, FormData];
/** The requests of the program by their signals, which end with the request. */
const owners = new WeakMap();
/** Ends the connection of an answer whose body the program has dropped. */
const abandoned = new FinalizationRegistry((answer) => answer.destroy());

export function createFetch(options = {}) {
  const { origins, policy, account, offlineWrites = false, fallback = globalThis.fetch } = options;
  const isList = Array.isArray(origins ?? []);
  if (!isList) throw new TypeError("origins is not a list of URLs: give an array");
  const core = new Core(options, Infinity);
  const bases = origins?.map((origin) => new URL(origin));
  const previous = fallback ?? globalThis.fetch;
  let isWarned = false;

  async function send(request, body, signal) {
    const fresh = !READS.has(request.method);
    const headers = {
      ...headersOf(request),
      "content-length": body?.length ?? body?.size,
      "larder-account": account,
      "larder-policy": policy,
      prefer: offlineWrites && fresh ? "respond-async" : undefined,
    };
    const content = body?.stream?.() ?? body ?? request.body ?? undefined;
    const more = { headers, body: content, signal, limit: 0, fresh };
    const answer = await core.send(request.method, request.url.split("#")[0], more);
    if (isRefusal(answer)) throw await problemOf(answer);
    const [{ method, redirect }, { location }] = [request, answer.headers];
    const redirects = { GET: REDIRECTS, HEAD: REDIRECTS, POST: REDIRECTS.slice(0, 3) }[method];
    const isError = redirect === "error" && REDIRECTS.includes(answer.statusCode);
    const isFollowed = location && redirect === "follow" && redirects?.includes(answer.statusCode);
    if (!isFollowed && !isError) return responseOf(answer, request, signal);
    answer.destroy();
    if (isError) throw new TypeError("fetch failed: the answer is a redirect");
    const next = new URL(location, request.url);
    // The daemon follows a read as far as the origin's settings allow. No secret goes further.
    const isPost = method === "POST";
    const init = { method: isPost ? "GET" : method, signal };
    const response = await (isPost ? larderFetch : previous)(next, init);
    return Object.defineProperty(response, "redirected", { value: true });
  }

  async function larderFetch(input, init) {
    if (!isCovered(new URL(input.url ?? input), bases)) return previous(input, init);
    const request = new Request(input, init);
    // The signal of `request` follows this one only until the garbage collector takes `request`.
    const signal = init?.signal === undefined ? input.signal : init.signal;
    if (signal && signal === input.signal) owners.set(signal, input);
    // The daemon follows the redirects of a read, and compares no digest.
    const isOther = request.redirect !== "follow" || request.integrity;
    if (isOther && READS.has(request.method)) return previous(request, { signal });
    try {
      signal?.throwIfAborted();
      // The body of a request can be read once: before that, a daemon has to be there.
      if (request.body) await core.reach();
      return await send(request, await wholeOf(request, init?.body), signal);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const mayGo = fallback && !request.bodyUsed && !(offlineWrites && !READS.has(request.method));
      if (!(error instanceof NoDaemon) || !mayGo) {
        throw new TypeError(`fetch failed: ${error.message}`, { cause: error });
      }
      if (!isWarned) process.emitWarning(`${error.message}\nRequests go directly to the origins.`);
      isWarned = true;
      return fallback(request, { signal });
    }
  }
  return (input, init) => larderFetch(input, init);
}

function isCovered({ protocol, origin, pathname }, bases) {
  if (protocol !== "http:" && protocol !== "https:") return false;
  const path = `${pathname}/`;
  const isBelow = (base) => path.startsWith(`${base.pathname.replace(/\/$/, "")}/`);
  return !bases || bases.some((base) => base.origin === origin && isBelow(base));
}

/** The body if it has a length: bytes or a Blob; undefined for a stream. */
async function wholeOf(request, body) {
  if (body instanceof Blob) return body;
  const isWhole = ArrayBuffer.isView(body) || WHOLE.some((type) => Object(body) instanceof type);
  return isWhole ? Buffer.from(await request.arrayBuffer()) : undefined;
}

function headersOf({ headers, cache }) {
  const common = { accept: "*/*", "accept-language": "*", "user-agent": "node" };
  const directive = cache in CACHE_MODES ? CACHE_MODES[cache] : cache;
  return { ...common, "cache-control": directive, ...Object.fromEntries(headers) };
}

/** Whether the daemon itself refuses: no origin has answered. That a URL is gone is an answer. */
function isRefusal({ statusCode: status, headers: { "content-type": type = "", ...headers } }) {
  const isOrigin = memberOf(headers).includes("fwd-status=");
  const isProblem = status >= 400 && type.startsWith("application/problem+json");
  return isProblem && !isOrigin && status !== 404 && status !== 410;
}

/** The daemon's member of Cache-Status (RFC 9211); `fwd-status` says that the origin answered. */
function memberOf({ "cache-status": status = "" }) {
  return status.split(/,\s*/).find((text) => text.startsWith("larder")) ?? "";
}

function responseOf(answer, request, signal) {
  const headers = new Headers();
  for (let index = 0; index < answer.rawHeaders.length; index += 2) {
    headers.append(answer.rawHeaders[index], answer.rawHeaders[index + 1]);
  }
  const { statusCode: status, statusMessage: statusText } = answer;
  const isEmpty = NO_BODY.has(status) || request.method === "HEAD";
  if (isEmpty) answer.resume();
  const body = isEmpty ? null : streamOf(answer, signal);
  const response = new Response(body, { status, statusText, headers });
  const source = answer.headers["larder-source"];
  Object.defineProperty(response, "url", { value: source ?? request.url.split("#")[0] });
  if (source) Object.defineProperty(response, "redirected", { value: true });
  return Object.defineProperty(response, "larder", { value: larderOf(answer.headers) });
}

/** Where an answer came from, by its headers. */
function larderOf({ location = "", ...headers }) {
  const member = memberOf(headers);
  const source = member && !member.includes("fwd-status=") ? "cache" : "network";
  const ttl = /;\s*ttl=(-?\d+)/.exec(member)?.[1];
  const modifier = /^\/v1\/modifiers\/([^?]+)$/.exec(location)?.[1];
  return {
    source,
    age: Number(headers.age ?? 0) * 1_000,
    stale: source === "cache" && Number(ttl ?? 0) <= 0,
    pending: Number(headers["larder-pending"] ?? 0),
    modifier: modifier && decodeURIComponent(modifier),
  };
}

function streamOf(answer, signal) {
  const pieces = chunks(answer);
  const source = {
    type: "bytes",
    async pull(controller) {
      // Node drops the bytes of a whole answer that is aborted before it is read, without an error.
      signal?.throwIfAborted();
      const { done, value } = await pieces.next();
      if (!done) return controller.enqueue(new Uint8Array(value));
      controller.close();
      // A reader with a buffer of its own waits for an answer.
      controller.byobRequest?.respond(0);
    },
    cancel: () => void answer.destroy(),
  };
  const stream = new ReadableStream(source, { highWaterMark: 0 });
  abandoned.register(stream, answer);
  return stream;
}
