// The client: reads and writes of the daemon. index.d.ts describes its methods.

import { randomUUID } from "node:crypto";
import { rename, stat, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Core, Stream, commandOf, duration, isURL, pathOf, wholeBody } from "./core.js";
import { download } from "./download.js";
import { badAnswer, found } from "./problem.js";
import { credentialCommand, fetched, followed, renewing, watched } from "./streams.js";
import { Write, accept, create, modification } from "./writes.js";

export class Larder {
  #core;

  constructor(options) {
    this.#core = new Core(options);
  }

  close() {
    this.#core.close();
  }

  #stream(run, signal, ...rest) {
    return new Stream(this.#core, signal, (stop) => run(this.#core, ...rest, stop));
  }

  #pages(path, query, signal) {
    return new Stream(this.#core, signal, (stop) => this.#core.pages(path, query, stop));
  }

  async get(url, { policy = "network-first", signal, ...options } = {}) {
    const command = isURL(url) ? commandOf({ url, policy, ...options }) : { ids: [url] };
    const path = isURL(url) ? "/v1/fetch" : "/v1/entries/batch";
    let entry;
    for await (const view of fetched(this.#core, path, command, signal, false)) {
      if (view.type === "miss") throw found("miss", `Nothing is cached under ${url}.`);
      if (view.type === "deleted") throw found("deleted", `${url} is gone.`, view);
      if (view.type === "failure" && !entry) throw view.problem;
      if (view.type === "snapshot") entry = view;
      // The cached entry is the answer if the network failed or is slow.
      if (isURL(url) && entry?.source === "cache" && policy !== "cache-then-network") break;
    }
    if (!entry) throw badAnswer(`There is no snapshot of ${url}.`);
    return entry;
  }

  fetch(url, { signal, ...options } = {}) {
    return this.#stream(fetched, signal, "/v1/fetch", commandOf({ url, ...options }));
  }

  follow(url, { signal, ...options } = {}) {
    return this.#stream(followed, signal, commandOf({ url, ...options }));
  }

  watch({ prefix, initial, signal, ...options } = {}) {
    const prefixes = typeof prefix === "string" ? [prefix] : prefix;
    const command = commandOf({ prefixes, initial: initial || undefined, ...options });
    return this.#stream(watched, signal, command);
  }

  async save(url, path, options = {}) {
    const temporary = join(dirname(path), `.larder-${randomUUID()}`);
    try {
      // The rights of the file that it replaces, or of a new one.
      const mode = ((await stat(path).catch(() => null))?.mode & 0o777) || 0o666;
      const size = await download(this.#core, url, temporary, { ...options, mode });
      await rename(temporary, path);
      return size;
    } finally {
      await unlink(temporary).catch(() => {});
    }
  }

  async put(id, content, options = {}) {
    if (content == null) throw new TypeError(`The content of ${id} is missing.`);
    const { contentType = "application/octet-stream", ttl, pin, ifMatch, signal } = options;
    const onlyNew = options.onlyNew ? "*" : undefined;
    const headers = { "Content-Type": contentType, "If-Match": ifMatch, "If-None-Match": onlyNew };
    const query = { ttl: duration(ttl), pin: pin || undefined };
    const body = typeof content?.stream === "function" ? content.stream() : content;
    const more = { query, headers, body, signal, limit: 0, fresh: true };
    const answer = await this.#core.request("PUT", pathOf("entries", id), more);
    await wholeBody(answer);
    const { etag, "larder-rev": rev } = answer.headers;
    return { isNew: answer.statusCode === 201, etag, rev: rev && Number(rev) };
  }

  async delete(id, { ifMatch, signal } = {}) {
    const options = { headers: { "If-Match": ifMatch }, signal, fresh: true };
    await this.#core.report("DELETE", pathOf("entries", id), options);
  }

  entries({ prefix, origin, sort, signal } = {}) {
    return this.#pages("/v1/entries", { prefix, origin, sort }, signal);
  }

  pin(id, { wait, refresh, signal } = {}) {
    const query = { wait: duration(wait), refresh: duration(refresh) };
    const options = { query, signal, limit: 0, fresh: true };
    return this.#core.report("PUT", pathOf("pins", id), options);
  }

  async unpin(id, { signal } = {}) {
    await this.#core.report("DELETE", pathOf("pins", id), { signal, fresh: true });
  }

  pins({ signal } = {}) {
    return this.#pages("/v1/pins", {}, signal);
  }

  prefetch(name, urls, { dryRun, wait, signal, ...options } = {}) {
    const items = Array.from(urls, (url) => (typeof url === "string" ? { url } : url));
    const query = { dry_run: dryRun || undefined, wait: duration(wait) };
    const command = commandOf({ items, ...options });
    const more = { query, command, signal, limit: 0, fresh: true };
    return this.#core.report("PUT", pathOf("prefetch", name), more);
  }

  prefetched(name, { signal } = {}) {
    return this.#core.report("GET", pathOf("prefetch", name), { signal });
  }

  prefetches({ signal } = {}) {
    return this.#pages("/v1/prefetch", { limit: undefined }, signal);
  }

  async removePrefetch(name, { signal } = {}) {
    await this.#core.report("DELETE", pathOf("prefetch", name), { signal, fresh: true });
  }

  modify(target, { signal, ...options } = {}) {
    return this.write(modification(target, options), { signal });
  }

  async write(command, { signal } = {}) {
    return new Write(this.#core, await accept(this.#core, command, signal));
  }

  create(url, value, options = {}) {
    return create(this.#core, url, value, options);
  }

  writes({ state, lane, signal } = {}) {
    const list = async function* (core, stop) {
      for await (const report of core.pages("/v1/modifiers", { state, lane }, stop)) {
        const write = new Write(core, report, report);
        // A list does not tell the values of a conflict.
        yield state === "conflict" ? await write.refresh({ signal: stop }) : write;
      }
    };
    return this.#stream(list, signal);
  }

  conflicts(options) {
    return this.writes({ ...options, state: "conflict" });
  }

  setCredential(origin, credential, { signal } = {}) {
    const options = { command: credentialCommand(credential), signal };
    return this.#core.report("PUT", `${pathOf("origins", origin)}/credential`, options);
  }

  provideCredential(origin, renew, { signal } = {}) {
    const stream = this.#stream(renewing, signal, origin, renew);
    const finished = stream.next().then(() => {});
    finished.catch((error) => {
      if (signal?.aborted) return;
      const text = `No credential of ${origin} is renewed: ${error.message}`;
      process.emitWarning(text, "LarderWarning");
    });
    return { finished, close: () => stream.close() };
  }
}
