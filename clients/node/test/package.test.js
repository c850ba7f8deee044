// The package beside the schema: types, problems and operations; and the way to the socket.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { generate, generateClasses } from "../generate-wire.js";
import { CutOff, Invalid, Larder, NoDaemon, Problem, Unavailable } from "../index.js";
import { duration, milliseconds, socketPaths } from "../lib/core.js";
import { classes } from "../lib/problem.js";
import { refused } from "./support.js";

const root = fileURLToPath(new URL("../", import.meta.url));
const document = JSON.parse(readFileSync(`${root}../../schema/openapi.json`, "utf8"));
/** Lines without blank ones and comments, of all files that a program loads. */
const LINES_MAX = 1_000;
/** Operations that the client does not use, with the reason. */
const UNUSED = {
  explainEntry: "cachectl inspect tells it",
  get: "fetch has the marks, which this lacks; save uses it",
  fetchByQuery: "the client posts",
  watchByQuery: "the client posts",
  editModifier: "a program cancels a write and makes another one; cachectl queue edit",
  removeModifier: "drop is an action",
  listLanes: "cachectl queue lanes",
  setLane: "cachectl queue pause, resume",
  listOrigins: "administration: cachectl origin list",
  checkOrigin: "administration: cachectl origin check",
  showCredential: "cachectl origin list",
  removeCredential: "cachectl origin logout",
  showOrigin: "administration: cachectl origin list",
  changeOrigin: "administration: cachectl origin online, offline",
  putOrigin: "administration: cachectl origin add",
  removeOrigin: "administration: cachectl origin remove",
  evict: "administration: cachectl evict",
  status: "administration: cachectl status",
  stats: "administration: cachectl stats",
  usage: "administration: cachectl df",
  check: "administration: cachectl doctor",
  reload: "administration: cachectl reload",
  purge: "administration",
  health: "for supervisors",
  version: "each answer has it in Server",
  document: "for tools",
  raw: "createFetch uses absolute targets, which are the same routes",
  rawPost: "as raw",
  rawPut: "as raw",
  rawPatch: "as raw",
  rawDelete: "as raw",
  rawOptions: "as raw",
};

