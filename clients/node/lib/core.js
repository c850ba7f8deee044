// The way to the daemon: its socket, requests, answers and their frames.

import { randomUUID } from "node:crypto";
import http from "node:http";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { NoDaemon, Problem, badAnswer, clientClosed, cutOff, noDaemon } from "./problem.js";

/** Milliseconds in which the daemon answers a request that waits for nothing. */
const ANSWER_MS = 60_000;
/** Milliseconds in which the daemon takes a connection while too many wait at its socket. */
const CONNECT_MS = 5_000;
/** Requests of a client at the same time; streams and waits have connections of their own. */
const REQUESTS_MAX = 64;
const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const REASONS = {
  ENOENT: "there is no socket",
  ECONNREFUSED: "no process listens on it",
  EACCES: "no permission",
  EPERM: "no permission",
};
/** Why a request was ended by this side. */
const STOP = Symbol("stop");

/** The sockets to try: the argument, LARDER_SOCKET, the user's own daemon, the system's. */
export function socketPaths(path, environment = process.env) {
  const given = path ?? environment.LARDER_SOCKET;
  if (given) return [given];
  const runtime = environment.XDG_RUNTIME_DIR;
  const own = runtime?.startsWith("/") ? [`${runtime}/larder/api.sock`] : [];
  return [...own, "/run/larder/api.sock"];
}

/** A duration as the daemon takes it; a number is milliseconds. */
export function duration(value) {
  return typeof value === "number" ? `${Math.max(0, Math.round(value))}ms` : value;
}

/** The milliseconds of a duration. */
export function milliseconds(value) {
  const [, count, unit] = /^(\d+)(ms|s|m|h|d)$/.exec(duration(value) ?? "") ?? [];
  return count === undefined ? undefined : Number(count) * UNITS[unit];
}

/** The members that have a value. */
export function given(members) {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value != null));
}

export function pathOf(collection, id) {
  return `/v1/${collection}/${encodeURIComponent(id)}`;
}

export class Core {
  #paths;
  #agent;
  #endings = new Set();

  constructor({ socket, account, name, requestsMax = REQUESTS_MAX } = {}) {
    this.#paths = socketPaths(socket);
    this.#agent = new http.Agent({ keepAlive: true, maxSockets: requestsMax, maxFreeSockets: 8 });
    this.account = account;
    this.name = name ?? randomUUID();
    this.isClosed = false;
  }

