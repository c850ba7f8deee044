// createFetch against the real daemon: the same answers as the ordinary fetch, and offline.

import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import { after, before, beforeEach, describe, test } from "node:test";
import { Larder, Miss, NoDaemon, Offline, Problem, createFetch } from "../index.js";
import { Daemon, Origin, gate, refused, reply, skip, until } from "./support.js";

const PIECE = Buffer.alloc(1 << 16, "x");

describe("createFetch and the daemon", { skip, timeout: 300_000 }, () => {
  let daemon;
  let origin;
  let larder;
  const url = (path) => `${origin.base}${path}`;

  before(async () => {
    origin = await new Origin().start();
    const reads = "fetch: {network_wait: 60s}";
    const settings = `{base_url: "${origin.base}", allow_private: true, ${reads}}`;
    daemon = await new Daemon(`origins: {local: ${settings}}\n`).start();
    larder = createFetch({ origins: [origin.base], socket: daemon.socket, fallback: null });
  });
  after(async () => {
    await daemon.remove();
    await origin.stop();
  });
  beforeEach(() => {
    origin.treat = () => false;
    origin.requests.length = 0;
  });

  /** How often a path was asked for; a repeat of what an earlier test asked for may come later. */
  const timesAsked = (path) => origin.requests.filter((request) => request.url === path).length;

  /** What a program sees of an answer. */
  async function seen(response) {
    const { ok, status, statusText, redirected, url: address } = response;
    const headers = Object.fromEntries(response.headers);
    for (const name of Object.keys(headers)) {
      const isOwn = /^(accept-ranges|age|cache-status|larder-.*|date|server|connection|keep-alive|content-length|etag)$/;
      if (isOwn.test(name) || name === "transfer-encoding") delete headers[name];
    }
    const cookies = response.headers.getSetCookie?.();
    const body = await response.text();
    return { ok, status, statusText, redirected, address, headers, cookies, body };
  }

  test("S22: answers are those of the ordinary fetch", async () => {
    for (const path of ["/a", "/a?q=%2f&e=%C3%A4"]) origin.set(path, { n: 1 });
    origin.treat = ({ method, url: path, headers, body }, answer) => {
      if (path === "/conflict") return reply(answer, 409, { error: "taken" }, { "X-Own": "1" });
      if (path === "/empty") return reply(answer, 204);
      if (path === "/problem") {
        const problem = { type: "about:blank", status: 422 };
        return reply(answer, 422, problem, { "Content-Type": "application/problem+json" });
      }
      if (path === "/echo") {
        const asked = { method, body, type: headers["content-type"], own: headers["x-own"] };
        return reply(answer, 200, { ...asked, length: Number(headers["content-length"] ?? 0) });
      }
      if (path === "/cookies") return reply(answer, 200, 1, { "Set-Cookie": ["a=1", "b=2"] });
      return false;
    };
    const form = () => {
      const data = new URLSearchParams({ title: "milk & more" });
      return { method: "POST", body: data };
    };
    const requests = [
      ["/a"],
      ["/a?q=%2f&e=%C3%A4#part"],
      ["/conflict"],
      ["/empty"],
      ["/problem"],
      ["/problem", { method: "POST", body: "x" }],
      ["/cookies"],
      ["/a", { method: "HEAD" }],
      ["/echo", { headers: { "X-Own": "1" } }],
      ["/echo", { method: "PUT", body: "text", headers: { "Content-Type": "text/plain" } }],
      ["/echo", { method: "POST", body: JSON.stringify({ n: 1 }) }],
      ["/echo", form],
      ["/echo", { method: "PATCH", body: new Uint8Array([1, 2, 3]) }],
      ["/echo", { method: "POST", body: new Blob(["blob"], { type: "text/x" }) }],
      ["/echo", { method: "DELETE" }],
      ["/echo", { method: "OPTIONS" }],
    ];
    for (const [path, init] of requests) {
      const options = () => (typeof init === "function" ? init() : init);
      const direct = await seen(await fetch(url(path), options()));
      const through = await seen(await larder(url(path), options()));
      // The ordinary fetch names the URL without what comes after #.
      assert.deepEqual(through, { ...direct, address: through.address }, `${path} ${init?.method}`);
      assert.equal(through.address, url(path).split("#")[0]);
    }
    // The daemon keeps no body of a 404.
    assert.equal((await larder(url("/none"))).status, 404);
    const request = new Request(url("/echo"), form());
    assert.equal((await (await larder(request)).json()).method, "POST");
    const stream = new Blob(["streamed"]).stream();
    const sent = await larder(url("/echo"), { method: "POST", body: stream, duplex: "half" });
    assert.equal((await sent.json()).body, "streamed");
    await refused(larder("not a url"), TypeError);
    await refused(larder(url("/a"), { method: "GET", body: "x" }), TypeError);
  });

  test("S22: it answers offline, and says where an answer came from", async () => {
    origin.set("/offline", { n: 1 });
    const online = await larder(url("/offline"));
    assert.deepEqual([online.larder.source, online.larder.stale], ["network", false]);
    await origin.stop();
    try {
      const offline = await larder(url("/offline"));
      assert.deepEqual(await offline.json(), { n: 1 });
      assert.deepEqual([offline.status, offline.larder.source], [200, "cache"]);
      assert.equal(offline.headers.get("etag"), online.headers.get("etag"));
      const error = await refused(larder(url("/offline/never")), TypeError);
      assert.ok(error.cause instanceof Offline, `${error.cause?.stack}`);
      const write = larder(url("/offline"), { method: "PUT", body: "2" });
      assert.ok((await refused(write, TypeError)).cause instanceof Problem);
    } finally {
      await origin.start();
    }
  });

  test("S22: policy and account become headers of a read", async () => {
    origin.set("/once", { n: 1 });
    const options = { origins: [origin.base], socket: daemon.socket, fallback: null };
    const kept = createFetch({ ...options, policy: "cache-only" });
    const error = await refused(kept(url("/once")), TypeError);
    assert.ok(error.cause instanceof Miss, `${error.cause?.stack}`);
    await (await larder(url("/once"))).text();
    assert.equal((await kept(url("/once"))).larder.source, "cache");
    assert.equal(timesAsked("/once"), 1);
    // Another account has another cache.
    const other = createFetch({ ...options, policy: "cache-only", account: "work" });
    assert.ok((await refused(other(url("/once")), TypeError)).cause instanceof Miss);
    const unknown = createFetch({ ...options, policy: "no-such-policy" });
    assert.match((await refused(unknown(url("/once")), TypeError)).message, /no-such-policy/);
  });

  test("S22: an answer is streamed, as slowly as it is read, and can be aborted", async () => {
    const half = gate();
    origin.treat = async ({ url: path }, answer) => {
      answer.writeHead(200, { "Content-Type": "application/octet-stream" });
      answer.write(PIECE);
      if (path.endsWith("half")) await half.isOpen;
      answer.end(PIECE);
      return true;
    };
    const response = await larder(url("/stream/half"), { method: "POST", body: "x" });
    const reader = response.body.getReader();
    let size = 0;
    while (size < PIECE.length) size += (await reader.read()).value.length;
    half.open();
    for (let step; !(step = await reader.read()).done; ) size += step.value.length;
    assert.equal(size, 2 * PIECE.length);

    const held = gate();
    origin.treat = async () => held.isOpen;
    const reason = new Error("too slow");
    const halt = new AbortController();
    const hanging = larder(url("/hang"), { signal: halt.signal });
    await until(() => origin.requests.some((request) => request.url === "/hang"));
    halt.abort(reason);
    assert.equal(await refused(hanging, Error), reason);
    const timeout = larder(url("/hang"), { signal: AbortSignal.timeout(50) });
    assert.equal((await refused(timeout, Error)).name, "TimeoutError");
    held.open();

    const open = gate();
    origin.treat = async (_, answer) => {
      answer.writeHead(200);
      answer.write(PIECE);
      await open.isOpen;
      answer.end();
      return true;
    };
    const body = new AbortController();
    const begun = await larder(url("/half"), { method: "POST", signal: body.signal });
    const bytes = begun.arrayBuffer();
    body.abort(reason);
    assert.equal(await refused(bytes, Error), reason);
    const left = await larder(url("/half"), { method: "POST" });
    await left.body.cancel();
    open.open();
  });

  test("a POST that is answered 303 is followed by a GET", async () => {
    origin.set("/made", { n: 1 });
    origin.treat = ({ method }, answer) =>
      method === "POST" && reply(answer, 303, undefined, { Location: "/made" });
    const made = await larder(url("/make"), { method: "POST", body: "x" });
    assert.deepEqual([made.status, await made.json()], [200, { n: 1 }]);
    assert.deepEqual([made.redirected, made.url], [true, url("/made")]);
    const manual = await larder(url("/make"), { method: "POST", redirect: "manual" });
    assert.equal(manual.status, 303);
    await manual.body?.cancel();
  });

  test("S22: a redirect of a GET to another server is followed there", async () => {
    const elsewhere = http.createServer((_, answer) => reply(answer, 200, { there: true }));
    await once(elsewhere.listen(0, "127.0.0.1"), "listening");
    const place = `http://127.0.0.1:${elsewhere.address().port}/b`;
    origin.treat = (_, answer) => reply(answer, 302, undefined, { Location: place });
    const moved = await larder(url("/moved"));
    assert.deepEqual([moved.status, await moved.json()], [200, { there: true }]);
    assert.deepEqual([moved.redirected, moved.url], [true, place]);
    const kept = await larder(url("/moved"), { redirect: "manual" });
    assert.deepEqual([kept.status, kept.headers.get("location")], [302, place]);
    await kept.body?.cancel();
    elsewhere.close();
  });

  test("S22: no redirect of a read is followed with manual, and none at all with error", async () => {
    origin.set("/new", { n: 1 });
    origin.treat = ({ method, url: path }, answer) => {
      const isOld = path === "/old";
      return isOld && reply(answer, method === "PUT" ? 307 : 302, undefined, { Location: "/new" });
    };
    const followed = await larder(url("/old"));
    assert.deepEqual([followed.status, await followed.json()], [200, { n: 1 }]);
    assert.deepEqual([followed.redirected, followed.url], [true, url("/new")]);
    for (const method of ["GET", "HEAD"]) {
      const manual = await larder(url("/old"), { method, redirect: "manual" });
      assert.deepEqual([manual.status, manual.headers.get("location")], [302, "/new"]);
      await manual.body?.cancel();
    }
    for (const method of ["GET", "HEAD", "POST", "PUT"]) {
      await refused(larder(url("/old"), { method, redirect: "error" }), TypeError);
    }
    const request = new Request(url("/old"), { redirect: "error" });
    await refused(larder(request), TypeError);
    // The answer to a write is as the origin gave it.
    const write = await larder(url("/old"), { method: "PUT", body: "x" });
    assert.equal(write.status, 307);
    await write.body?.cancel();
  });

  test("S22: a HEAD that no origin has answered is an error", async () => {
    origin.set("/head", { n: 1 });
    const head = (path) => larder(url(path), { method: "HEAD" });
    await (await larder(url("/head"))).text();
    origin.treat = (_, answer) =>
      reply(answer, 422, undefined, { "Content-Type": "application/problem+json" });
    assert.equal((await head("/head/problem")).status, 422);
    await origin.stop();
    try {
      const cached = await head("/head");
      assert.deepEqual([cached.status, cached.larder.source], [200, "cache"]);
      const error = await refused(head("/head/never"), TypeError);
      assert.ok(error.cause instanceof Offline, `${error.cause?.stack}`);
      assert.deepEqual([error.cause.type, error.cause.status], ["urn:larder:unreachable", 502]);
      const unknown = await refused(
        createFetch({ socket: daemon.socket })("http://10.0.0.1/", { method: "HEAD" }),
        TypeError,
      );
      assert.deepEqual([unknown.cause.type, unknown.cause.status], ["about:blank", 403]);
    } finally {
      await origin.start();
    }
  });

  test("S22: the modes of cache are those of the daemon", async () => {
    const read = async (path, cache) => {
      const mode = cache === "only-if-cached" ? "same-origin" : undefined;
      const answer = await larder(url(path), { cache, mode });
      await answer.text();
      return answer.larder.source;
    };
    origin.set("/mode", { n: 1 });
    assert.equal(await read("/mode", "force-cache"), "network");
    for (const cache of ["force-cache", "only-if-cached"]) {
      assert.equal(await read("/mode", cache), "cache");
    }
    assert.equal(timesAsked("/mode"), 1);
    for (const cache of ["default", "no-cache", "reload", "no-store"]) {
      assert.equal(await read("/mode", cache), "network", cache);
    }
    const error = await refused(read("/mode/never", "only-if-cached"), TypeError);
    assert.ok(error.cause instanceof Miss, `${error.cause?.stack}`);
  });

  test("S23: offline writes are queued, and a secret is refused in them", async () => {
    const queued = createFetch({ socket: daemon.socket, offlineWrites: true });
    origin.set("/q", { n: 1 });
    await queued(url("/q"));
    const body = JSON.stringify({ n: 2 });
    const headers = { "Content-Type": "application/json" };
    const response = await queued(url("/q"), { method: "PUT", body, headers });
    assert.equal(response.status, 202);
    const cache = new Larder({ socket: daemon.socket });
    assert.match(response.larder.modifier, /./);
    assert.equal((await response.json()).id, response.larder.modifier);
    await until(() => origin.value("/q").n === 2, "the write");
    cache.close();
    const secret = { Authorization: "Bearer x" };
    const error = await refused(queued(url("/q"), { method: "PUT", body, headers: secret }), TypeError);
    assert.match(error.message, /cachectl origin login/);
  });

  // The origin of this test is a server of Node, which takes QUERY from Node 20 on.
  const noQuery = !http.METHODS.includes("QUERY") && "servers of this Node take no QUERY";
  test("S34: a QUERY is a read, also with offline writes", { skip: noQuery }, async () => {
    const queued = createFetch({ socket: daemon.socket, offlineWrites: true, fallback: null });
    origin.treat = ({ method, body }, answer) => reply(answer, 200, { method, body });
    const query = (send = queued) => send(url("/query"), { method: "QUERY", body: "milk" });
    const online = await query();
    assert.deepEqual([online.status, await online.json()], [200, { method: "QUERY", body: "milk" }]);
    await origin.stop();
    try {
      const offline = await query();
      assert.deepEqual([offline.status, offline.larder.source], [200, "cache"]);
      await offline.text();
    } finally {
      await origin.start();
    }
    // A write would wait for a daemon.
    const without = createFetch({ socket: "/nonexistent/api.sock", offlineWrites: true });
    assert.equal((await (await query(without)).json()).method, "QUERY");
    const prefers = [];
    const recorder = http.createServer((request, answer) => {
      prefers.push(request.headers.prefer);
      request.resume();
      answer.end();
    });
    const socket = `${daemon.folder}/recorder.sock`;
    await once(recorder.listen(socket), "listening");
    await (await query(createFetch({ socket, offlineWrites: true }))).text();
    assert.deepEqual(prefers, [undefined]);
    recorder.closeAllConnections();
    recorder.close();
  });

  test("S23: without a daemon requests go directly, with one warning", async () => {
    const warnings = [];
    const listen = (warning) => warnings.push(warning.message);
    process.on("warning", listen);
    const direct = createFetch({ socket: "/nonexistent/api.sock" });
    origin.set("/d", { n: 1 });
    assert.deepEqual(await (await direct(url("/d"))).json(), { n: 1 });
    await (await direct(url("/d"), { method: "PUT", body: '{"n": 2}' })).text();
    assert.deepEqual(origin.value("/d"), { n: 2 });
    await until(() => warnings.length, "a warning");
    process.off("warning", listen);
    assert.equal(warnings.filter((text) => text.includes("larder-clients")).length, 1);
    const without = createFetch({ socket: "/nonexistent/api.sock", fallback: null });
    assert.ok((await refused(without(url("/d")), TypeError)).cause instanceof NoDaemon);
    const queued = createFetch({ socket: "/nonexistent/api.sock", offlineWrites: true });
    const write = queued(url("/d"), { method: "PUT", body: '{"n": 3}' });
    assert.ok((await refused(write, TypeError)).cause instanceof NoDaemon);
    assert.deepEqual(origin.value("/d"), { n: 2 });
  });

  test("S24: URLs of other origins go to the previous fetch", async () => {
    const asked = [];
    const previous = async (input) => {
      asked.push(String(input));
      return new Response("previous");
    };
    const origins = [`${origin.base}/api/`];
    const some = createFetch({ origins, socket: daemon.socket, fallback: previous });
    origin.set("/api/1", { n: 1 });
    assert.deepEqual(await (await some(url("/api/1"))).json(), { n: 1 });
    for (const other of ["https://example.com/", url("/apixyz"), "data:,x"]) {
      assert.equal(await (await some(other)).text(), "previous");
    }
    assert.deepEqual(asked, ["https://example.com/", url("/apixyz"), "data:,x"]);
  });

  test("S24: the body of a Request reaches its origin, whichever fetch sends it", async () => {
    origin.treat = ({ method, body }, answer) => reply(answer, 200, { method, body });
    const ways = { covered: [origin.base], "not covered": ["https://example.com/"] };
    for (const [way, origins] of Object.entries(ways)) {
      const some = createFetch({ origins, socket: daemon.socket, fallback: null });
      for (const type of ["text", "form", "stream"]) {
        const data = new FormData();
        data.append("title", "milk");
        const body = { text: "milk", form: data, stream: new Blob(["milk"]).stream() }[type];
        // Node frames the body of a DELETE only if it is told how.
        const method = type === "text" ? "DELETE" : "POST";
        const request = new Request(url("/echo"), { method, body, duplex: "half" });
        const answer = await some(request);
        assert.equal("larder" in answer, way === "covered");
        const told = await answer.json();
        assert.deepEqual([told.method, /milk/.test(told.body)], [method, true], `${way} ${type}`);
        // An init comes before the members of a Request, as for the ordinary fetch.
        const other = new Request(url("/echo"), { method: "POST", body: "milk" });
        const put = await some(other, { method: "PUT", body: "tea" });
        assert.deepEqual(await put.json(), { method: "PUT", body: "tea" });
      }
    }
  });
});