let folder;
let socket;
let server;
const requests = [];

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "larder-"));
  socket = join(folder, "api.sock");
  server = http.createServer((request, answer) => {
    requests.push([request.method, request.url.split("?")[0]]);
    request.resume();
    answer.setHeader("Content-Type", "application/json");
    answer.end(`${JSON.stringify(answerTo(request))}\n`);
  });
  server.listen(socket);
  await once(server, "listening");
});
after(async () => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

function answerTo({ method, url }) {
  if (url.endsWith("/renewal")) return { reason: "refused", lease: "L" };
  if (url.startsWith("/v1/fetch") || url.startsWith("/v1/entries/batch")) return snapshot;
  if (url.startsWith("/v1/modifiers/actions")) return { items: [{ id: "m", state: "cancelled" }] };
  if (method === "GET" && !url.startsWith("/v1/modifiers/")) return { items: [], next: null };
  return { type: "bookmark", rev: 1, id: "m", state: "confirmed", targets: [{ id: "e" }] };
}
const entry = { id: "u", status: 200, media_type: null, etag: "x", stored_at: "", body: [1] };
const snapshot = { type: "snapshot", source: "cache", rev: 1, stale: false, age_ms: 0, entry };

/** The name of the operation of a request; undefined if the document has none. */
function operationOf([method, path]) {
  for (const [template, operations] of Object.entries(document.paths)) {
    const pattern = new RegExp(`^${template.replace(/\{path\}$/, ".*").replace(/\{\w+\}/g, "[^/]+")}$`);
    const operation = operations[method.toLowerCase()];
    if (operation && pattern.test(path)) return operation.operationId;
  }
  return undefined;
}

test("S29: each operation is used, or is on the list with the reason", async () => {
  const cache = new Larder({ socket });
  await cache.get("http://a/");
  await cache.fetch("http://a/").next();
  await cache.follow("http://a/").next();
  await cache.watch().next();
  await cache.get("notes/1").catch((error) => assert.match(error.type, /cut-off/));
  await cache.put("notes/1", "milk");
  await cache.delete("notes/1");
  await cache.save("notes/1", join(folder, "saved"));
  await cache.entries().next();
  await cache.pin("notes/1");
  await cache.unpin("notes/1");
  await cache.pins().next();
  await cache.prefetch("tonight", ["http://a/"]);
  await cache.prefetched("tonight");
  await cache.prefetches().next();
  await cache.removePrefetch("tonight");
  await cache.writes().next();
  const write = await cache.modify("notes/1", { delete: true });
  await write.wait();
  await write.cancel();
  await cache.setCredential("example", "Bearer x");
  cache.provideCredential("example", () => "Bearer x");
  while (!requests.some(([, path]) => path.endsWith("/renewal"))) await once(server, "request");
  cache.close();
  const used = new Set(requests.map(operationOf));
  assert.ok(!used.has(undefined), "each request is an operation");
  // A HEAD is a GET without its body; the client sends none.
  const isOperation = ([method, { operationId }]) => method !== "head" && operationId;
  const all = Object.values(document.paths).flatMap((operations) =>
    Object.entries(operations).filter(isOperation).map(([, { operationId }]) => operationId),
  );
  assert.deepEqual(all.filter((name) => !used.has(name) && !(name in UNUSED)), []);
  assert.deepEqual(Object.keys(UNUSED).filter((name) => used.has(name)), []);
});

test("S29: the types of the wire are those of the document", () => {
  assert.equal(readFileSync(`${root}wire.d.ts`, "utf8"), generate(document), "npm run generate");
  const classesText = generateClasses(document);
  assert.equal(readFileSync(`${root}wire.js`, "utf8"), classesText, "npm run generate");
  const declared = (text) => text.match(/^export class \w+ extends (Problem|Unavailable) {}$/gm).sort();
  const declarations = readFileSync(`${root}index.d.ts`, "utf8");
  assert.deepEqual(declared(declarations), declared(classesText), "index.d.ts has each class");
});

test("S29: each type of problem has its class", () => {
  const kinds = document.components.schemas.ProblemType.oneOf;
  // The client itself finds that there is no daemon, and that a connection was cut.
  const own = ["urn:larder:cut-off", "urn:larder:no-daemon"];
  assert.deepEqual([...classes.keys()].sort(), [...own, ...kinds.map((kind) => kind.const)].sort());
  for (const { const: type, "x-status": status } of kinds) {
    const problem = Problem.of({ type, status, detail: "d", hint: "h" });
    assert.equal(problem.message, "d. h");
    assert.equal(problem.constructor, classes.get(type));
    if (problem instanceof Invalid) assert.ok(status < 500, type);
    if (problem instanceof Unavailable) assert.ok(status >= 500 || type.endsWith("in-use"), type);
  }
  assert.equal(Problem.of({ type: "urn:larder:new" }).constructor, Problem);
  const question = Problem.of({ detail: "did you mean 'a'?", hint: "Do it." });
  assert.equal(question.message, "did you mean 'a'? Do it.");
});

test("S20: the package has at most 1,000 lines", () => {
  const files = ["index.js", ...readdirSync(`${root}lib`).map((name) => `lib/${name}`)];
  const lines = files.flatMap((name) => readFileSync(root + name, "utf8").split("\n"));
  const code = lines.filter((line) => !/^\s*(\/\/.*|\/\*.*|\*.*)?$/.test(line));
  assert.ok(code.length <= LINES_MAX, `${code.length} lines`);
  assert.equal(JSON.parse(readFileSync(`${root}package.json`, "utf8")).dependencies, undefined);
});

const tsc = spawnSync("tsc", ["--version"]).error ? "there is no tsc" : false;
test("S30: the types fit a program (tsc)", { skip: tsc }, () => {
  const run = spawnSync("tsc", ["--project", `${root}test/tsconfig.json`], { encoding: "utf8" });
  assert.equal(run.stdout, "");
  assert.equal(run.status, 0);
});

test("S21: the socket is the argument, LARDER_SOCKET, the user's or the system's", () => {
  const system = "/run/larder/api.sock";
  const environment = { LARDER_SOCKET: "/l", XDG_RUNTIME_DIR: "/x", XDG_CACHE_HOME: "/c" };
  const own = ["/x/larder/api.sock", "/c/larder/api.sock", system];
  const fallbacks = ["/run/user/7/larder/api.sock", "/h/.cache/larder/api.sock", system];
  for (const uid of [0, 7]) {
    assert.deepEqual(socketPaths("/a", environment, uid), ["/a"]);
    assert.deepEqual(socketPaths(undefined, environment, uid), ["/l"]);
  }
  delete environment.LARDER_SOCKET;
  assert.deepEqual(socketPaths(undefined, environment, 7), own);
  assert.deepEqual(socketPaths(undefined, { XDG_RUNTIME_DIR: "relative", HOME: "/h" }, 7), fallbacks);
  assert.deepEqual(socketPaths(undefined, { LARDER_SOCKET: "", HOME: "/h" }, 7), fallbacks);
  // As cachectl: the daemon of root is the system's.
  assert.deepEqual(socketPaths(undefined, environment, 0), [system]);
});

test("S4: without a daemon the error prints three ways to begin", async () => {
  const none = join(folder, "none.sock");
  const cache = new Larder({ socket: none });
  const calls = [() => cache.get("a"), () => cache.follow("http://a/").next(), () => cache.watch().next()];
  for (const call of calls) {
    const error = await refused(call(), NoDaemon);
    assert.ok(error.message.includes(`${none} (there is no socket)`), error.message);
    assert.match(error.message, /sudo adduser NAME larder-clients/);
    assert.match(error.message, /systemctl --user enable --now larder\.socket/);
    assert.match(error.message, /larderd & +\(its socket in LARDER_SOCKET\)/);
  }
});

test("S21: each client has a name of its own", async () => {
  const names = [];
  const listen = (request) => names.push(request.headers["larder-client"]);
  server.on("request", listen);
  await new Larder({ socket }).pin("a");
  await new Larder({ socket }).pin("a");
  server.off("request", listen);
  assert.equal(new Set(names).size, 2);
  assert.ok(names.every(Boolean));
});

test("an idle connection that the daemon has closed is not an error", async () => {
  const path = join(folder, "closing.sock");
  const body = '{"items": [], "next": null}';
  const head = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`;
  let count = 0;
  const closing = net.createServer((connection) => {
    // Each connection answers once, and closes when it gets the next request.
    connection.once("data", () => {
      count += 1;
      connection.write(head + body);
      connection.once("data", () => connection.destroy());
    });
    connection.on("error", () => {});
  });
  closing.listen(path);
  await once(closing, "listening");
  const cache = new Larder({ socket: path });
  for (let n = 0; n < 3; n += 1) {
    assert.equal((await cache.entries().next()).done, true);
  }
  assert.equal(count, 3);
  cache.close();
  closing.close();
});

test("a save that gets no further ends with the last problem", { timeout: 60_000 }, async () => {
  const path = join(folder, "cutting.sock");
  let count = 0;
  const cutting = net.createServer((connection) => {
    // Each answer is cut off before its body.
    connection.once("data", () => {
      count += 1;
      connection.end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n");
    });
    connection.on("error", () => {});
  });
  cutting.listen(path);
  await once(cutting, "listening");
  const cache = new Larder({ socket: path });
  const error = await cache.save("film", join(folder, "film")).catch((error) => error);
  cache.close();
  cutting.close();
  assert.ok(error instanceof CutOff, error);
  assert.equal(count, 11);
  assert.deepEqual(readdirSync(folder).filter((name) => name.startsWith(".larder")), []);
});

test("a duration is a text or a number of milliseconds", () => {
  assert.deepEqual([duration(1_500), duration("10s"), duration(undefined)], ["1500ms", "10s", undefined]);
  assert.deepEqual([milliseconds("2m"), milliseconds(5)], [120_000, 5]);
  assert.throws(() => milliseconds("5"), { message: 'The string 5 is neither "10s" nor a number of ms.' });
});

test("a stream that is closed while it waits ends", async () => {
  const held = http.createServer(() => {});
  held.listen(join(folder, "held.sock"));
  await once(held, "listening");
  const cache = new Larder({ socket: join(folder, "held.sock") });
  const stream = cache.watch();
  const next = stream.next();
  await once(held, "request");
  assert.deepEqual(await stream.return(), { done: true, value: undefined });
  assert.deepEqual(await next, { done: true, value: undefined });
  held.closeAllConnections();
  held.close();
});
