// The vectors of clients/vectors, against their scripted server.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Larder } from "../index.js";

const folder = fileURLToPath(new URL("../../vectors/", import.meta.url));
const camel = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());

/** The scripted server of a vector. */
async function start(file) {
  const directory = mkdtempSync(join(tmpdir(), "larder-"));
  const socket = join(directory, "s");
  const server = spawn("python3", [`${folder}server.py`, "--socket", socket, file], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const iterator = createInterface(server.stdout)[Symbol.asyncIterator]();
  assert.equal((await iterator.next()).value, "ready");
  // Without `return`, a loop that is left does not end the lines.
  const lines = { [Symbol.asyncIterator]: () => ({ next: () => iterator.next() }) };
  const serves = async (count) => {
    for await (const line of lines) if (line === `served ${count}`) return;
  };
  const stop = async () => {
    server.stdin.end();
    let last;
    for await (const line of lines) last = line;
    rmSync(directory, { recursive: true });
    return JSON.parse(last);
  };
  return { socket, serves, stop };
}

/** What a program sees of a value, under the names of the wire. */
function member(value, name) {
  if (name === "body" && typeof value.json === "function") return value.json();
  if (name === "view") return value.type;
  return name in value ? value[name] : value[camel(name)];
}

function matches(expected, got) {
  if (Array.isArray(expected)) {
    return (
      Array.isArray(got) &&
      got.length === expected.length &&
      expected.every((item, index) => matches(item, got[index]))
    );
  }
  if (expected === null || typeof expected !== "object") return Object.is(expected, got);
  if (got === null || typeof got !== "object") return false;
  return Object.entries(expected).every(([name, item]) => {
    if (name === "optional") return true;
    if (name !== "rows" || typeof got.rows !== "function") return matches(item, member(got, name));
    return item.every(({ pointer, pairs }) => matches(pairs, got.rows(pointer)));
  });
}

function expectMatch(expected, got, what) {
  if (matches(expected, got)) return;
  assert.fail(`${what}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(got)}`);
}

function expectProblem(expected, error) {
  assert.ok(error instanceof Error && "retryable" in error, `a problem, not ${error?.stack}`);
  expectMatch(expected, error, "problem");
}

/** Reads a stream until what the vector delivers was there. */
async function expectItems(stream, { delivers, raises, ends }) {
  const wanted = [...delivers];
  const lasts = !raises && !ends;
  try {
    while (wanted.length || !lasts) {
      const { done, value } = await stream.next();
      if (done) break;
      while (wanted[0]?.optional && !matches(wanted[0], value)) wanted.shift();
      if (!wanted.length) assert.fail(`a further item: ${JSON.stringify(value)}`);
      expectMatch(wanted.shift(), value, "item");
    }
    if (raises) assert.fail("the stream ended without a problem");
  } catch (error) {
    if (!raises || error instanceof assert.AssertionError) throw error;
    expectProblem(raises, error);
  }
  assert.deepEqual(wanted.filter(({ optional }) => !optional), []);
  await stream.return();
}

const calls = {
  watch: (cache, { prefixes, ...rest }) => cache.watch({ prefix: prefixes, ...rest }),
  fetch: (cache, { url, ...rest }) => cache.fetch(url, rest),
  follow: (cache, { url, ...rest }) => cache.follow(url, rest),
  get: (cache, { url, ...rest }) => cache.get(url, rest),
  save: async (cache, { url }) => {
    const directory = mkdtempSync(join(tmpdir(), "larder-"));
    try {
      const size = await cache.save(url, join(directory, "file"));
      assert.deepEqual(readdirSync(directory), ["file"]);
      return { size, text: readFileSync(join(directory, "file"), "utf8") };
    } finally {
      rmSync(directory, { recursive: true });
    }
  },
  put: (cache, { id, text, content_type }) => cache.put(id, text, { contentType: content_type }),
  modify: (cache, { target, merge }) => cache.modify(target, { merge }),
  modify_and_wait: async (cache, { target, merge, wait }) =>
    (await cache.modify(target, { merge })).wait(wait * 1_000),
};

/** Provides a credential until the server has served all exchanges. */
async function provide(server, { origin, credential }, exchanges) {
  const cache = new Larder({ socket: server.socket });
  const reasons = [];
  const provider = cache.provideCredential(origin, (reason) => {
    reasons.push(reason);
    return credential;
  });
  await server.serves(exchanges.length);
  cache.close();
  await provider.finished;
  const orders = exchanges.map(({ answer }) => answer[0].frame?.reason).filter(Boolean);
  assert.deepEqual(reasons, orders);
}

const names = [...readdirSync(folder), ...readdirSync(`${folder}python-node`).map((name) => `python-node/${name}`)];
for (const name of names.filter((name) => name.endsWith(".json"))) {
  const vector = JSON.parse(readFileSync(folder + name, "utf8"));
  test(`${vector.rule}: ${vector.name} (${name})`, { timeout: 60_000 }, async () => {
    const server = await start(folder + name);
    const cache = new Larder({ socket: server.socket });
    const { method } = vector.call;
    const parameters = vector.call.arguments;
    let report;
    try {
      if (method === "provide_credential") {
        await provide(server, parameters, vector.exchanges);
      } else if (vector.delivers) {
        await expectItems(calls[method](cache, parameters), vector);
      } else if (vector.raises) {
        const error = await calls[method](cache, parameters).catch((error) => error);
        expectProblem(vector.raises, error);
      } else {
        expectMatch(vector.returns, await calls[method](cache, parameters), "result");
      }
    } finally {
      cache.close();
      report = await server.stop();
    }
    assert.deepEqual(report, { served: report.expected, expected: report.expected, mismatches: [] });
  });
}
