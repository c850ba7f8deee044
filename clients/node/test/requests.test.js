// Requests, bodies and values of the client against a stub of the daemon.

import assert from "node:assert/strict";
import { getEventListeners, once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { CutOff, Invalid, Larder, Snapshot, Write, createFetch } from "../index.js";
import { Core, milliseconds } from "../lib/core.js";
import { refused } from "./support.js";

/** More than the connections that a client shares between its requests. */
const MANY = 70;
const url = "http://a/";
const brief = { timeout: 60_000 };

let folder;
let socket;
let server;
/** Answers a request of a test. */
let treat;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "larder-"));
  socket = join(folder, "api.sock");
  server = http.createServer((request, answer) => {
    request.resume();
    treat(request, answer);
  });
  server.listen(socket);
  await once(server, "listening");
});
beforeEach(() => {
  treat = (request, answer) => answer.end('{"id": "m", "state": "confirmed"}\n');
});
after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

const line = (frame) => `${JSON.stringify(frame)}\n`;

/** The frame of a snapshot whose body does not fit into it. */
function large(rev, { rows, source = "network" } = {}) {
  const entry = { id: url, status: 200, media_type: "application/json", etag: `"v${rev}"` };
  const members = { source, rev, stale: false, age_ms: 0, pending: 0, failed: 0 };
  return { type: "snapshot", ...members, rows, entry: { ...entry, body_href: "/v1/entries/a" } };
}

/** A frame of a snapshot, then its end if it `ends`; each body has the revision 7. */
function largeAnswers(frames, ends) {
  return ({ method }, answer) => {
    if (method === "GET") {
      answer.writeHead(200, { ETag: '"v7"', "Larder-Rev": "7" });
      return answer.end("[1, 2]");
    }
    answer.write(frames.map(line).join(""));
    if (ends) answer.end(line({ type: "end", outcome: "network" }));
    return undefined;
  };
}

test("many fetches at the same time read their large bodies", brief, async () => {
  treat = largeAnswers([large(7)], false);
  const cache = new Larder({ socket });
  const streams = Array.from({ length: MANY }, () => cache.fetch(url));
  const views = await Promise.all(streams.map((stream) => stream.next()));
  assert.ok(views.every(({ value }) => value.json().length === 2));
  // Their streams are open; other requests have connections.
  treat = (request, answer) => answer.end('{"state": "ready"}');
  assert.equal((await cache.prefetched("tonight")).state, "ready");
  cache.close();
});

test("many gets at the same time read their large bodies", brief, async () => {
  // A slow network: the stream is open after the cached entry.
  treat = largeAnswers([large(7, { source: "cache" })], false);
  const cache = new Larder({ socket });
  const entries = await Promise.all(Array.from({ length: MANY }, () => cache.get(url)));
  assert.ok(entries.every((entry) => entry.json().length === 2));
  cache.close();
});

test("a request that waits for a connection can be aborted and has a time limit", brief, async () => {
  const asked = [];
  const answers = [];
  treat = (request, answer) => {
    asked.push(request.url);
    answers.push(answer);
    server.emit("asked");
  };
  const core = new Core({ socket }, 1);
  const held = core.report("GET", "/held");
  await once(server, "asked");
  const halt = new AbortController();
  const reason = new Error("too slow");
  const aborted = core.send("GET", "/aborted", { signal: halt.signal });
  halt.abort(reason);
  assert.equal(await refused(aborted, Error), reason);
  await refused(core.send("GET", "/late", { limit: 10 }), CutOff);
  // The connection serves the next request.
  const next = core.report("GET", "/next");
  answers[0].end("1");
  assert.equal(await held, 1);
  while (asked.length < 2) await once(server, "asked");
  const closed = [refused(next, Error), refused(core.send("GET", "/closed", {}), Error)];
  core.close();
  for (const error of await Promise.all(closed)) assert.equal(error.type, "urn:larder:client-closed");
  assert.deepEqual(asked, ["/held", "/next"]);
});

