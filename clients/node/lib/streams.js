// The streams of fetch, follow and watch, and what they do after a break.

import { Resumption, frames, milliseconds, pathOf, wholeBody } from "./core.js";
import { Gone, Miss, Problem, cutOff } from "./problem.js";
import { Snapshot, View, failure, viewOfFrame } from "./views.js";

const HEARTBEAT_MS = 15_000;

function open(core, path, command, options) {
  const body = JSON.stringify(command);
  const headers = { "Content-Type": "application/json" };
  return core.request("POST", path, { ...options, body, headers });
}

/** Time without a frame after which the connection counts as lost: three heartbeats. */
function silenceOf(command) {
  return 3 * (milliseconds(command.heartbeat) ?? HEARTBEAT_MS);
}

/** The time limit of a fetch's first frame; none if the daemon's own limit counts. */
function limitOf(command) {
  const limit = milliseconds(command.timeout);
  return limit === undefined ? 0 : limit + 10_000;
}

async function viewOf(core, { frame, line }, entry, signal) {
  if (frame.type !== "snapshot") return viewOfFrame(frame, entry);
  const path = frame.entry.body_href;
  if (path === undefined) return Snapshot.ofFrame(frame, line);
  const query = path.includes("?") ? {} : { account: core.account };
  try {
    const answer = await core.request("GET", path, { query, signal });
    return Snapshot.ofFrame(frame, line, await wholeBody(answer));
  } catch (error) {
    if (!(error instanceof Gone) && !(error instanceof Miss)) throw error;
    throw cutOff(`The body of ${frame.entry.id} was removed before it was read.`);
  }
}

/** The views of one fetch. */
export async function* fetched(core, command, signal) {
  const limit = limitOf(command);
  const answer = await open(core, "/v1/fetch", command, { signal, limit });
  let entry = null;
  let outcome;
  for await (const line of frames(answer, limit)) {
    if (line.frame.type === "end") outcome = line.frame.outcome;
    if (line.frame.type === "end" || line.frame.type === "heartbeat") continue;
    const view = await viewOf(core, line, entry, signal);
    ({ entry } = view);
    yield view;
  }
  if (outcome === undefined) throw cutOff("The fetch ended without its end frame.");
  if (outcome === "shutdown") {
    const detail = "The daemon ended before the network answered.";
    const members = { type: "urn:larder:shutting-down", status: 503, retryable: true, detail };
    yield failure(Problem.of(members), entry);
  }
}

/** Decides which views a follower shows: none twice, and no older one of the cache. */
class Shown {
  #rev = -1;
  #isDeleted = false;

  isNew({ type, rev, source }) {
    if (type === "deleted") return this.deletes();
    if (type !== "snapshot") return type !== "heartbeat";
    if (!this.#isDeleted) {
      if (rev === this.#rev || (rev < this.#rev && source !== "network")) return false;
    }
    [this.#rev, this.#isDeleted] = [rev, false];
    return true;
  }

  deletes() {
    const isNew = !this.#isDeleted;
    this.#isDeleted = true;
    return isNew;
  }
}

/** The views of a URL, now and after each change, over any number of connections. */
export async function* followed(core, command, signal) {
  const resumption = new Resumption();
  const shown = new Shown();
  let entry = null;
  let isTold = false;
  for (;;) {
    try {
      const options = { signal, limit: limitOf(command), fresh: true };
      const answer = await open(core, "/v1/fetch", { ...command, follow: true }, options);
      for await (const line of frames(answer, silenceOf(command))) {
        resumption.spoke();
        isTold = false;
        if (line.frame.type === "end") break;
        if (!shown.isNew(line.frame)) continue;
        const view = await viewOf(core, line, entry, signal);
        ({ entry } = view);
        yield view;
      }
      throw cutOff("larderd has ended the stream.");
    } catch (error) {
      // The daemon answers; only the thing is gone, and it may come back.
      const isGone = error instanceof Gone;
      if (isGone && shown.deletes()) {
        entry = null;
        yield new View({ source: "network", rev: 0, ...error.members, type: "deleted" });
      }
      if (!isGone) resumption.check(error);
      if (!isGone && resumption.isLong && !isTold) {
        isTold = true;
        yield failure(error, entry);
      }
      await resumption.pause(signal, { most: isGone });
    }
  }
}

/** The events of a watch, over any number of connections. */
export async function* watched(core, given, signal) {
  const command = { ...given };
  const resumption = new Resumption();
  for (;;) {
    try {
      const answer = await open(core, "/v1/watch", command, { signal, fresh: true });
      for await (const { frame } of frames(answer, silenceOf(command))) {
        resumption.spoke();
        if (frame.initial_done) delete command.initial;
        const isLagged = frame.type === "lagged";
        const rev = isLagged ? frame.dropped_after : frame.rev;
        // A list that is cut off is asked again, so nothing before its end counts.
        if (rev !== undefined && !command.initial && !frame.more && !frame.initial) {
          command.since = rev;
        }
        if (isLagged || frame.type === "end") break;
        if (frame.type !== "heartbeat") yield frame;
      }
      throw cutOff("larderd has ended the watch.");
    } catch (error) {
      if (error.type === "urn:larder:since-too-old" && command.since !== undefined) {
        delete command.since;
        command.initial = true;
        yield { type: "reset" };
        continue;
      }
      resumption.check(error);
      await resumption.pause(signal);
    }
  }
}

/** Renews the credential of an account each time that the daemon asks this client. */
export async function* renewing(core, origin, renew, signal) {
  const path = `${pathOf("origins", origin)}/credential`;
  const query = { account: core.account };
  const resumption = new Resumption();
  const isIdle = true;
  for (;;) {
    try {
      const options = { query, signal, limit: 0, fresh: true, isIdle };
      const answer = await core.request("POST", `${path}/renewal`, options);
      for await (const { frame } of frames(answer)) {
        await renewOnce(core, path, frame, renew, signal);
        resumption.spoke();
      }
    } catch (error) {
      resumption.check(error);
      await resumption.pause(signal, { ref: false });
    }
  }
}

async function renewOnce(core, path, order, renew, signal) {
  let credential;
  try {
    credential = await renew(order.reason);
  } catch (error) {
    // The connection closes with this error, and the daemon asks the next program.
    process.emitWarning(`The renewal of a credential failed: ${error?.message}`, "LarderWarning");
    const detail = "The callback gave no credential.";
    throw new Problem("urn:larder:not-renewed", detail, { retryable: true });
  }
  try {
    await core.report("PUT", path, {
      command: { ...credentialCommand(credential), account: core.account, lease: order.lease },
      signal,
    });
  } catch (error) {
    // Another program was asked meanwhile, or the user has logged in.
    if (error.type !== "urn:larder:lease-over") throw error;
  }
}

/** A credential as the daemon takes it. */
export function credentialCommand(credential) {
  const { value, header, expires } =
    typeof credential === "string" ? { value: credential } : credential;
  return { value, header, expires: expires instanceof Date ? expires.toISOString() : expires };
}
