// A daemon and an origin for tests. LARDER_BIN is the folder of the daemon.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const bin = process.env.LARDER_BIN ?? ".build/debug";
export const skip = existsSync(join(bin, "larderd")) ? false : `there is no ${bin}/larderd`;

/** Waits until a condition has a value that counts, and returns it. */
export async function until(condition, what = "the condition", seconds = 60) {
  for (const end = Date.now() + seconds * 1_000; ; await sleep(20)) {
    const value = await condition();
    if (value) return value;
    assert.ok(Date.now() < end, `${what} within ${seconds} s`);
  }
}

export class Daemon {
  #process;

  /** A daemon in a folder of its own; `configuration` is added to its file. */
  constructor(configuration) {
    this.folder = mkdtempSync(join(tmpdir(), "larder-"));
    this.socket = join(this.folder, "api.sock");
    this.config = join(this.folder, "larder.yaml");
    const folders = `{cache_directory: ${this.folder}/cache, state_directory: ${this.folder}/state}`;
    const head = `sockets: {api: ${this.socket}, mode: "0600"}\nstorage: ${folders}\n`;
    writeFileSync(this.config, head + configuration);
  }

  async start() {
    const log = openSync(join(this.folder, "log"), "a");
    const stdio = ["ignore", log, log];
    this.#process = spawn(join(bin, "larderd"), ["--config", this.config], { stdio });
    const isReady = () => {
      assert.equal(this.#process.exitCode, null, readFileSync(join(this.folder, "log"), "utf8"));
      return this.api("GET", "/v1/health").then(() => true, () => false);
    };
    await until(isReady, "the daemon answers");
    return this;
  }

  async end(signal = "SIGKILL") {
    const ended = once(this.#process, "exit");
    this.#process.kill(signal);
    await ended;
  }

  async remove() {
    await this.end();
    rmSync(this.folder, { recursive: true });
  }

  /** The JSON of an answer to a request of another program. */
  async api(method, path, command) {
    const headers = command ? { "Content-Type": "application/json" } : {};
    const request = http.request({ socketPath: this.socket, method, path, headers, agent: false });
    request.end(command && JSON.stringify(command));
    const [answer] = await once(request, "response");
    let text = "";
    for await (const chunk of answer.setEncoding("utf8")) text += chunk;
    assert.ok(answer.statusCode < 400, `${method} ${path}: ${text}`);
    return text && JSON.parse(text);
  }

  setOffline(offline, origin = "local") {
    return this.api("PATCH", `/v1/origins/${origin}`, { offline });
  }
}

/** An HTTP origin with JSON documents, which a test tells what to do. */
export class Origin {
  #documents = new Map();
  #server;
  requests = [];
  /** Called for each request first; true: it has answered. */
  treat = () => false;
  port = 0;

  async start() {
    this.#server = http.createServer((request, answer) => this.#answer(request, answer));
    // Without this, Node closes a connection that is idle for 5 s, perhaps as a request comes.
    this.#server.keepAliveTimeout = 0;
    this.#server.listen(this.port, "127.0.0.1");
    await once(this.#server, "listening");
    this.port = this.#server.address().port;
    this.base = `http://127.0.0.1:${this.port}`;
    return this;
  }

  async stop() {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  set(path, value) {
    this.#documents.set(path, value);
  }

  value(path) {
    return this.#documents.get(path);
  }

  async #answer(request, answer) {
    let body = "";
    for await (const chunk of request.setEncoding("latin1")) body += chunk;
    const { method, url, headers } = request;
    body = Buffer.from(body, "latin1").toString();
    this.requests.push({ method, url, headers, body });
    if (await this.treat({ method, url, headers, body }, answer)) return;
    this.#ordinary(method, url, headers, body, answer);
  }

  #ordinary(method, url, headers, body, answer) {
    if (method === "POST") return this.#append(url, JSON.parse(body), answer);
    const ifMatch = headers["if-match"];
    if (ifMatch && ifMatch !== this.#etag(url)) return reply(answer, 412, { error: "changed" });
    if (method === "PUT") this.set(url, JSON.parse(body));
    if (method === "PATCH") this.set(url, { ...this.value(url), ...JSON.parse(body) });
    if (!this.#documents.has(url)) return reply(answer, 404, { error: "nothing here" });
    if (method === "DELETE") this.#documents.delete(url);
    const etag = this.#etag(url);
    if (headers["if-none-match"] === etag) return reply(answer, 304, undefined, { ETag: etag });
    return reply(answer, 200, this.value(url) ?? null, { ETag: etag });
  }

  #etag(url) {
    const text = JSON.stringify(this.value(url) ?? null);
    return `"${createHash("sha1").update(text).digest("hex")}"`;
  }

  /** A new row gets the next number as its id, and a document of its own. */
  #append(url, row, answer) {
    const list = this.value(url);
    const made = { ...row, id: list.items.length + 1 };
    this.set(url, { ...list, items: [...list.items, made] });
    this.set(`${url}/${made.id}`, made);
    reply(answer, 201, made, { Location: `${url}/${made.id}` });
  }
}

export function reply(answer, status, body, headers = {}) {
  const type = body === undefined ? {} : { "Content-Type": "application/json" };
  answer.writeHead(status, { ...type, ...headers });
  answer.end(body === undefined ? undefined : JSON.stringify(body));
  return true;
}

/** A gate that holds requests of an origin until it is opened. */
export function gate() {
  let open;
  const isOpen = new Promise((resolve) => (open = resolve));
  return { open: () => open(), isOpen };
}

/** Expects a rejection of a class, and returns the error. */
export async function refused(promise, type) {
  const error = await Promise.resolve(promise).then(
    () => assert.fail("it was not refused"),
    (error) => error,
  );
  assert.ok(error instanceof type, `${error?.stack} is a ${type.name}`);
  return error;
}