test("no removal is sent again after it may have succeeded", brief, async () => {
  const asked = [];
  treat = (request, answer) => {
    asked.push(request.method);
    if (request.method === "DELETE") return request.socket.destroy();
    return answer.end("{}");
  };
  const cache = new Larder({ socket });
  for (const remove of ["unpin", "removePrefetch", "delete"]) {
    await cache.prefetched("tonight"); // Leaves a connection that was used.
    await refused(cache[remove]("a"), CutOff);
  }
  assert.deepEqual(asked, ["GET", "DELETE", "GET", "DELETE", "GET", "DELETE"]);
  cache.close();
});

test("a saved file has the rights of the file that it replaces", brief, async () => {
  const path = join(folder, "saved");
  writeFileSync(path, "old", { mode: 0o600 });
  treat = (request, answer) => answer.end("new");
  const cache = new Larder({ socket });
  assert.equal(await cache.save("notes/1", path), 3);
  assert.deepEqual([readFileSync(path, "utf8"), statSync(path).mode & 0o777], ["new", 0o600]);
  cache.close();
});

test("a put without a content is a TypeError and sends nothing", async () => {
  const cache = new Larder({ socket });
  let count = 0;
  treat = (request, answer) => answer.end(String((count += 1)));
  for (const content of [undefined, null]) {
    assert.match((await refused(cache.put("notes/1", content), TypeError)).message, /notes\/1/);
  }
  assert.equal(count, 0);
  cache.close();
});

test("a duration that cannot be read is a TypeError", async () => {
  const cache = new Larder({ socket });
  const write = await cache.modify("notes/1", { merge: {} });
  for (const time of ["1.5s", "30", "", NaN, null]) {
    assert.throws(() => milliseconds(time), TypeError);
    await refused(write.wait(time), TypeError);
  }
  for (const time of [undefined, Infinity, 0, "1s"]) assert.equal(await write.wait(time), write);
  let count = 0;
  treat = (request, answer) => answer.end(String((count += 1)));
  await refused(cache.fetch(url, { timeout: "1.5s" }).next(), TypeError);
  await refused(cache.follow(url, { heartbeat: "30" }).next(), TypeError);
  await refused(cache.watch({ heartbeat: "x" }).next(), TypeError);
  assert.equal(count, 0);
  cache.close();
});

test("JSON is UTF-8, and a text with an unknown charset too", () => {
  const snapshot = (media_type, body, bytes) =>
    new Snapshot({ entry: { media_type, body } }, line({ entry: { body } }), bytes);
  const bytes = Buffer.from('\uFEFF["ä"]');
  for (const charset of ["x-unknown", "iso-8859-1", "utf-8"]) {
    const type = `application/json; charset=${charset}`;
    assert.deepEqual(snapshot(type, undefined, bytes).json(), ["ä"]);
    assert.deepEqual(snapshot(type, ["ä"]).json(), ["ä"]);
  }
  assert.equal(snapshot("text/plain; charset=x-unknown", undefined, bytes).text, '["ä"]');
  assert.equal(snapshot("text/plain; charset=iso-8859-1", undefined, Buffer.from([0xe4])).text, "ä");
});

test("S26: a body that is newer than its frame has its own revision and no marks", brief, async () => {
  const rows = [{ pointer: "/1", id: "e", pending: ["w"], failed: [] }];
  const seen = ({ rev, etag, marks }) => [rev, etag, [...marks.keys()]];
  treat = largeAnswers([large(5, { rows }), large(7, { rows })], true);
  const cache = new Larder({ socket });
  for (const stream of [cache.fetch(url), cache.follow(url)]) {
    const { value: early } = await stream.next();
    assert.deepEqual(seen(early), [7, '"v7"', []]);
    // The frame of the revision has its marks.
    const { value: present } = await stream.next();
    assert.deepEqual(seen(present), [7, '"v7"', ["/1"]]);
    await stream.return();
  }
  cache.close();
});

