// What fetch, follow and get show: entries and views.

import { Problem } from "./problem.js";

const NO_MARK = Object.freeze({ id: null, pending: [], failed: [] });

const camel = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
const named = (members) =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [camel(name), value]));

export class Snapshot {
  #line;
  #bytes;
  #value;

  /** The entry of a frame; `bytes` if its body did not fit into the frame. */
  constructor({ rows = [], entry, age_ms: age, ...frame }, line, bytes) {
    const { body, body_b64: base64, body_href: _, ...members } = entry;
    Object.assign(this, { missing: [], failedRows: [] }, named(frame), named(members), { age });
    this.marks = new Map(rows.map(({ pointer, ...mark }) => [pointer, mark]));
    this.#bytes = bytes ?? (base64 === undefined ? undefined : Buffer.from(base64, "base64"));
    if (!this.#bytes) [this.#line, this.#value] = [line, body];
  }

  get entry() {
    return this;
  }

  get content() {
    return (this.#bytes ??= Buffer.from(bodyText(this.#line) ?? JSON.stringify(this.#value)));
  }

  get text() {
    const charset = /charset="?([^";\s]+)/i.exec(this.mediaType ?? "")?.[1];
    try {
      return new TextDecoder(charset).decode(this.content);
    } catch {
      // Node does not know the charset.
      return new TextDecoder().decode(this.content);
    }
  }

  json() {
    return (this.#value ??= JSON.parse(new TextDecoder().decode(this.content)));
  }

  rows(pointer = "") {
    let list = this.json();
    for (const part of pointer.split("/").slice(1)) {
      list = list?.[part.replaceAll("~1", "/").replaceAll("~0", "~")];
    }
    if (!Array.isArray(list)) throw new TypeError(`${this.id} has no list at "${pointer}".`);
    return list.map((row, at) => [row, this.marks.get(`${pointer}/${at}`) ?? NO_MARK]);
  }
}

/** A view without a body of its own; `entry` is the snapshot that stays valid, or null. */
export class View {
  constructor(members, entry) {
    Object.assign(this, members);
    Object.defineProperty(this, "entry", { value: entry });
    Object.defineProperty(this, "rows", { value: (pointer) => entry?.rows(pointer) ?? [] });
  }
}

export const failure = (problem, entry) => new View({ type: "failure", problem }, entry);

/** The view of a frame that is not a snapshot; one of a newer daemon is kept as it is. */
export function viewOfFrame(frame, entry) {
  if (frame.type === "problem") return failure(Problem.of(frame.problem), entry);
  return new View(frame, frame.type === "deleted" ? null : entry);
}

/** The body as its frame has it, so that numbers keep their digits: the end of the line. */
function bodyText(line) {
  const name = '"body":';
  for (let at = line.indexOf(name); at >= 0; at = line.indexOf(name, at + 1)) {
    const text = line.slice(at + name.length).replace(/\s*\}\s*\}$/, "").trim();
    try {
      JSON.parse(text);
      return text;
    } catch {
      // A member of another object has this name, too.
    }
  }
  return undefined;
}
