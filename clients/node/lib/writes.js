// Writes: what a program changes, and the handles that say what has happened to it.

import { randomUUID } from "node:crypto";
import { Resumption, Stream, duration, given, milliseconds, pathOf } from "./core.js";
import { CutOff, Invalid, Miss, Problem } from "./problem.js";
import { watched } from "./streams.js";

const SETTLED = new Set(["confirmed", "failed", "cancelled", "dropped"]);
/** Milliseconds of one wait at the daemon; a longer one is several. */
const WAIT_MS = 60_000;

/** A write: its state and its report, as last heard. */
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

  /** The last answer of the origin: `status`, `headers`, `body`. */
  get answer() {
    return this.report?.answer;
  }

  /** What another device has changed too: `base`, `mine` and `theirs` of each target. */
  get conflict() {
    return this.report?.conflict ?? [];
  }

  /** Why it failed; undefined in other states. */
  get problem() {
    if (this.state !== "failed") return undefined;
    return Problem.of({
      type: "urn:larder:origin-status",
      status: 502,
      detail: `The write ${this.writeId} failed: ${this.report?.reason ?? "refused"}.`,
      hint: "Retry it, or drop it.",
      origin_status: this.answer?.status,
      body: this.answer?.body,
    });
  }

  /** Asks for the state; with `wait` after it is settled or the time is over. */
  async refresh({ wait, signal } = {}) {
    const query = { account: this.#core.account, wait: duration(wait) };
    const limit = (milliseconds(wait) ?? 0) + WAIT_MS;
    const options = { query, signal, limit, fresh: wait !== undefined };
    this.report = await this.#core.report("GET", pathOf("modifiers", this.writeId), options);
    this.state = this.report.state;
    return this;
  }

  /** Waits until it is settled, also over restarts of the daemon, or until the time is over. */
  async wait(time, { signal } = {}) {
    const end = Date.now() + (milliseconds(time) ?? Infinity);
    const resumption = new Resumption();
    // The daemon that accepted it may be restarting.
    resumption.spoke();
    for (;;) {
      const left = Math.max(0, end - Date.now());
      try {
        await this.refresh({ wait: Math.min(left, WAIT_MS), signal });
        resumption.spoke();
        if (this.isSettled || left === 0) return this;
      } catch (error) {
        resumption.check(error);
        if (left === 0) throw error;
        await resumption.pause(signal);
      }
    }
  }

  async #act(action, { signal } = {}) {
    const command = given({ action, ids: [this.writeId], account: this.#core.account });
    const options = { command, signal, fresh: true };
    const page = await this.#core.report("POST", "/v1/modifiers/actions", options);
    const [result] = page.items;
    if (result.problem) throw Problem.of(result.problem);
    this.state = result.state ?? "dropped";
    return this;
  }

  /** Takes it back; throws TooLate if the origin may have applied it. */
  cancel(options) {
    return this.#act("cancel", options);
  }

  /** Sends it again. */
  retry(options) {
    return this.#act("retry", options);
  }

  /** Forgets it after it has failed. */
  drop(options) {
    return this.#act("drop", options);
  }

  /** Gives it up, although the origin may have applied it. */
  discard(options) {
    return this.#act("discard", options);
  }

  /** Ends a conflict: `mine` sends it over the value of the origin, `theirs` cancels it. */
  resolve(choice, options) {
    if (choice !== "mine" && choice !== "theirs") throw new TypeError(`no choice: ${choice}`);
    return this.#act(choice === "mine" ? "retry" : "cancel", options);
  }

  /** Replaces its changes and its request, as long as the origin cannot have applied it. */
  async edit({ changes, request }, { signal } = {}) {
    const query = { account: this.#core.account };
    const options = { command: given({ changes, request }), query, signal };
    const path = pathOf("modifiers", this.writeId);
    // The same edit again changes nothing.
    const receipt = await twice(() => this.#core.report("PATCH", path, options));
    this.state = receipt.state;
    return this;
  }
}

/** A created thing, and the write that creates it. */
export class Item extends Write {
  #name;

  constructor(core, receipt, name) {
    super(core, receipt);
    this.#name = name;
    this.placeholder = `{{id:${name}}}`;
  }

  /** The id of the thing: temporary, and real after the origin gave one. Both can be used. */
  get id() {
    return this.report?.targets.at(-1)?.id ?? this.#name;
  }
}

/** The answer of an idempotent command, which is sent again if its answer was cut off. */
async function twice(send) {
  try {
    return await send();
  } catch (error) {
    if (!(error instanceof CutOff)) throw error;
    return send();
  }
}

/** Gives the daemon a modifier; returns its receipt. */
export function accept(core, command, signal) {
  const { id = randomUUID(), account = core.account, hold, expires } = command;
  const members = { id, account, hold: duration(hold), expires: duration(expires) };
  const options = { command: given({ ...command, ...members }), signal, fresh: true };
  return twice(() => core.report("POST", "/v1/modifiers", options));
}

/** The command of `modify`: its effects on one target, and the further members of a modifier. */
export function modification(target, options) {
  const { set, unset, delete: deletes, listAdd, listRemove, ...rest } = options;
  const isSet = set !== undefined || unset !== undefined;
  const values = {
    put: rest.put,
    merge: rest.merge,
    patch: rest.patch,
    set: isSet ? given({ set: set ?? {}, unset }) : undefined,
    add: rest.add,
    list_add: listAdd,
    list_remove: listRemove,
  };
  const effects = Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([type, value]) => ({ type, value }));
  if (deletes) effects.push({ type: "delete" });
  if (!effects.length) effects.push({ type: "none" });
  const change = effects.length === 1 ? { effect: effects[0] } : { effects };
  return { changes: [{ target: { id: target }, ...change }], ...members(rest) };
}

/** The members of a modifier beside its changes. */
function members(options) {
  return given({
    id: options.id,
    request: options.request,
    lane: options.lane,
    depends_on: options.dependsOn,
    hold: options.hold,
    expires: options.expires,
    max_attempts: options.maxAttempts,
    after_unknown: options.afterUnknown,
    if_match: options.ifMatch,
    on_conflict: options.onConflict,
  });
}

/** Creates a thing with a POST to a URL; it shows now, in the list at the pointer `into`. */
export async function create(core, url, value, { into, key = "id", signal, ...options }) {
  const name = `tmp:${randomUUID()}`;
  const request = { method: "POST", url, body: value };
  const thing = { target: { id: name }, effect: { type: "put", value } };
  const row = { type: "list_add", value: { [into]: [{ ...value, [key]: name }] } };
  const shown = { target: { id: url }, effect: row };
  const more = members({ request, ...options });
  let receipt;
  try {
    const changes = [into === undefined ? thing : shown];
    receipt = await accept(core, { ...more, changes }, signal);
  } catch (error) {
    if (into === undefined || !(error instanceof Invalid && error.detail.includes(name))) throw error;
    // Without rules that make the row an entity, the thing is what Location names.
    receipt = await accept(core, { ...more, changes: [shown, thing] }, signal);
  }
  const item = new Item(core, receipt, name);
  return item.refresh({ signal });
}

/** Writes in conflict: those that wait now, and each later one. */
export async function* conflicts(core, signal) {
  const told = new Set();
  const events = new Stream(core, signal, (stop) => watched(core, { types: ["modifier"] }, stop));
  const look = async function* (id) {
    const write = new Write(core, { id });
    try {
      await write.refresh({ signal });
    } catch (error) {
      if (!(error instanceof Miss)) throw error;
    }
    if (write.state !== "conflict") told.delete(id);
    else if (told.size !== told.add(id).size) yield write;
  };
  const list = async function* () {
    for await (const { id } of core.pages("/v1/modifiers", { state: "conflict" }, signal)) {
      yield* look(id);
    }
  };
  let isListed = false;
  for await (const event of events) {
    if (!isListed || event.type === "reset") yield* list();
    // The watch has begun, so nothing is missed between the list and its events.
    isListed = true;
    if (event.type === "modifier") yield* look(event.id);
  }
}
