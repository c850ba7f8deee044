// What fetch, follow and get show: entries and views.

import { badAnswer, Problem } from "./problem.js";

const NO_MARK = Object.freeze({ id: null, pending: [], failed: [] });

/** An entry at one moment, with its body. */
export class Snapshot {
  type = "snapshot";
  #body;

  constructor(members, body) {
    Object.assign(this, members);
    this.#body = body;
  }

  /** The entry of a frame; `bytes` if its body did not fit into the frame. */
  static ofFrame(frame, line, bytes) {
    const { entry } = frame;
    if (!bytes && entry.body_b64 !== undefined) bytes = Buffer.from(entry.body_b64, "base64");
    const members = {
      id: entry.id,
      status: entry.status,
      mediaType: entry.media_type ?? null,
      etag: entry.etag ?? null,
      rev: frame.rev,
      source: frame.source,
      stale: frame.stale,
      age: frame.age_ms,
      pending: frame.pending,
      pendingIds: frame.pending_ids ?? [],
      failed: frame.failed,
      complete: frame.complete,
      missing: frame.missing ?? [],
      marks: new Map((frame.rows ?? []).map(({ pointer, ...mark }) => [pointer, mark])),
      failedRows: frame.failed_rows ?? [],
    };
    return new Snapshot(members, bytes ? { bytes } : { line, value: entry.body });
  }

  /** The entry of an answer that is its bytes alone. */
  static ofAnswer(id, { statusCode: status, headers }, bytes) {
    const ids = headers["larder-pending-ids"];
    const members = {
      id,
      status,
      mediaType: headers["content-type"] ?? null,
      etag: headers.etag ?? null,
      rev: Number(headers["larder-rev"] ?? 0),
      ...cacheAnswer(headers),
      pendingIds: ids ? ids.split(", ") : [],
      failed: Number(headers["larder-failed"] ?? 0),
      complete: headers["larder-complete"] !== "false",
      missing: [],
      marks: new Map(),
      failedRows: [],
    };
    return new Snapshot(members, { bytes });
  }

  get entry() {
    return this;
  }

  /** The bytes. JSON of a view has spaces in place of line breaks; `save` has the exact bytes. */
  get content() {
    this.#body.bytes ??= Buffer.from(memberText(memberText(this.#body.line, "entry"), "body"));
    return this.#body.bytes;
  }

  get text() {
    const charset = /charset="?([^";\s]+)/i.exec(this.mediaType ?? "")?.[1];
    return decoder(charset).decode(this.content);
  }

  /** The value of a JSON body, the same object each time. */
  json() {
    if (!("value" in this.#body)) this.#body.value = JSON.parse(this.text);
    return this.#body.value;
  }

  /** The rows of the list at a JSON pointer: pairs of the row and its mark. */
  rows(pointer = "") {
    let list = this.json();
    for (const part of pointer.split("/").slice(1)) {
      list = list?.[part.replaceAll("~1", "/").replaceAll("~0", "~")];
    }
    if (!Array.isArray(list)) throw new TypeError(`There is no list at "${pointer}" of ${this.id}.`);
    return list.map((row, index) => [row, this.marks.get(`${pointer}/${index}`) ?? NO_MARK]);
  }
}

/** A view without a body of its own; `entry` is the snapshot that stays valid, or null. */
export class View {
  constructor(members, entry = null) {
    Object.assign(this, members);
    Object.defineProperty(this, "entry", { value: entry });
    Object.defineProperty(this, "rows", { value: (pointer) => entry?.rows(pointer) ?? [] });
  }
}

export function failure(problem, entry) {
  return new View({ type: "failure", problem }, entry);
}

/** The view of a frame that is not a snapshot; one of a newer daemon is kept as it is. */
export function viewOfFrame(frame, entry) {
  if (frame.type === "problem") return failure(Problem.of(frame.problem), entry);
  return new View(frame, frame.type === "deleted" ? null : entry);
}

/** Where an answer came from, by its headers. */
export function cacheAnswer(headers) {
  const status = (headers["cache-status"] ?? "")
    .split(/,\s*/)
    .find((member) => member.startsWith("larder"));
  const isHit = /;\s*hit\b/.test(status ?? "");
  const ttl = /;\s*ttl=(-?\d+)/.exec(status ?? "")?.[1];
  return {
    source: isHit ? "cache" : "network",
    age: Number(headers.age ?? 0) * 1_000,
    stale: isHit && Number(ttl ?? 0) <= 0,
    pending: Number(headers["larder-pending"] ?? 0),
  };
}

function decoder(charset) {
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder();
  }
}

/** The text of a member of the JSON object that `text` is, as it came. */
function memberText(text, name) {
  let depth = 0;
  let start = -1;
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at];
    if (depth === 1 && start >= 0 && (letter === "," || letter === "}")) {
      return text.slice(start, at).trim();
    }
    if (letter === "{" || letter === "[") depth += 1;
    else if (letter === "}" || letter === "]") depth -= 1;
    else if (letter === '"') {
      const begin = at;
      for (at += 1; text[at] !== '"'; at += 1) if (text[at] === "\\") at += 1;
      const colon = /^\s*:/.exec(text.slice(at + 1, at + 9));
      if (depth === 1 && start < 0 && colon && JSON.parse(text.slice(begin, at + 1)) === name) {
        start = at + 1 + colon[0].length;
        at = start - 1;
      }
    }
  }
  throw badAnswer(`A snapshot has no member ${name}.`);
}
