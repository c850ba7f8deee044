// The client: reads and writes of the daemon.

import { randomUUID } from "node:crypto";
import { open, rename, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Core, Stream, chunks, duration, given, pathOf, wholeBody } from "./core.js";
import { Gone, badAnswer } from "./problem.js";
import { credentialCommand, fetched, followed, renewing, watched } from "./streams.js";
import { Snapshot } from "./views.js";
import { Write, accept, conflicts, create, modification } from "./writes.js";

const isURL = (text) => /^https?:\/\//.test(text);

/** A client of the daemon. It opens nothing before its first request. */
export class Larder {
  #core;

  constructor(options) {
    this.#core = new Core(options);
  }

  /** Name of the client, by which a watch knows its own changes. */
  get name() {
    return this.#core.name;
  }

  /** Ends all streams and requests. */
  close() {
    this.#core.close();
  }

  #fetchCommand(url, { policy, networkWait, timeout, headers, partial, heartbeat }) {
    return given({
      url,
      policy,
      network_wait: duration(networkWait),
      timeout: duration(timeout),
      headers,
      partial,
      heartbeat: duration(heartbeat),
      account: this.#core.account,
    });
  }

  /** The entry of a URL with its body, or what is stored under another id. */
  async get(url, { policy = "network-first", signal, ...options } = {}) {
    if (!isURL(url)) {
      const query = { account: this.#core.account };
      const answer = await this.#core.request("GET", pathOf("entries", url), { query, signal });
      return Snapshot.ofAnswer(url, answer, await wholeBody(answer));
    }
    let last;
    for await (const view of this.fetch(url, { policy, signal, ...options })) {
      if (view.type === "snapshot") last = view;
      if (view.type === "deleted") last = undefined;
      if (view.type === "failure" && !last) throw view.problem;
      // The cached entry counts as the answer of the network, which failed or is slow.
      if (last?.source === "cache" && policy !== "cache-then-network") break;
      if (view.type !== "deleted") continue;
      throw new Gone("urn:larder:deleted", `${url} is gone.`, { status: view.status });
    }
    if (!last) throw badAnswer(`The fetch of ${url} has no snapshot.`);
    return last;
  }

  /** The views of a URL: the cached entry, then the network's word. */
  fetch(url, { signal, ...options } = {}) {
    const command = this.#fetchCommand(url, options);
    return new Stream(this.#core, signal, (stop) => fetched(this.#core, command, stop));
  }

  /** The views of a URL, now and after each change. It goes on over restarts of the daemon. */
  follow(url, { signal, ...options } = {}) {
    const command = this.#fetchCommand(url, options);
    return new Stream(this.#core, signal, (stop) => followed(this.#core, command, stop));
  }

  /** The changes of entries, entities, writes and origins. It goes on over restarts. */
  watch({ prefix, ids, types, since, initial, heartbeat, signal } = {}) {
    const command = given({
      prefixes: typeof prefix === "string" ? [prefix] : prefix,
      ids,
      types,
      since,
      initial: initial || undefined,
      heartbeat: duration(heartbeat),
      account: this.#core.account,
    });
    return new Stream(this.#core, signal, (stop) => watched(this.#core, command, stop));
  }

  /** Writes the exact bytes of a URL or a stored id to a file; returns their number. */
  async save(url, path, { policy, signal } = {}) {
    const answer = await this.#bytes(url, policy, signal);
    const temporary = join(dirname(path), `.larder-${randomUUID()}`);
    const file = await open(temporary, "wx");
    let size = 0;
    try {
      try {
        for await (const chunk of chunks(answer)) {
          await file.writeFile(chunk);
          size += chunk.length;
        }
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(temporary, path);
    } catch (error) {
      answer.destroy();
      await unlink(temporary).catch(() => {});
      throw error;
    }
    return size;
  }

  async #bytes(url, policy, signal) {
    const { account } = this.#core;
    const options = { signal, limit: 0, fresh: true };
    if (!isURL(url)) {
      return this.#core.request("GET", pathOf("entries", url), { ...options, query: { account } });
    }
    try {
      const query = { url, policy, account };
      return await this.#core.request("GET", "/v1/get", { ...options, query });
    } catch (error) {
      const path = error.members?.raw_href;
      if (!path) throw error;
      // The daemon refuses to store the answer, and passes it through.
      const headers = given({ "Cache-Control": "no-store", "Larder-Account": account });
      return this.#core.request("GET", path, { ...options, headers });
    }
  }

  /** Stores bytes, a text or a stream under an id; they are on disk when it returns. */
  async put(id, content, options = {}) {
    const { contentType = "application/octet-stream", ttl, pin, ifMatch, onlyNew, signal } = options;
    const headers = given({
      "Content-Type": contentType,
      "If-Match": ifMatch,
      "If-None-Match": onlyNew ? "*" : undefined,
    });
    const query = { ttl: duration(ttl), pin: pin || undefined, account: this.#core.account };
    const isBlob = typeof content?.stream === "function";
    const body = isBlob ? content.stream() : content;
    const more = { query, headers, body, signal, limit: 0, fresh: true };
    return receiptOf(await this.#core.request("PUT", pathOf("entries", id), more));
  }

  /** Removes stored bytes, or forgets an origin's answer. */
  async delete(id, { ifMatch, signal } = {}) {
    const headers = given({ "If-Match": ifMatch });
    const options = { query: { account: this.#core.account }, headers, signal, fresh: true };
    await receiptOf(await this.#core.request("DELETE", pathOf("entries", id), options));
  }

  /** Entries without their bytes. */
  entries({ prefix, origin, sort, signal } = {}) {
    const query = { prefix, origin, sort };
    return new Stream(this.#core, signal, (stop) =>
      this.#core.pages("/v1/entries", query, stop),
    );
  }

  /** Pins an entry, which is then never evicted. Undefined: it was pinned before. */
  pin(id, { wait, signal } = {}) {
    const query = { wait: duration(wait), account: this.#core.account };
    const options = { query, signal, limit: 0, fresh: true };
    return this.#core.report("PUT", pathOf("pins", id), options);
  }

  /** Makes a pinned entry an ordinary one. */
  async unpin(id, { signal } = {}) {
    const query = { account: this.#core.account };
    await this.#core.report("DELETE", pathOf("pins", id), { query, signal });
  }

  /** The pins. */
  pins({ signal } = {}) {
    return new Stream(this.#core, signal, (stop) => this.#core.pages("/v1/pins", {}, stop));
  }

  /** Changes a URL, an entity or a stored id: here now, at its origin as soon as possible. */
  modify(target, { signal, ...options } = {}) {
    return this.write(modification(target, options), { signal });
  }

  /** Writes several changes at the same time, as `POST /v1/modifiers` has them. */
  async write(command, { signal } = {}) {
    return new Write(this.#core, await accept(this.#core, command, signal));
  }

  /** Creates a thing with a POST to a URL. It shows now, in the list at the pointer `into`. */
  create(url, value, options = {}) {
    return create(this.#core, url, value, options);
  }

  /** The writes that wait and those that failed, or those in a state. */
  writes({ state, lane, signal } = {}) {
    const core = this.#core;
    return new Stream(core, signal, async function* (stop) {
      for await (const report of core.pages("/v1/modifiers", { state, lane }, stop)) {
        yield new Write(core, report, report);
      }
    });
  }

  /** Writes that met a change of another device, those that wait now and each later one. */
  conflicts({ signal } = {}) {
    return new Stream(this.#core, signal, (stop) => conflicts(this.#core, stop));
  }

  /** Sets the credential of this client's account at an origin. */
  setCredential(origin, credential, { signal } = {}) {
    const command = given({ ...credentialCommand(credential), account: this.#core.account });
    return this.#core.report("PUT", `${pathOf("origins", origin)}/credential`, { command, signal });
  }

  /** The credential of this client's account at an origin, without its value. */
  credential(origin, { signal } = {}) {
    const query = { account: this.#core.account };
    return this.#core.report("GET", `${pathOf("origins", origin)}/credential`, { query, signal });
  }

  /** Removes the credential of this client's account at an origin. */
  removeCredential(origin, { signal } = {}) {
    const query = { account: this.#core.account };
    return this.#core.report("DELETE", `${pathOf("origins", origin)}/credential`, { query, signal });
  }

  /** Renews the credential of the account when the daemon asks, until the client is closed. */
  provideCredential(origin, renew, { signal } = {}) {
    const run = (stop) => renewing(this.#core, origin, renew, stop);
    const stream = new Stream(this.#core, signal, run);
    const finished = stream.next().then(() => {});
    finished.catch((error) => {
      if (signal?.aborted) return;
      process.emitWarning(`No credential of ${origin} is renewed: ${error.message}`, "LarderWarning");
    });
    return { finished, close: () => stream.close() };
  }

  /** The state of the daemon. */
  status({ signal } = {}) {
    return this.#core.report("GET", "/v1/status", { signal });
  }
}

async function receiptOf(answer) {
  await wholeBody(answer);
  const { etag, "larder-rev": rev } = answer.headers;
  return { isNew: answer.statusCode === 201, etag, rev: rev === undefined ? undefined : Number(rev) };
}