test("a stream that is closed between two items leaves no listener at its signal", brief, async () => {
  const frame = { type: "put", rev: 1, id: "notes/1" };
  treat = (request, answer) => answer.write(line(frame));
  const { signal } = new AbortController();
  const cache = new Larder({ socket });
  const stream = cache.watch({ signal });
  assert.deepEqual((await stream.next()).value, frame);
  stream.close();
  assert.equal((await stream.next()).done, true);
  assert.equal(getEventListeners(signal, "abort").length, 0);
  cache.close();
});

test("S22: a signal that is aborted after the head ends the body of createFetch", brief, async () => {
  const send = createFetch({ socket, fallback: null });
  const reason = new Error("too slow");
  treat = (request, answer) => answer.end("milk");
  for (const method of ["GET", "POST"]) {
    const halt = new AbortController();
    const response = await send(url, { method, signal: halt.signal });
    halt.abort(reason);
    assert.equal(await refused(response.text(), Error), reason);
  }
});

test("S22: a signal ends a body of createFetch also after a garbage collection", brief, async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  treat = (request, answer) => answer.write("milk");
  const send = createFetch({ socket, fallback: null });
  // Node 18 itself does not end a Request whose signal is aborted after a collection.
  const isKept = Number.parseInt(process.versions.node, 10) > 18;
  for (const isOfRequest of isKept ? [false, true] : [false]) {
    const halt = new AbortController();
    const init = { signal: halt.signal };
    const reason = new Error("too slow");
    const response = await (isOfRequest ? send(new Request(url, init)) : send(url, init));
    const reader = response.body.getReader();
    await reader.read();
    const next = reader.read();
    for (let round = 0; round < 5; round += 1) {
      collect();
      await setImmediate();
    }
    halt.abort(reason);
    assert.equal(await refused(next, Error), reason);
  }
});

test("a content of many pieces is sent as fast as it is taken, without a warning", brief, async () => {
  const warnings = [];
  const listen = (warning) => warnings.push(warning.message);
  process.on("warning", listen);
  treat = (request, answer) => request.on("end", () => answer.end());
  const cache = new Larder({ socket });
  await cache.put("notes/1", Array.from({ length: 40 }, () => Buffer.alloc(1 << 20)));
  await setImmediate();
  process.off("warning", listen);
  assert.deepEqual(warnings, []);
  cache.close();
});

test("S22: a streamed body of createFetch is sent whole, with each method", brief, async () => {
  treat = async (request, answer) => {
    const { method, headers } = request;
    let body = "";
    for await (const text of request.setEncoding("utf8")) body += text;
    answer.end(JSON.stringify([method, body, headers["transfer-encoding"], headers.connection]));
  };
  const send = createFetch({ socket, fallback: null });
  for (const method of ["DELETE", "OPTIONS", "PUT"]) {
    const answer = await send(new Request(url, { method, body: "GET / HTTP/1.1\r\n\r\n" }));
    // A stream cannot be sent again, so no idle connection takes it.
    const wanted = [method, "GET / HTTP/1.1\r\n\r\n", "chunked", "close"];
    assert.deepEqual(await answer.json(), wanted);
  }
});

test("S22: the previous fetch gets the signal of the program", brief, async () => {
  const { signal } = new AbortController();
  const signals = [];
  const fallback = async (request, init) => {
    signals.push(init.signal);
    return new Response(await request.text());
  };
  const send = createFetch({ socket, fallback });
  await send(url, { redirect: "manual", signal });
  const without = createFetch({ socket: join(folder, "none.sock"), fallback });
  const answer = await without(url, { method: "POST", body: "milk", signal });
  assert.equal(await answer.text(), "milk");
  assert.ok(signals.length === 2 && signals.every((given) => given === signal));
});

test("S22: null as the signal takes the place of that of a Request", brief, async () => {
  treat = (request, answer) => answer.end("milk");
  const request = new Request(url, { signal: AbortSignal.abort() });
  const answer = await createFetch({ socket, fallback: null })(request, { signal: null });
  assert.equal(await answer.text(), "milk");
});

