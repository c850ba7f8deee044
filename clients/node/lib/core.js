// The way to the daemon: its socket, requests, answers and their frames.

import { randomUUID } from "node:crypto";
import http from "node:http";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { NoDaemon } from "../wire.js";
import { Problem, badAnswer, clientClosed, cutOff, found, noDaemon } from "./problem.js";

/** Milliseconds in which the daemon answers a request that waits for nothing. */
const ANSWER_MS = 60_000;
/** Requests of a client at the same time; streams and waits have connections of their own. */
const REQUESTS_MAX = 64;
/** Further attempts while too many connections wait at the socket: 5 s. */
const REPEATS_MAX = 8;
const SYSTEM_SOCKET = "/run/larder/api.sock";
const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const DURATIONS = new Set(["networkWait", "timeout", "heartbeat", "refresh", "hold", "expires"]);
const REASONS = { ENOENT: "there is no socket", ECONNREFUSED: "no process listens on it" };
/** Why this side has ended a request. */
const STOP = Symbol("stop");

/** The sockets to try, as cachectl does. The daemon of root is the system's. */
export function socketPaths(path, environment = process.env, uid = process.getuid()) {
  const given = path ?? environment.LARDER_SOCKET;
  if (given || uid === 0) return [given || SYSTEM_SOCKET];
  const folder = (name, other) => (environment[name]?.startsWith("/") ? environment[name] : other);
  const runtime = folder("XDG_RUNTIME_DIR", `/run/user/${uid}`);
  const cache = folder("XDG_CACHE_HOME", `${environment.HOME ?? ""}/.cache`);
  return [`${runtime}/larder/api.sock`, `${cache}/larder/api.sock`, SYSTEM_SOCKET];
}

/** A duration as the daemon takes it; a number is milliseconds. */
export function duration(value) {
  return typeof value === "number" ? `${Math.max(0, Math.round(value))}ms` : value;
}

export function milliseconds(value) {
  const [, count, unit] = /^(\d+)(ms|s|m|h|d)$/.exec(duration(value)) ?? [];
  if (unit) return Number(count) * UNITS[unit];
  throw new TypeError(`The ${typeof value} ${value} is neither "10s" nor a number of ms.`);
}

/** Options as members of a command: with the names of the wire, and durations as texts. */
export function commandOf(options) {
  const members = Object.entries(options).map(([name, value]) => [
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    DURATIONS.has(name) ? duration(value) : value,
  ]);
  return Object.fromEntries(members);
}

