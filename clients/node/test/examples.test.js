// The programs of Examples/node through a restart, an outage, lag, 410 and a token that expires.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Gone, Larder } from "../index.js";
import { Daemon, Origin, refused, reply, skip, until } from "./support.js";

const library = fileURLToPath(new URL("../", import.meta.url));
const examples = fileURLToPath(new URL("../../../Examples/node/", import.meta.url));
const LINES_MAX = 40;

describe("the examples", { skip, timeout: 300_000 }, () => {
  let daemon;
  let origin;
  let folder;
  let url;
  const programs = [];

  before(async () => {
    origin = await new Origin().start();
    url = `${origin.base}/todos`;
    const types = '{by_type: true, types: [{type: Todo, url: "/todos/{id}"}]}';
    const modifiers = "{created_id: /id, idempotency: {honoured: true}}";
    const reads = "fetch: {post_reads: [/graphql], network_wait: 60s}";
    const rest = `allow_private: true, ${reads}, modifiers: ${modifiers}, normalize: ${types}`;
    daemon = await new Daemon(`origins: {local: {base_url: "${origin.base}", ${rest}}}\n`).start();
    // As after `npm install /usr/share/larder/node`.
    folder = mkdtempSync(join(tmpdir(), "larder-"));
    cpSync(examples, folder, { recursive: true });
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(library, join(folder, "node_modules/larder"));
    const bread = { type: "Todo", id: 1, title: "bread", liked: false };
    origin.set("/todos", { items: [bread] });
    origin.set("/todos/1", bread);
  });
  after(async () => {
    for (const program of programs) program.kill("SIGKILL");
    await daemon.remove();
    await origin.stop();
    rmSync(folder, { recursive: true });
  });

  /** A program that runs; `output` is what it has printed, all of it once it has ended. */
  function start(name, ...args) {
    const env = { ...process.env, LARDER_SOCKET: daemon.socket };
    const options = { env, cwd: folder };
    const program = spawn(process.execPath, [join(folder, name), ...args], options);
    programs.push(program);
    const run = { output: "", program, ended: once(program, "close") };
    for (const stream of [program.stdout, program.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => (run.output += text));
    }
    run.prints = (pattern) =>
      until(() => pattern.test(run.output), pattern).catch((error) => {
        throw new Error(`${name} printed:\n${run.output}`, { cause: error });
      });
    return run;
  }

  test("S20: each has at most 40 lines", () => {
    for (const name of readdirSync(examples)) {
      const lines = readFileSync(examples + name, "utf8").trimEnd().split("\n").length;
      assert.ok(lines <= LINES_MAX, `${name} has ${lines} lines`);
    }
  });

  test("like and create show their marks offline, and are sent; the list follows", async () => {
    let token = "first";
    origin.treat = ({ method, headers }, answer) =>
      method !== "GET" && headers.authorization !== `Bearer ${token}`
        ? reply(answer, 401, { error: "token" })
        : false;
    const list = start("offline-list.js", url, "/items");
    await list.prints(/-- new, from the network\n {2}bread\n/);

    await origin.stop();
    const login = `cat ${folder}/token`;
    const like = start("like-and-create.js", url, "/items", "milk", "local", login);
    await like.prints(/created entity:local\/Todo:tmp:\S+\n~ bread true\n~ milk false\n/);
    await list.prints(/~ bread\n~ milk\n/);
    // The writes are there while neither the daemon nor the origin is.
    await daemon.end("SIGKILL");
    await daemon.start();
    token = "second";
    const other = new Larder({ socket: daemon.socket });
    await other.setCredential("local", "Bearer first");
    await origin.start();
    const waits = async () => {
      const states = [];
      for await (const { state } of other.writes()) states.push(state);
      return states.includes("auth_wait");
    };
    await until(waits, "a write waits for a credential");
    other.close();
    // A program that renews: the one before has no token to give yet.
    writeFileSync(`${folder}/token`, `Bearer ${token}`);
    await like.prints(/entity:local\/Todo:2 confirmed/);
    assert.deepEqual(await like.ended, [0, null]);
    assert.match(like.output, /^\S+ confirmed $/m);
    await list.prints(/ {2}bread\n {2}milk\n/);
    list.program.kill();
    await list.ended;
    assert.deepEqual(origin.value("/todos/1"), {
      type: "Todo",
      id: 1,
      title: "bread",
      liked: true,
    });
  });

  test("the lines of docs/clients.md run", async () => {
    const page = readFileSync(`${library}../../docs/clients.md`, "utf8");
    const section = /\n## Node\n(.*?)(\n## |$)/s.exec(page)[1];
    const blocks = [...section.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code);
    const addresses = /http:\/\/127\.0\.0\.1:8099|https:\/\/api\.example\.com/g;
    const code = blocks.join("").replaceAll(addresses, origin.base);
    writeFileSync(join(folder, "page.mjs"), code.replace('"demo"', '"local"'));
    origin.treat = ({ url: path }, answer) =>
      path === "/graphql" && reply(answer, 200, { data: { books: [] } });
    origin.set("/hello.json", { hello: "world" });
    origin.set("/list", { items: [] });
    const run = start("page.mjs");
    await run.ended;
    const wanted = `{ hello: 'world' } network false
cache \\d+
{ books: \\[\\] }
snapshot
unchanged
put notes/1 true
buy milk
{ hello: 'world', liked: true }
confirmed 200
${origin.base}/list/1
8
held
ready 0
tonight
[^\n]+Fetch it with a policy that asks the network.
200 network
world
`;
    assert.match(run.output, new RegExp(`^${wanted}$`));
  });

  test("the program of the first page reads online and offline", async () => {
    origin.set("/hello.json", { hello: "world" });
    const read = async () => {
      const run = start("greeting.js", `${origin.base}/hello.json`);
      assert.deepEqual(await run.ended, [0, null]);
      return until(() => run.output, "its output");
    };
    assert.equal(await read(), "network false world\n");
    await origin.stop();
    assert.equal(await read(), "cache true world\n");
    await origin.start();
  });

  test("the list goes on after lag and 410", async () => {
    const rows = [{ type: "Todo", id: 7, title: "jam" }];
    const other = new Larder({ socket: daemon.socket });
    const set = async (items) => {
      origin.set("/todos", { items });
      await other.get(url, { policy: "network-only" });
    };
    const views = () => list.output.split(/^-- .*\n/m);
    const shows = (pattern) => until(() => pattern.test(views().at(-1)), `the view ${pattern}`);
    await set(rows);
    const list = start("offline-list.js", url, "/items");
    await shows(/^ {2}jam\n$/);
    // The program reads nothing while the list changes, more than the connection holds.
    list.program.kill("SIGSTOP");
    const count = 60;
    for (let n = 0; n < count; n += 1) {
      await set([...rows, { type: "Todo", id: 100 + n, title: `${n}${"x".repeat(50_000)}` }]);
    }
    list.program.kill("SIGCONT");
    await shows(new RegExp(`^ {2}jam\n {2}${count - 1}x+\n$`));
    assert.ok(views().length < count, "the program has lagged");

    origin.treat = ({ url: path }, answer) => path === "/todos" && reply(answer, 410);
    await refused(other.get(url, { policy: "network-only" }), Gone);
    await list.prints(/-- the list is gone\n$/);
    origin.treat = () => false;
    await set(rows);
    await shows(/^ {2}jam\n$/);

    // The daemon has lost its cache, so that its revisions begin again.
    await daemon.end("SIGKILL");
    rmSync(join(daemon.folder, "cache"), { recursive: true });
    origin.set("/todos", { items: [{ type: "Todo", id: 8, title: "tea" }] });
    await daemon.start();
    await shows(/^ {2}tea\n$/);
    other.close();
    list.program.kill();
    await list.ended;
  });

  test("without a daemon a program prints three ways to begin", async () => {
    const env = { ...process.env, LARDER_SOCKET: join(folder, "none.sock") };
    const program = spawn(process.execPath, [join(folder, "offline-list.js"), url], { env });
    let output = "";
    program.stderr.setEncoding("utf8").on("data", (text) => (output += text));
    assert.deepEqual(await once(program, "close"), [1, null]);
    assert.match(output, /sudo adduser NAME larder-clients/);
    assert.match(output, /systemctl --user enable --now larder\.socket/);
  });
});