  close() {
    this.isClosed = true;
    for (const end of [...this.#endings]) end();
    this.#agent.destroy();
  }

  /** Calls `end` when the client is closed; returns a function that forgets it. */
  onClose(end) {
    this.#endings.add(end);
    return () => this.#endings.delete(end);
  }

  /**
   * Sends a request and returns the answer when its head is there; throws the problem of a refusal.
   * A `fresh` request has a connection of its own, and is sent once.
   */
  async request(method, path, options = {}) {
    const answer = await this.send(method, withQuery(path, options.query), options);
    if (answer.statusCode < 300 || answer.statusCode === 304) return answer;
    const problem = await problemOf(answer);
    // The rest of a body that is refused is not sent.
    if (isStream(options.body)) answer.req.destroy();
    throw problem;
  }

  /** As `request`, with every status, and a target that is sent as it is. */
  async send(method, target, options) {
    await this.reach();
    const end = Date.now() + CONNECT_MS;
    for (let pause = 10, repeats = 0; ; ) {
      try {
        return await this.#attempt(method, target, options);
      } catch (error) {
        if (error.isBusy && Date.now() < end && !isStream(options.body)) {
          await sleep((pause *= 2));
        } else if (!error.wasIdle || isStream(options.body) || repeats++ > REQUESTS_MAX) {
          throw error;
        }
      }
    }
  }

  #attempt(method, target, { body, headers, signal, limit = ANSWER_MS, fresh, isIdle }) {
    if (this.isClosed) throw clientClosed();
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const [socketPath] = this.#paths;
      const request = http.request({
        socketPath,
        method,
        path: target,
        agent: fresh ? false : this.#agent,
        headers: { "Larder-Client": this.name, Accept: "application/jsonl", ...headers },
      });
      const stop = (reason) => {
        request[STOP] ??= { reason };
        request.destroy();
      };
      const abort = () => stop(signal.reason);
      signal?.addEventListener("abort", abort, { once: true });
      const forget = this.onClose(() => stop(clientClosed()));
      const late = () => stop(cutOff(`larderd did not answer in ${limit / 1_000} s.`));
      const timer = limit ? setTimeout(late, limit) : undefined;
      if (isIdle) request.on("socket", (socket) => socket.unref());
      request.on("response", (answer) => {
        clearTimeout(timer);
        resolve(answer);
      });
      request.on("error", (error) => reject(connectionProblem(error, request, socketPath)));
      request.on("close", () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        forget();
      });
      if (isStream(body)) pump(body, request).catch(stop);
      else request.end(body);
    });
  }

  /**
   * Chooses the first socket on which a daemon listens.
   * Another daemon has another cache and another queue, so the choice stays.
   */
  async reach({ again = false } = {}) {
    if (this.#paths.length === 1 && !again) return;
    const failures = [];
    for (const path of this.#paths) {
      const error = await connectionError(path);
      if (!error || error.code === "EAGAIN") {
        this.#paths = [path];
        return;
      }
      failures.push({ path, code: error.code, reason: REASONS[error.code] ?? error.message });
    }
    throw noDaemon(failures);
  }

  /** The JSON of an answer; undefined without one. */
  async report(method, path, { command, headers, ...options } = {}) {
    const answer = await this.request(method, path, {
      ...options,
      body: command && JSON.stringify(command),
      headers: command ? { "Content-Type": "application/json", ...headers } : headers,
    });
    const body = await wholeBody(answer);
    if (!body.length) return undefined;
    return parsed(body.toString());
  }

  /** The items of all pages of a list. */
  async *pages(path, query, signal) {
    for (let cursor; cursor !== null; ) {
      const wanted = { limit: 1000, account: this.account, ...query, cursor };
      const page = await this.report("GET", path, { query: wanted, signal });
      yield* page.items;
      cursor = page.next ?? null;
    }
  }
}

function withQuery(path, query = {}) {
  const fields = Object.entries(given(query)).map(
    ([name, value]) => `${name}=${encodeURIComponent(value)}`,
  );
  return fields.length ? `${path}?${fields.join("&")}` : path;
}

function isStream(body) {
  return body != null && typeof body !== "string" && !ArrayBuffer.isView(body);
}

async function pump(body, request) {
  for await (const piece of body) {
    if (request.destroyed) return;
    if (request.write(piece)) continue;
    await new Promise((resolve) => request.once("drain", resolve).once("close", resolve));
  }
  request.end();
}

function connectionError(path) {
  return new Promise((resolve) => {
    const socket = net.connect(path);
    socket.once("error", resolve);
    socket.once("connect", () => {
      socket.destroy();
      resolve(undefined);
    });
  });
}

/** What the program is told for an error of Node. */
function connectionProblem(error, request, path) {
  const stopped = request[STOP];
  if (stopped) return stopped.reason;
  if (error.syscall === "connect" && error.code !== "EAGAIN") {
    const reason = REASONS[error.code] ?? error.message;
    return noDaemon([{ path, code: error.code, reason }]);
  }
  const problem = cutOff(`The connection to larderd broke: ${error.message}.`);
  problem.isBusy = error.code === "EAGAIN";
  // The daemon had closed the connection before it got the request.
  problem.wasIdle = request.reusedSocket && !request.res;
  return problem;
}

async function problemOf(answer) {
  const text = (await wholeBody(answer)).toString();
  const type = answer.headers["content-type"] ?? "";
  if (type.startsWith("application/problem+json")) return Problem.of(parsed(text));
  const detail = `An unexpected answer with the status ${answer.statusCode}.`;
  return new Problem("about:blank", detail, { status: answer.statusCode, body: text });
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw badAnswer(`An answer of larderd is not JSON: ${error.message}`);
  }
}

