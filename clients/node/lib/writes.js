// Writes: what a program changes, and the handles that say what has happened to it.

import { randomUUID } from "node:crypto";
import { CutOff, Invalid } from "../wire.js";
import { Resumption, commandOf, duration, given, milliseconds, pathOf } from "./core.js";
import { Problem, found } from "./problem.js";

const SETTLED = new Set(["confirmed", "failed", "cancelled", "dropped"]);
/** Milliseconds of one wait at the daemon; a longer one is several. */
const WAIT_MS = 60_000;

export class Write {
  #core;

  constructor(core, { id, state }, report) {
    this.#core = core;
    this.writeId = id;
    this.state = state;
    this.report = report;
  }

  get id() {
    return this.writeId;
  }

  get isSettled() {
    return SETTLED.has(this.state);
  }

  get answer() {
    return this.report?.answer;
  }

  get conflict() {
    return this.report?.conflict ?? [];
  }

  get problem() {
    if (this.state !== "failed") return undefined;
    const { status, body } = this.answer ?? {};
    const why = (this.report?.reason ?? "refused") + (status ? `, status ${status}` : "");
    const members = { status: 502, hint: "Retry it, or drop it.", origin_status: status, body };
    return found("origin-status", `The write ${this.writeId} failed (${why}).`, members);
  }

  async refresh({ wait, signal } = {}) {
    const limit = milliseconds(wait ?? 0) + WAIT_MS;
    const options = { query: { wait: duration(wait) }, signal, limit, fresh: wait !== undefined };
    this.report = await this.#core.report("GET", pathOf("modifiers", this.writeId), options);
    this.state = this.report.state;
    return this;
  }

  async wait(time = Infinity, { signal } = {}) {
    const end = time === Infinity ? time : performance.now() + milliseconds(time);
    const resumption = new Resumption();
    // The daemon that accepted it may be restarting.
    resumption.spoke();
    for (;;) {
      const left = Math.max(0, end - performance.now());
      try {
        await this.refresh({ wait: Math.min(left, WAIT_MS), signal });
        resumption.spoke();
        if (this.isSettled || left === 0) return this;
      } catch (error) {
        if (left === 0) throw error;
        await resumption.check(error).pause(signal);
      }
    }
  }

  async #act(action, { signal } = {}) {
    const options = { command: { action, ids: [this.writeId] }, signal, fresh: true };
    const { items } = await this.#core.report("POST", "/v1/modifiers/actions", options);
    if (items[0].problem) throw Problem.of(items[0].problem);
    this.state = items[0].state ?? "dropped";
    return this;
  }

  static {
    for (const action of ["cancel", "retry", "drop", "discard"]) {
      this.prototype[action] = function act(options) {
        return this.#act(action, options);
      };
    }
  }

  async resolve(choice, options) {
    const action = { mine: "retry", theirs: "discard" }[choice];
    if (!action) throw new TypeError(`A conflict is resolved by mine or theirs, not ${choice}.`);
    return this.#act(action, options);
  }
}

export class Item extends Write {
  #name;

  constructor(core, receipt, name) {
    super(core, receipt);
    this.#name = name;
    this.placeholder = `{{id:${name}}}`;
  }

  get id() {
    return this.report?.targets.at(-1)?.id ?? this.#name;
  }
}

/** Gives the daemon a modifier; returns its receipt. */
export async function accept(core, modifier, signal) {
  // The same id makes a repeated request the same write.
  const command = { id: randomUUID(), ...modifier };
  const send = () => core.report("POST", "/v1/modifiers", { command, signal, fresh: true });
  return send().catch((error) => (error instanceof CutOff ? send() : Promise.reject(error)));
}

/** The modifier of `modify`: its effects on one target, and further members. */
export function modification(target, { set, unset, delete: deletes, ...options }) {
  const { put, merge, patch, add, listAdd: list_add, listRemove: list_remove, ...rest } = options;
  const members = set || unset ? { set: set ?? {}, unset } : undefined;
  const values = given({ put, merge, patch, set: members, add, list_add, list_remove });
  const effects = Object.entries(values).map(([type, value]) => ({ type, value }));
  if (deletes || !effects.length) effects.push({ type: deletes ? "delete" : "none" });
  const change = effects.length === 1 ? { effect: effects[0] } : { effects };
  return { changes: [{ target: { id: target }, ...change }], ...commandOf(rest) };
}

export async function create(core, url, value, { into, key = "id", signal, ...options }) {
  const name = `tmp:${randomUUID()}`;
  const members = commandOf({ request: { method: "POST", url, body: value }, ...options });
  const thing = { target: { id: name }, effect: { type: "put", value } };
  const rows = { type: "list_add", value: { [into]: [{ ...value, [key]: name }] } };
  const list = { target: { id: url }, effect: rows };
  const send = async (...changes) => {
    const item = new Item(core, await accept(core, { ...members, changes }, signal), name);
    return item.refresh({ signal });
  };
  if (into === undefined) return send(thing);
  try {
    return await send(list);
  } catch (error) {
    if (!(error instanceof Invalid && error.detail.includes(name))) throw error;
    // Without rules that make the row an entity, the thing is what Location names.
    return send(list, thing);
  }
}