test("S22: a read with a digest goes to the previous fetch, which compares it", brief, async () => {
  const asked = [];
  const fallback = async ({ integrity, method }) => {
    asked.push([method, integrity]);
    return new Response("previous");
  };
  treat = (request, answer) => answer.end("larder");
  const send = createFetch({ socket, fallback });
  const integrity = "sha256-AAAA";
  assert.equal(await (await send(url, { integrity })).text(), "previous");
  assert.equal(await (await send(new Request(url, { integrity }))).text(), "previous");
  assert.equal(await (await send(url)).text(), "larder");
  assert.deepEqual(asked, [["GET", integrity], ["GET", integrity]]);
});

test("a wait for a write goes on when the clock of the device is set", brief, async () => {
  const clock = Date.now;
  const cache = new Larder({ socket });
  const write = await cache.modify("notes/1", { merge: {} });
  let count = 0;
  treat = (request, answer) => {
    Date.now = () => clock() + 7_200_000;
    count += 1;
    answer.end(JSON.stringify({ id: "m", state: count < 3 ? "queued" : "confirmed" }));
  };
  try {
    assert.equal((await write.wait("1h")).state, "confirmed");
  } finally {
    Date.now = clock;
    cache.close();
  }
});

test("a time limit above that of the daemon is refused by the daemon", brief, async () => {
  const warnings = [];
  const listen = (warning) => warnings.push(warning.message);
  process.on("warning", listen);
  treat = (request, answer) => {
    answer.writeHead(400, { "Content-Type": "application/problem+json" });
    answer.end('{"type": "urn:larder:bad-request", "status": 400}');
  };
  const cache = new Larder({ socket });
  await refused(cache.get(url, { timeout: "30d" }), Invalid);
  process.off("warning", listen);
  assert.deepEqual(warnings, []);
  cache.close();
});

test("S27: a credential that cannot be used is a warning, and the next order is taken", brief, async () => {
  const warnings = [];
  const listen = (warning) => warnings.push(warning.message);
  process.on("warning", listen);
  const values = [];
  treat = async (request, answer) => {
    const order = line({ reason: "refused", lease: "L" });
    // After the last credential no order comes.
    if (request.method === "POST") return values.at(-1) ? undefined : answer.end(order);
    const [body] = await once(request, "data");
    values.push(JSON.parse(body).value);
    if (values.at(-1)) return server.emit("renewed", answer.end());
    answer.writeHead(400, { "Content-Type": "application/problem+json" });
    return answer.end('{"type": "urn:larder:bad-request", "status": 400}');
  };
  const cache = new Larder({ socket });
  const credentials = [undefined, { value: "" }, "Bearer x"];
  const renewal = cache.provideCredential("local", () => credentials.shift());
  await once(server, "renewed");
  renewal.close();
  await renewal.finished;
  process.off("warning", listen);
  assert.deepEqual(values, ["", "Bearer x"]);
  assert.equal(warnings.filter((text) => text.includes("renewal of a credential failed")).length, 2);
  cache.close();
});

test("the problem of a failed write names the status of the server", () => {
  const answer = { status: 422, body: { error: "no" } };
  const failed = (report) => new Write(undefined, { id: "m1", state: "failed" }, report).problem;
  const refusal = failed({ reason: "refused", answer });
  assert.equal(refusal.message, "The write m1 failed (refused, status 422). Retry it, or drop it.");
  assert.deepEqual([refusal.status, refusal.originStatus, refusal.body], [502, 422, answer.body]);
  assert.equal(failed({ reason: "expired" }).detail, "The write m1 failed (expired).");
});

test("createFetch refuses origins that are not a list", () => {
  const message = "origins is not a list of URLs: give an array";
  assert.throws(() => createFetch({ origins: "http://a/" }), { name: "TypeError", message });
  for (const origins of [undefined, null, [], ["http://a/"]]) createFetch({ socket, origins });
});