/** The body of an answer in pieces; `silence` is the longest time between two of them. */
export async function* chunks(answer, silence) {
  const pieces = answer[Symbol.asyncIterator]();
  const request = answer.req;
  const fall = () => {
    request[STOP] ??= { reason: cutOff(`larderd was silent for ${silence / 1_000} s.`) };
    request.destroy();
  };
  try {
    for (;;) {
      const timer = silence ? setTimeout(fall, silence) : undefined;
      const step = await pieces.next().finally(() => clearTimeout(timer));
      if (step.done) break;
      yield step.value;
    }
  } catch (error) {
    throw connectionProblem(error, request);
  } finally {
    await pieces.return?.();
  }
  // Node ends the pieces of a destroyed answer without an error if none of it is left.
  if (request[STOP]) throw request[STOP].reason;
  if (!answer.complete) throw cutOff("The connection to larderd ended within an answer.");
}

export async function wholeBody(answer, silence) {
  const pieces = [];
  for await (const piece of chunks(answer, silence)) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** The frames of an answer, each with its line. A line that was cut is not a frame. */
export async function* frames(answer, silence) {
  let parts = [];
  for await (const chunk of chunks(answer, silence)) {
    let start = 0;
    for (let end; (end = chunk.indexOf(10, start)) >= 0; start = end + 1) {
      const line = Buffer.concat([...parts, chunk.subarray(start, end)]).toString().trim();
      parts = [];
      if (line) yield { frame: parsed(line), line };
    }
    if (start < chunk.length) parts.push(chunk.subarray(start));
  }
}

/** When a stream connects again. */
export class Resumption {
  #failures = 0;
  #wasConnected = false;

  spoke() {
    this.#failures = 0;
    this.#wasConnected = true;
  }

  /** Whether the program needs to hear of a break: not of the first after an answer. */
  get isLong() {
    return !this.#wasConnected || this.#failures > 0;
  }

  /** Throws an error after which no other try makes sense. */
  check(error) {
    if (!(error instanceof Problem) || !error.retryable) throw error;
    // Without a daemon from the start, the error says how to begin.
    if (error instanceof NoDaemon && !this.#wasConnected) throw error;
  }

  /** Waits with backoff and jitter, 0.1 to 5 s. */
  async pause(signal, { ref = true, most } = {}) {
    const limit = Math.min(5_000, 100 * 2 ** Math.min(this.#failures++, 10));
    const time = most ? 5_000 : 100 + Math.random() * (limit - 100);
    try {
      await sleep(time, undefined, { signal, ref });
    } catch {
      throw signal.reason;
    }
  }
}

/** Items of a stream, for `for await`. Its connection ends with the loop, `close` or the signal. */
export class Stream {
  #items;
  #stop = new AbortController();
  #isClosed = false;

  /** `run` returns the generator of the items for a signal. */
  constructor(core, signal, run) {
    this.#items = this.#run(core, signal, run);
  }

  async *#run(core, signal, run) {
    if (core.isClosed) throw clientClosed();
    signal?.throwIfAborted();
    const abort = () => this.#stop.abort(signal.reason);
    signal?.addEventListener("abort", abort, { once: true });
    const forget = core.onClose(() => this.close());
    try {
      yield* run(this.#stop.signal);
    } finally {
      forget();
      signal?.removeEventListener("abort", abort);
    }
  }

  async next() {
    if (this.#isClosed) return { done: true, value: undefined };
    try {
      return await this.#items.next();
    } catch (error) {
      if (this.#isClosed) return { done: true, value: undefined };
      throw error;
    }
  }

  async return(value) {
    this.close();
    await this.#items.return().catch(() => {});
    return { done: true, value };
  }

  /** Ends the stream; a call of `next` that waits returns. */
  close() {
    this.#isClosed = true;
    this.#stop.abort(clientClosed());
  }

  [Symbol.asyncIterator]() {
    return this;
  }
}
