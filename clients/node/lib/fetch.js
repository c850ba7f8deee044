// `fetch` through the daemon: the origin's answers, online and offline.

import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { Core, chunks, given, wholeBody } from "./core.js";
import { NoDaemon, Problem } from "./problem.js";
import { cacheAnswer } from "./views.js";

const NO_BODY = new Set([101, 204, 205, 304]);
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const REDIRECTS_MAX = 20;
/** Cache-Control for the cache modes of fetch. */
const CACHE_MODES = {
  "no-store": "no-store",
  reload: "no-cache",
  "no-cache": "no-cache",
  "force-cache": "max-stale",
  "only-if-cached": "only-if-cached",
};
const DECODERS = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};
/** Ends the connection of an answer whose body the program has dropped. */
const abandoned = new FinalizationRegistry((answer) => answer.destroy());

/**
 * A function like `fetch` that sends the URLs of some origins through the daemon.
 * If no daemon answers, `fallback` sends the request itself; null: the request fails.
 */
export function createFetch(options = {}) {
  const { origins, account, offlineWrites = false, fallback = globalThis.fetch } = options;
  const core = new Core({ ...options, requestsMax: Infinity });
  const bases = origins?.map((origin) => new URL(origin));
  const previous = fallback ?? globalThis.fetch;
  let isWarned = false;

  function direct(request, problem) {
    if (!fallback || (offlineWrites && isWrite(request))) throw failed(problem);
    if (!isWarned) process.emitWarning(`${problem.message}\nRequests go directly to the origins.`);
    isWarned = true;
    return fallback(request);
  }

  async function send(request, body, redirects) {
    const { signal, method } = request;
    const target = request.url.split("#")[0];
    const headers = { ...fieldsOf(request, body), ...given({ "Larder-Account": account }) };
    if (offlineWrites && isWrite(request)) headers.Prefer = "respond-async";
    const content = body?.bytes ?? request.body ?? undefined;
    const fresh = isWrite(request);
    const more = { headers, body: content, signal, limit: 0, fresh };
    const answer = await core.send(method, target, more);
    await refuseProblem(answer);
    const { statusCode: status } = answer;
    if (!isWrite(request) || !REDIRECTS.has(status) || !answer.headers.location) {
      return responseOf(answer, request);
    }
    if (request.redirect === "manual") return responseOf(answer, request);
    answer.destroy();
    return redirected(request, answer, body, redirects);
  }

  function redirected(request, { statusCode: status, headers: { location } }, body, redirects) {
    const keeps = status > 303 || (status < 303 && request.method !== "POST");
    if (request.redirect === "error" || redirects >= REDIRECTS_MAX) {
      throw new TypeError("fetch failed", { cause: new Error(`a redirect to ${location}`) });
    }
    if (keeps && request.body && !body?.bytes) {
      throw new TypeError("fetch failed", { cause: new Error("a streamed body is sent once") });
    }
    const url = new URL(location, request.url);
    const headers = new Headers(request.headers);
    if (url.origin !== new URL(request.url).origin) {
      for (const name of ["authorization", "cookie"]) headers.delete(name);
    }
    const next = { headers, signal: request.signal, method: keeps ? request.method : "GET" };
    if (keeps && body?.bytes) next.body = body.bytes;
    if (!keeps) for (const name of ["content-type", "content-length"]) headers.delete(name);
    return larderFetch(url, next, redirects + 1);
  }

  async function larderFetch(input, init, redirects = 0) {
    const request = new Request(input, init);
    if (!isCovered(new URL(request.url), bases)) return previous(input, init);
    request.signal.throwIfAborted();
    try {
      // The body of a request can be read once: before that, a daemon has to be there.
      if (request.body) await core.reach({ again: true });
      const body = request.body ? await bodyOf(request, init?.body) : undefined;
      return await send(request, body, redirects);
    } catch (error) {
      if (request.signal.aborted) throw request.signal.reason;
      if (error instanceof NoDaemon && !request.bodyUsed) return direct(request, error);
      throw error instanceof Problem ? failed(error) : error;
    }
  }
  return (input, init) => larderFetch(input, init);
}

function isWrite({ method }) {
  return method !== "GET" && method !== "HEAD" && method !== "OPTIONS";
}

function isCovered(url, bases) {
  if (url.protocol !== "http:" && url.protocol !== "https:") return false;
  return (
    !bases ||
    bases.some(({ origin, pathname }) => {
      const path = pathname.endsWith("/") ? pathname : `${pathname}/`;
      return url.origin === origin && (url.pathname === pathname || url.pathname.startsWith(path));
    })
  );
}

/** The bytes of a body, or the length of one that is sent as a stream. */
async function bodyOf(request, given) {
  if (given instanceof Blob) return { length: given.size };
  const isWhole =
    typeof given === "string" ||
    given instanceof ArrayBuffer ||
    ArrayBuffer.isView(given) ||
    given instanceof URLSearchParams ||
    given instanceof FormData;
  return isWhole ? { bytes: Buffer.from(await request.arrayBuffer()) } : undefined;
}

function fieldsOf(request, body) {
  const length = body?.bytes?.length ?? body?.length;
  return {
    "accept-language": "*",
    "user-agent": "node",
    ...given({ "cache-control": CACHE_MODES[request.cache], "content-length": length }),
    accept: "*/*",
    ...Object.fromEntries(request.headers),
  };
}

function failed(problem) {
  return new TypeError(`fetch failed: ${problem.message}`, { cause: problem });
}

/** Throws the daemon's own problem; that a URL is gone is the origin's word. */
async function refuseProblem(answer) {
  const { "content-type": type = "", server = "" } = answer.headers;
  const isOwn = type.startsWith("application/problem+json") && server.startsWith("larderd/");
  if (!isOwn || answer.statusCode === 404 || answer.statusCode === 410) return;
  const problem = JSON.parse((await wholeBody(answer)).toString());
  throw Problem.of(problem);
}

function responseOf(answer, request) {
  const headers = new Headers();
  for (let index = 0; index < answer.rawHeaders.length; index += 2) {
    headers.append(answer.rawHeaders[index], answer.rawHeaders[index + 1]);
  }
  const { statusCode: status, statusMessage: statusText } = answer;
  const isEmpty = NO_BODY.has(status) || request.method === "HEAD";
  if (isEmpty) answer.resume();
  const body = isEmpty ? null : streamOf(answer);
  const response = new Response(body, { status, statusText, headers });
  const modifier = /^\/v1\/modifiers\/([^?]+)$/.exec(answer.headers.location ?? "")?.[1];
  const larder = {
    ...cacheAnswer(answer.headers),
    modifier: modifier && decodeURIComponent(modifier),
  };
  Object.defineProperty(response, "url", { value: request.url.split("#")[0] });
  return Object.defineProperty(response, "larder", { value: larder });
}

function streamOf(answer) {
  const decode = DECODERS[(answer.headers["content-encoding"] ?? "").toLowerCase()];
  const coded = decode?.();
  if (coded) answer.on("error", (error) => coded.destroy(error)).pipe(coded);
  const pieces = coded ? coded[Symbol.asyncIterator]() : chunks(answer);
  const source = {
    type: "bytes",
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (!done) controller.enqueue(new Uint8Array(value));
      if (!done) return;
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
