// The client against the real daemon, with a real HTTP origin.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createReadStream, readFileSync, readdirSync, statSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { after, before, beforeEach, describe, test } from "node:test";
import { Gone, Invalid, Larder, Miss, Offline, TooLarge, TooLate } from "../index.js";
import { Daemon, Origin, gate, refused, reply, skip, until } from "./support.js";

const MIB = 1 << 20;

function configuration(origin) {
  return `cache: {max_bytes: 1GiB, max_entry_bytes: 110MiB}
origins:
  local:
    base_url: "${origin.base}"
    allow_private: true
    fetch: {post_reads: [/search], network_wait: 60s}
    modifiers: {created_id: /id, idempotency: {honoured: true}}
    normalize: {by_type: true, types: [{type: Todo, url: "/todos/{id}"}]}
  plain: {base_url: "${origin.base}/plain", allow_private: true}
`;
}

describe("the client and the daemon", { skip, timeout: 300_000 }, () => {
  let daemon;
  let origin;
  let cache;

  before(async () => {
    origin = await new Origin().start();
    daemon = await new Daemon(configuration(origin)).start();
  });
  after(async () => {
    cache.close();
    await daemon.remove();
    await origin.stop();
  });
  beforeEach(() => {
    cache?.close();
    cache = new Larder({ socket: daemon.socket });
    origin.treat = () => false;
  });

  const url = (path) => `${origin.base}${path}`;
  async function outage(body) {
    await origin.stop();
    try {
      return await body();
    } finally {
      await origin.start();
    }
  }
  async function restart() {
    await daemon.end("SIGKILL");
    await daemon.start();
  }

  test("an entry is answered without a network, with its marks", async () => {
    origin.set("/a", { n: 1 });
    const online = await cache.get(url("/a"));
    assert.deepEqual([online.source, online.stale, online.json()], ["network", false, { n: 1 }]);
    await outage(async () => {
      const offline = await cache.get(url("/a"));
      assert.deepEqual([offline.source, offline.json()], ["cache", { n: 1 }]);
      assert.equal(offline.etag, online.etag);
      const types = [];
      for await (const view of cache.fetch(url("/a"))) types.push(view.type);
      assert.deepEqual(types, ["snapshot", "failure"]);
      const error = await refused(cache.get(url("/never")), Offline);
      assert.ok(error.retryable && error.message.includes(error.hint));
    });
    const miss = await refused(cache.get(url("/never"), { policy: "cache-only" }), Miss);
    assert.equal(miss.type, "urn:larder:miss");
    await refused(cache.get(url("/never")), Gone);
  });

  test("numbers and bytes of a body stay as they are", async () => {
    const text = '{"body": {"entry": 12345678901234567890}, "one": 1.0}';
    origin.treat = (_, answer) => {
      answer.writeHead(200, { "Content-Type": "application/json" }).end(text);
      return true;
    };
    assert.equal((await cache.get(url("/digits"))).text, text);
    const bytes = Buffer.from([0, 255, 10, 13]);
    await cache.put("bytes/1", bytes);
    assert.deepEqual((await cache.get("bytes/1")).content, bytes);
    await cache.delete("bytes/1");
    await refused(cache.get("bytes/1"), Miss);
  });

  test("S31: a read with a body comes offline too", async () => {
    const query = { text: "milk" };
    origin.treat = ({ method, body }, answer) =>
      method === "POST" && reply(answer, 200, { found: JSON.parse(body) });
    const options = { method: "POST", body: query };
    const first = await cache.get(url("/search"), options);
    assert.deepEqual([first.source, first.json()], ["network", { found: query }]);
    assert.match(first.id, / POST=sha256-/);
    await outage(async () => {
      const again = await cache.get(url("/search"), options);
      assert.deepEqual([again.id, again.source], [first.id, "cache"]);
      const text = { method: "POST", bodyText: '{"text":"milk"}', contentType: "application/json" };
      for await (const view of cache.fetch(url("/search"), { ...text, policy: "cache-only" })) {
        assert.deepEqual([view.id, view.json()], [first.id, { found: query }]);
      }
    });
    const refusal = await refused(cache.get(url("/other"), options), Invalid);
    assert.equal(refusal.type, "urn:larder:not-a-read");
  });

  test("a save goes on after kill -9 in the middle", async () => {
    const body = Buffer.from(Array.from({ length: 4 * MIB }, (_, index) => index % 251));
    const half = 2 * MIB;
    const ranges = [];
    origin.treat = ({ headers: { range, "if-range": tag } }, answer) => {
      const start = Number(/^bytes=(\d+)-$/.exec(range)?.[1] ?? 0);
      ranges.push([start, tag]);
      const part = start ? { "Content-Range": `bytes ${start}-${body.length - 1}/${body.length}` } : {};
      const length = body.length - start;
      // The daemon passes on an answer that it may not store while it arrives.
      const headers = { ETag: '"film"', "Cache-Control": "no-store", "Content-Length": length };
      answer.writeHead(start ? 206 : 200, { ...headers, ...part });
      // The first answer ends with the connection.
      if (start) answer.end(body.subarray(start));
      else answer.write(body.subarray(0, half));
      return true;
    };
    const path = `${daemon.folder}/film`;
    const saving = cache.save(url("/film"), path);
    const sizes = () =>
      readdirSync(daemon.folder)
        .filter((name) => name.startsWith(".larder"))
        .map((name) => statSync(`${daemon.folder}/${name}`).size);
    await until(() => sizes()[0] === half, "half of the body");
    await restart();
    assert.equal(await saving, body.length);
    assert.ok(readFileSync(path).equals(body));
    assert.deepEqual(ranges.at(-1), [half, '"film"']);
  });

  test("S25: a follower goes on over kill -9, and repeats nothing", async () => {
    origin.set("/f", { n: 1 });
    const views = [];
    const stream = cache.follow(url("/f"), { heartbeat: "1s" });
    const reading = (async () => {
      for await (const view of stream) if (view.type === "snapshot") views.push(view);
    })();
    const sees = (n) => until(() => views.at(-1)?.json().n === n, `the view ${n}`);
    await sees(1);
    const other = new Larder({ socket: daemon.socket });
    for (let n = 2; n <= 4; n += 1) {
      // A request of the follower that is under way then may answer the other client, too.
      origin.set("/f", { n });
      await restart();
      await other.get(url("/f"), { policy: "network-only" });
      await sees(n);
    }
    stream.close();
    other.close();
    await reading;
    assert.deepEqual(views.map((view) => view.json().n), [1, 2, 3, 4]);
    assert.equal(new Set(views.map((view) => view.rev)).size, 4);
  });

  test("S25: a watch goes on over kill -9, and misses nothing", async () => {
    const seen = [];
    const stream = cache.watch({ prefix: "notes/", heartbeat: "1s", initial: true });
    const reading = (async () => {
      for await (const event of stream) if (event.type === "put") seen.push(event);
    })();
    const other = new Larder({ socket: daemon.socket });
    for (let n = 1; n <= 5; n += 1) {
      await other.put(`notes/${n}`, "milk");
      if (n % 2) await restart();
      await other.put(`notes/${n}b`, "milk");
    }
    const ids = () => new Set(seen.map((event) => event.id));
    await until(() => ids().size === 10, "all notes");
    await cache.put("notes/own", "milk");
    const own = await until(() => seen.find((event) => event.id === "notes/own"), "its own note");
    assert.equal(own.self, true);
    stream.close();
    other.close();
    await reading;
    const revs = seen.filter((event) => !event.initial).map((event) => event.rev);
    assert.deepEqual(revs, [...new Set(revs)].sort((a, b) => a - b));
  });

  test("S25: a slow reader sees the last state of each entry", async () => {
    const stream = cache.watch({ prefix: "slow/" });
    await stream.next();
    const ids = Array.from({ length: 400 }, (_, index) => `slow/${index}-${"x".repeat(1_000)}`);
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(ids.map((id) => cache.put(id, String(round))));
    }
    const last = new Map();
    for (const id of ids) last.set(id, (await cache.get(id)).rev);
    for await (const event of stream) {
      if (event.type === "put" && last.get(event.id) === event.rev) last.delete(event.id);
      if (!last.size) break;
    }
    assert.equal(last.size, 0);
  });

  test("a blob of 100 MiB is stored and saved; a larger one is refused", async () => {
    const piece = Buffer.alloc(MIB, "0123456789abcdef");
    const pieces = function* (count) {
      for (let index = 0; index < count; index += 1) {
        piece.writeUInt32BE(index, 0);
        yield Buffer.from(piece);
      }
    };
    const wanted = createHash("sha256");
    for (const part of pieces(100)) wanted.update(part);
    const receipt = await cache.put("blob", pieces(100), { contentType: "video/mp4" });
    assert.equal(receipt.isNew, true);
    const path = `${daemon.folder}/saved`;
    assert.equal(await cache.save("blob", path), 100 * MIB);
    const got = createHash("sha256");
    for await (const part of createReadStream(path)) got.update(part);
    assert.equal(got.digest("hex"), wanted.digest("hex"));
    await refused(cache.put("too-large", pieces(160)), TooLarge);
    await refused(cache.save("nothing", path), Miss);
    const halt = new AbortController();
    const endless = (async function* () {
      for (;;) {
        yield piece;
        halt.abort(new Error("enough"));
      }
    })();
    const error = await refused(cache.put("endless", endless, { signal: halt.signal }), Error);
    assert.equal(error.message, "enough");
    assert.deepEqual(readdirSync(daemon.folder).filter((name) => name.startsWith(".larder")), []);
  });

  test("a write can be cancelled in each state that allows it", async () => {
    const merge = { n: 2 };
    const inState = async (path, state, options = {}) => {
      origin.set(path, { n: 1 });
      await cache.get(url(path));
      const write = await cache.modify(url(path), { merge, ...options });
      await until(async () => (await write.refresh()).state === state, `${path} is ${state}`);
      return write;
    };
    const isCancelled = async (write) => {
      assert.equal((await write.cancel()).state, "cancelled");
      assert.equal((await write.wait()).state, "cancelled");
    };
    await isCancelled(await inState("/w/held", "held", { hold: "1h" }));
    await daemon.setOffline(true);
    const queued = cache.modify(url("/w/held"), { merge });
    await isCancelled(await queued);
    await daemon.setOffline(false);

    const held = gate();
    origin.treat = async ({ method, url: path }, answer) => {
      if (method !== "PATCH" && method !== "POST") return false;
      if (path === "/w/in_flight") await held.isOpen;
      const status = { "/w/retry": 429, "/w/auth": 401, "/w/failed": 422, "/w/accepted": 202 }[path];
      if (path === "/w/unknown") return answer.destroy();
      return status ? reply(answer, status, { status }, { "Retry-After": "2" }) : false;
    };
    await isCancelled(await inState("/w/retry", "retry_wait"));
    await isCancelled(await inState("/w/auth", "auth_wait"));

    const inFlight = await inState("/w/in_flight", "in_flight");
    assert.equal((await refused(inFlight.cancel(), TooLate)).type, "urn:larder:already-sent");
    held.open();
    assert.equal((await inFlight.wait("60s")).state, "confirmed");
    await refused(inFlight.cancel(), TooLate);

    await refused((await inState("/w/accepted", "accepted")).cancel(), TooLate);
    const request = { method: "POST", url: url("/w/unknown"), body: {} };
    const unknown = await inState("/w/unknown", "unknown", { request, afterUnknown: "hold" });
    await refused(unknown.cancel(), TooLate);
    assert.equal((await unknown.discard()).state, "failed");
    assert.equal((await unknown.drop()).state, "dropped");

    const failed = await inState("/w/failed", "failed");
    await refused(failed.cancel(), TooLate);
    assert.equal(failed.answer.status, 422);
    assert.deepEqual([failed.problem.originStatus, failed.problem.body], [422, { status: 422 }]);
    origin.treat = () => false;
    await failed.retry();
    assert.equal((await failed.wait("60s")).state, "confirmed");
    await refused(failed.drop(), TooLate);
  });

  test("S25: a wait for a write goes on over kill -9", async () => {
    origin.set("/wait", { n: 1 });
    await cache.get(url("/wait"));
    const write = await outage(async () => {
      const write = await cache.modify(url("/wait"), { merge: { n: 2 } });
      assert.equal((await write.wait(50)).isSettled, false);
      return write;
    });
    const waiting = write.wait();
    await restart();
    assert.equal((await waiting).state, "confirmed");
    assert.deepEqual(origin.value("/wait"), { n: 2 });
  });

  test("S26: rows have marks; a created thing has a temporary id and then the real one", async () => {
    origin.set("/todos", { items: [{ type: "Todo", id: 1, title: "bread" }] });
    origin.set("/todos/1", { type: "Todo", id: 1, title: "bread" });
    const list = await cache.get(url("/todos"));
    assert.deepEqual(list.rows("/items").map(([row, mark]) => [row.title, mark.pending]), [
      ["bread", []],
    ]);
    const value = { type: "Todo", title: "milk" };
    const [like, item] = await outage(async () => {
      const like = await cache.modify("entity:local/Todo:1", { merge: { liked: true } });
      const item = await cache.create(url("/todos"), value, { into: "/items" });
      assert.match(item.id, /^entity:local\/Todo:tmp:/);
      const view = await cache.get(url("/todos"), { policy: "cache-only" });
      const marks = view.rows("/items").map(([row, mark]) => [row.title, mark.id, mark.pending]);
      assert.deepEqual(marks, [
        ["bread", "entity:local/Todo:1", [like.id]],
        ["milk", item.id, [item.writeId]],
      ]);
      return [like, item];
    });
    const temporary = item.id;
    assert.equal((await item.wait("60s")).id, "entity:local/Todo:2");
    assert.equal((await like.wait("60s")).state, "confirmed");
    assert.equal((await cache.get(temporary)).json().title, "milk");
    assert.throws(() => list.rows("/nothing"), /no list at "\/nothing"/);
  });

  test("a thing can be created without rules", async () => {
    origin.set("/plain/list", { items: [] });
    await cache.get(url("/plain/list"));
    const item = await cache.create(url("/plain/list"), { title: "jam" }, { into: "/items" });
    assert.match(item.id, /^tmp:/);
    assert.equal((await item.wait("60s")).id, url("/plain/list/1"));
    const alone = await cache.create(url("/plain/list"), { title: "tea" });
    assert.equal((await alone.wait("60s")).id, url("/plain/list/2"));
  });

  test("a conflict has both values, and is resolved", async () => {
    for (const choice of ["mine", "theirs"]) {
      const path = `/conflict/${choice}`;
      origin.set(path, { title: "milk" });
      await cache.get(url(path));
      await daemon.setOffline(true);
      const write = await cache.modify(url(path), { merge: { title: "soy" } });
      origin.set(path, { title: "rice" });
      await daemon.setOffline(false);
      const find = async () => (await cache.conflicts().next()).value;
      const found = await until(find, "a conflict");
      assert.equal(found.id, write.id);
      const [{ base, mine, theirs }] = found.conflict;
      const titles = [base, mine, theirs].map((value) => value["/title"]);
      assert.deepEqual(titles, ["milk", "soy", "rice"]);
      await found.resolve(choice);
      assert.equal((await write.wait("60s")).state, choice === "mine" ? "confirmed" : "cancelled");
      assert.equal(origin.value(path).title, choice === "mine" ? "soy" : "rice");
    }
    const write = await cache.modify(url("/conflict/none"), { delete: true });
    await refused(write.resolve("both"), TypeError);
  });

  test("S38: a follower and a pin have an entry refreshed", async () => {
    origin.set("/r", { n: 0 });
    const stream = cache.follow(url("/r"), { refresh: 5_000 });
    await until(async () => (await stream.next()).value.type === "snapshot", "a view");
    await cache.pin(url("/r"), { refresh: "1h" });
    const pins = [];
    for await (const pin of cache.pins()) pins.push(pin);
    assert.equal(pins.find(({ id }) => id === url("/r")).refresh, "5s");
    origin.set("/r", { n: 1 });
    await until(async () => (await stream.next()).value.json?.().n === 1, "the new answer");
    await refused(cache.pin(url("/r"), { refresh: "1s" }), Invalid);
    stream.close();
    await cache.unpin(url("/r"));
  });

  test("pins are held, listed and given back; lists have all pages", async () => {
    origin.set("/p", { n: 1 });
    const pin = await cache.pin(url("/p"), { wait: "30s" });
    assert.equal(pin?.state ?? "held", "held");
    const pins = [];
    for await (const { id } of cache.pins()) pins.push(id);
    assert.deepEqual(pins, [url("/p")]);
    await cache.unpin(url("/p"));
    await refused(cache.unpin("nothing"), Miss);
    await cache.put("list/1 ä?", "a");
    const ids = [];
    for await (const { id } of cache.entries({ prefix: "list/" })) ids.push(id);
    assert.deepEqual(ids, ["list/1 ä?"]);
    const write = await cache.modify(url("/p"), { put: { n: 2 }, hold: "1h" });
    const writes = [];
    for await (const { id, state } of cache.writes({ state: "held" })) writes.push([id, state]);
    assert.deepEqual(writes, [[write.id, "held"]]);
    await write.cancel();
  });

  test("S43: a set is fetched in advance, and watched until it is removed", async () => {
    origin.set("/s/1", { n: 1 });
    const urls = [url("/s/1"), url("/s/2")];
    const events = cache.watch({ types: ["prefetch"] });
    assert.equal((await events.next()).value.type, "bookmark");
    const query = { entities: { origin: "local", type: "Todo", limit: 1 } };
    const planned = await cache.prefetch("tonight", [...urls, query], { dryRun: true });
    assert.ok(planned.state === "planned" && [2, 3].includes(planned.items));
    assert.equal((await cache.prefetches().next()).done, true);
    const options = { expires: 3_600_000, refresh: "1h", wait: 30_000 };
    const report = await cache.prefetch("tonight", new Set(urls), options);
    assert.deepEqual([report.state, report.held, report.refresh], ["incomplete", 1, "1h"]);
    const failed = report.failed.map(({ id, problem }) => [id, problem.type]);
    assert.deepEqual(failed, [[urls[1], "urn:larder:deleted"]]);
    assert.deepEqual((await cache.prefetched("tonight")).failed, report.failed);
    assert.equal((await cache.prefetches().next()).value.name, "tonight");
    const other = new Larder({ socket: daemon.socket, account: "work" });
    const own = await other.prefetch("tonight", urls.slice(0, 1), { wait: "30s" });
    assert.equal(own.state, "ready");
    other.close();
    await cache.removePrefetch("tonight");
    for (const state of ["filling", "incomplete", "removed"]) {
      const { rev: _, ...event } = (await events.next()).value;
      assert.deepEqual(event, { type: "prefetch", name: "tonight", account: "default", state });
    }
    assert.equal((await refused(cache.prefetched("tonight"), Invalid)).type, "urn:larder:no-such-set");
    await events.return();
  });

  test("a signal ends each call with its reason, and close ends all", async () => {
    const held = gate();
    origin.treat = async () => held.isOpen;
    const reason = new Error("too slow");
    const isEnded = async (call) => {
      const halt = new AbortController();
      const promise = call(halt.signal);
      await setImmediate();
      halt.abort(reason);
      assert.equal(await refused(promise, Error), reason);
      assert.equal(await refused(call(AbortSignal.abort(reason)), Error), reason);
    };
    await isEnded((signal) => cache.get(url("/hang"), { signal }));
    await isEnded((signal) => cache.follow(url("/hang"), { signal }).next());
    await isEnded((signal) => cache.pin(url("/hang"), { wait: "1h", signal }));
    await isEnded((signal) => cache.save(url("/hang"), `${daemon.folder}/hang`, { signal }));
    const write = await cache.modify(url("/hang"), { put: 1 });
    await isEnded((signal) => write.wait(undefined, { signal }));
    await isEnded(async (signal) => {
      const stream = cache.watch({ prefix: "nothing/", signal });
      for await (const event of stream) assert.equal(event.type, "bookmark");
    });
    const get = cache.get(url("/hang"));
    const next = cache.follow(url("/hang")).next();
    cache.close();
    assert.equal((await refused(get, Error)).type, "urn:larder:client-closed");
    assert.equal((await next).done, true);
    held.open();
  });

  test("S27: a token that expires is renewed by one program, also over kill -9", async () => {
    let token = "t0";
    let running = 0;
    let renewals = 0;
    origin.treat = ({ url: path, headers }, answer) =>
      path.startsWith("/private") && headers.authorization !== `Bearer ${token}`
        ? reply(answer, 401, { error: "token" })
        : false;
    origin.set("/private/a", { n: 1 });
    const renew = async (reason) => {
      assert.equal((running += 1), 1);
      assert.match(reason, /^(refused|expiring)$/);
      renewals += 1;
      await setImmediate();
      running -= 1;
      if (renewals === 2) throw new Error("the login failed once");
      return { value: `Bearer ${token}`, expires: new Date(Date.now() + 3_600_000) };
    };
    const programs = [cache, new Larder({ socket: daemon.socket })];
    for (const program of programs) program.provideCredential("local", renew);
    for (let n = 1; n <= 6; n += 1) {
      token = `t${n}`;
      if (n === 4) await restart();
      const isRead = () =>
        cache.get(url("/private/a"), { policy: "network-only" }).then(() => true, () => false);
      await until(isRead, `a read with the token ${n}`);
    }
    assert.ok(renewals >= 6, `${renewals} renewals`);
    programs[1].close();
  });

  test("a request that is not right says so", async () => {
    const error = await refused(cache.get("http://127.0.0.1:1/none"), Error);
    assert.equal(error.type, "urn:larder:unknown-origin");
    await refused(cache.put("", "x"), Error);
    await refused(cache.watch({ heartbeat: "1ms" }).next(), Invalid);
  });
});