/** The members that have a value. */
export function given(members = {}) {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

export const isURL = (text) => /^https?:\/\//.test(text);

export const pathOf = (collection, id) => `/v1/${collection}/${encodeURIComponent(id)}`;

export class Core {
  #paths;
  #agent;
  #endings = new Set();
  isClosed = false;

  constructor({ socket, account, name = randomUUID() } = {}, requestsMax = REQUESTS_MAX) {
    this.#paths = socketPaths(socket);
    this.#agent = new http.Agent({ keepAlive: true, maxSockets: requestsMax, maxFreeSockets: 8 });
    this.account = account;
    this.name = name;
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
   * The account goes with the query, or with a command that has none; not if the query is null.
   */
  async request(method, path, { command, query = command ? null : {}, ...options } = {}) {
    const parameters = query ? given({ account: this.account, ...query }) : {};
    const text = new URLSearchParams(parameters).toString().replaceAll("+", "%20");
    const target = text ? `${path}?${text}` : path;
    if (command) {
      options.body = JSON.stringify(query ? command : { ...command, account: this.account });
      options.headers = { "Content-Type": "application/json" };
    }
    const answer = await this.send(method, target, options);
    if (answer.statusCode < 300 || answer.statusCode === 304) return answer;
    const problem = await problemOf(answer);
    // The rest of a body that was refused is not sent.
    if (isStream(options.body)) answer.req.destroy();
    throw problem;
  }

  /** The JSON of an answer; undefined without one. */
  async report(method, path, options) {
    const body = await wholeBody(await this.request(method, path, options));
    return body.length ? parsed(body.toString()) : undefined;
  }

  /** The items of all pages of a list. */
  async *pages(path, query, signal) {
    for (let cursor; cursor !== null; ) {
      const wanted = { limit: 1000, cursor, ...query };
      const page = await this.report("GET", path, { query: wanted, signal });
      yield* page.items;
      cursor = page.next;
    }
  }

  /**
   * Sends a request, and returns an answer of any status. A `fresh` request and one with a stream
   * as its body have their own connection, so that they are sent once and occupy no place. An idle
   * request does not keep the process alive.
   */
  async send(method, target, options, repeats = 0) {
    if (this.#paths.length > 1) await this.reach();
    try {
      return await this.#attempt(method, target, options);
    } catch (error) {
      if (!error?.mayRepeat || isStream(options.body) || repeats >= REPEATS_MAX) throw error;
      // The next attempt throws the reason of the signal.
      await sleep(10 * 2 ** repeats, undefined, { signal: options.signal }).catch(() => {});
      return this.send(method, target, options, repeats + 1);
    }
  }

  #attempt(method, target, { body, headers, signal, limit = ANSWER_MS, fresh, isIdle }) {
    if (this.isClosed) throw clientClosed();
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const request = http.request({
        socketPath: this.#paths[0],
        method,
        path: target,
        agent: fresh || isStream(body) ? false : this.#agent,
        headers: { "Larder-Client": this.name, Accept: "application/jsonl", ...given(headers) },
      });
      const settle = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        forget();
      };
      const end = (reason) => {
        settle();
        stop(request, reason);
        // Node reports the end of a request that waits for a connection only when it has one.
        reject(reason);
      };
      const abort = () => end(signal.reason);
      signal?.addEventListener("abort", abort, { once: true });
      const forget = this.onClose(() => end(clientClosed()));
      const late = () => end(cutOff(`larderd did not answer in ${limit / 1_000} s.`));
      // Node ends a longer timer immediately.
      const timer = limit ? setTimeout(late, Math.min(limit, 2 ** 31 - 1)) : undefined;
      if (isIdle) request.on("socket", (socket) => socket.unref());
      request.on("response", resolve).on("response", () => clearTimeout(timer));
      request.on("error", (error) => reject(problemWith(request, error, this.#paths[0])));
      request.on("close", settle);
      if (isStream(body)) pump(body, request).catch(end);
      else request.end(body);
    });
  }

  /**
   * Chooses the first socket on which a daemon listens.
   * Another daemon has another cache and another queue, so the choice stays.
   */
  async reach() {
    const failures = [];
    for (const path of this.#paths) {
      const error = await connectionError(path);
      if (!error || error.code === "EAGAIN") return void (this.#paths = [path]);
      failures.push(failureOf(path, error));
    }
    throw noDaemon(failures);
  }
}

/** Ends a request, which then fails with the reason. */
function stop(request, reason) {
  request[STOP] ??= { reason };
  request.destroy();
}

const isStream = (body) => body != null && typeof body !== "string" && !ArrayBuffer.isView(body);

async function pump(body, request) {
  let proceed;
  // Without a length, Node would send the body of a DELETE as the beginning of the next request.
  if (!request.hasHeader("Content-Length")) request.setHeader("Transfer-Encoding", "chunked");
  request.on("drain", () => proceed?.()).on("close", () => proceed?.());
  for await (const piece of body) {
    if (request.destroyed) return;
    if (!request.write(piece)) await new Promise((resolve) => (proceed = resolve));
  }
  request.end();
}

function connectionError(path) {
  return new Promise((resolve) => {
    const socket = net.connect(path, () => resolve(socket.destroy() && undefined));
    socket.on("error", resolve);
  });
}

function failureOf(path, { code, message }) {
  return { path, reason: REASONS[code] ?? message, isDenied: code === "EACCES" };
}

/** What the program is told for an error of Node. */
function problemWith(request, error, path) {
  if (request[STOP]) return request[STOP].reason;
  const isBusy = error.code === "EAGAIN";
  if (error.syscall === "connect" && !isBusy) return noDaemon([failureOf(path, error)]);
  const problem = cutOff(`The connection to larderd broke: ${error.message}.`);
  // The daemon had closed an idle connection before it got the request.
  problem.mayRepeat = isBusy || (request.reusedSocket && !request.res);
  return problem;
}

export async function problemOf(answer) {
  const text = (await wholeBody(answer)).toString();
  const { statusCode: status, headers } = answer;
  if (headers["content-type"]?.startsWith("application/problem+json")) {
    if (text) return Problem.of(parsed(text));
    // The answer to a HEAD has no body.
    const [, kind] = /; detail=([\w-]+)/.exec(headers["cache-status"]) ?? [];
    const detail = `larderd refused a HEAD with the status ${status}; a GET tells why.`;
    return Problem.of({ type: kind && `urn:larder:${kind}`, status, detail });
  }
  const detail = `An unexpected answer with the status ${status}: ${text}`;
  const retryable = status >= 500 || [408, 425].includes(status);
  return found("origin-status", detail, { origin_status: status, retryable });
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
  const fall = () => stop(answer.req, cutOff(`larderd was silent for ${silence / 1_000} s.`));
  try {
    for (;;) {
      const timer = silence ? setTimeout(fall, silence) : undefined;
      const step = await pieces.next().finally(() => clearTimeout(timer));
      if (step.done) break;
      yield step.value;
    }
  } catch (error) {
    throw problemWith(answer.req, error);
  } finally {
    await pieces.return?.();
  }
  // The pieces of an answer that was destroyed may end without an error.
  if (!answer.complete) throw problemWith(answer.req, new Error("it ended within an answer"));
}

export async function wholeBody(answer) {
  const pieces = [];
  for await (const piece of chunks(answer)) pieces.push(piece);
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
  failures = 0;
  #wasReached = false;
  /** Whether the program needs to hear of a break: not of the first after an answer. */
  isLong = true;

  spoke() {
    [this.failures, this.#wasReached, this.isLong] = [0, true, false];
  }

  /** Throws an error after which no other try makes sense; else returns itself. */
  check(error) {
    this.#wasReached ||= !(error instanceof NoDaemon);
    // Without a daemon from the start, the error says how to begin.
    if (!(error instanceof Problem && error.retryable && this.#wasReached)) throw error;
    return this;
  }

  /** Waits with backoff and jitter, from 0.1 s to `most`. */
  async pause(signal, { ref = true, atMost = false, most = 5_000 } = {}) {
    const limit = Math.min(most, 100 * 2 ** Math.min(this.failures++, 10));
    const time = atMost ? most : 100 + Math.random() * (limit - 100);
    this.isLong = true;
    await sleep(time, undefined, { signal, ref }).catch(() => signal.throwIfAborted());
  }
}

/** Items for `for await`, made by a generator that `run` returns for a signal. */
export class Stream {
  #items;
  #stop = new AbortController();
  #isClosed = false;

  constructor(core, signal, run) {
    this.#items = this.#run(core, signal, run);
  }

  async *#run(core, signal, run) {
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
    return this.#items.next().catch((error) => {
      if (this.#isClosed) return { done: true, value: undefined };
      throw error;
    });
  }

  /** Ends the generator too, so that it forgets the signal also if the program reads no further. */
  async return() {
    this.#isClosed = true;
    this.#stop.abort(clientClosed());
    return this.#items.return().catch(() => ({ done: true, value: undefined }));
  }

  close() {
    this.return();
  }

  [Symbol.asyncIterator]() {
    return this;
  }
}
