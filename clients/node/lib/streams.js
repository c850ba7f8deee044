// The streams of fetch, follow and watch, and what they do after a break.

import { Resumption, frames, milliseconds, pathOf, wholeBody } from "./core.js";
import { Gone, Miss, Offline, OriginFailed } from "../wire.js";
import { cutOff } from "./problem.js";
import { Snapshot, View, failure, viewOfFrame } from "./views.js";

const HEARTBEAT_MS = 15_000;

/** Time without a frame after which the connection counts as lost: three heartbeats. */
const silenceOf = ({ heartbeat }) => 3 * milliseconds(heartbeat ?? HEARTBEAT_MS);

/** Time limit of an answer's head and of each frame; 0: the daemon's own limit counts. */
const limitOf = ({ timeout }) => (timeout == null ? 0 : milliseconds(timeout) + 10_000);

async function viewOf(core, { frame, line }, entry, signal) {
  if (frame.type !== "snapshot") return viewOfFrame(frame, entry);
  const path = frame.entry.body_href;
  if (path === undefined) return new Snapshot(frame, line);
  try {
    const query = path.includes("?") ? null : {};
    const answer = await core.request("GET", path, { query, signal, fresh: true });
    const { etag, "larder-rev": rev = frame.rev } = answer.headers;
    // The body may be newer than its frame, whose marks are then those of other rows.
    const newer = { rev: Number(rev), rows: [], missing: [], entry: { ...frame.entry, etag } };
    const isSame = newer.rev === frame.rev || (etag?.startsWith('"') && etag === frame.entry.etag);
    return new Snapshot(isSame ? frame : { ...frame, ...newer }, line, await wholeBody(answer));
  } catch (error) {
    if (!(error instanceof Gone) && !(error instanceof Miss)) throw error;
    throw cutOff(`The body of ${frame.entry.id} was removed before it was read.`);
  }
}

/** The views of one fetch or batch. */
export async function* fetched(core, path, command, signal, fresh = true) {
  const limit = limitOf(command);
  const answer = await core.request("POST", path, { command, signal, limit, fresh });
  let entry = null;
  let outcome;
  for await (const line of frames(answer, limit)) {
    if (line.frame.type === "end") ({ outcome } = line.frame);
    if (line.frame.type === "end" || line.frame.type === "heartbeat") continue;
    const view = await viewOf(core, line, entry, signal);
    ({ entry } = view);
    yield view;
  }
  if (["shutdown", undefined].includes(outcome)) throw cutOff("The fetch ended too early.");
}

/** The views of a URL, now and after each change, over any number of connections. */
export async function* followed(core, given, signal) {
  const command = { ...given, follow: true };
  const options = { command, signal, limit: limitOf(command), fresh: true };
  const resumption = new Resumption();
  let entry = null;
  let shown = -1;
  let isDeleted = false;
  let isTold = false;
  // No view is shown twice, and no older one of the cache.
  const isNew = ({ type, rev, source }) => {
    if (type === "deleted") return !isDeleted;
    const isOld = rev === shown || (rev < shown && source !== "network");
    return type === "snapshot" ? isDeleted || !isOld : type !== "heartbeat";
  };
  for (const silence = silenceOf(command); ; ) {
    try {
      const answer = await core.request("POST", "/v1/fetch", options);
      for await (const line of frames(answer, silence)) {
        if (line.frame.type === "end") break;
        const view = isNew(line.frame) && (await viewOf(core, line, entry, signal));
        resumption.spoke();
        isTold = false;
        if (!view) continue;
        // Reading the body may have failed before: then the program has not seen the revision.
        // After a body that is newer than its frame, the frame of that revision has the marks.
        if (view.type === "snapshot") [shown, isDeleted] = [line.frame.rev, false];
        if (view.type === "deleted") isDeleted = true;
        ({ entry } = view);
        yield view;
      }
      throw cutOff("larderd has ended the stream.");
    } catch (error) {
      // The daemon answers; only the thing is gone, and it may come back.
      const isGone = error instanceof Gone;
      if (isGone && !isDeleted) {
        [entry, isDeleted] = [null, true];
        yield new View({ source: "network", rev: 0, ...error.members, type: "deleted" }, entry);
      }
      if (!isGone) resumption.check(error);
      if (!isGone && resumption.isLong && !isTold) {
        isTold = true;
        yield failure(error, entry);
      }
      // The daemon itself asks an origin that fails no more often than each 30 s.
      const most = error instanceof Offline || error instanceof OriginFailed ? 30_000 : 5_000;
      await resumption.pause(signal, { atMost: isGone, most });
    }
  }
}

/** The events of a watch, over any number of connections. */
export async function* watched(core, given, signal) {
  const command = { ...given };
  const resumption = new Resumption();
  for (let [silence, isListing] = [silenceOf(command), false]; ; isListing = false) {
    try {
      const answer = await core.request("POST", "/v1/watch", { command, signal, fresh: true });
      for await (const { frame } of frames(answer, silence)) {
        resumption.spoke();
        if (frame.initial_done) delete command.initial;
        const isLagged = frame.type === "lagged";
        const rev = isLagged ? frame.dropped_after : frame.rev;
        // A list that is cut off is asked again, so nothing before its end counts.
        if (rev !== undefined && !command.initial && !frame.more) command.since = rev;
        if (isLagged || frame.type === "end") break;
        if (frame.type === "heartbeat") continue;
        isListing = command.initial;
        yield frame;
      }
      throw cutOff("larderd has ended the watch.");
    } catch (error) {
      if (error.type === "urn:larder:since-too-old" && command.since !== undefined) {
        delete command.since;
        command.initial = true;
        yield { type: "reset" };
        continue;
      }
      await resumption.check(error).pause(signal);
      // Entries of a list that was cut off may be gone.
      if (isListing) yield { type: "reset" };
    }
  }
}

/** Renews the credential of an account each time that the daemon asks this client. */
export async function* renewing(core, origin, renew, signal) {
  const path = `${pathOf("origins", origin)}/credential`;
  const options = { signal, limit: 0, fresh: true, isIdle: true };
  const resumption = new Resumption();
  for (;;) {
    try {
      const answer = await core.request("POST", `${path}/renewal`, options);
      for await (const { frame: order } of frames(answer)) {
        await renewOnce(core, path, order, renew, signal);
        resumption.spoke();
      }
    } catch (error) {
      await resumption.check(error).pause(signal, { ref: false });
    }
  }
}

async function renewOnce(core, path, { reason, lease }, renew, signal) {
  try {
    const command = { ...credentialCommand(await renew(reason)), lease };
    await core.report("PUT", path, { command, signal });
  } catch (error) {
    // Another program was asked meanwhile, or the user has logged in.
    if (error?.type === "urn:larder:lease-over") return;
    // The connection ends with this error, and the daemon asks the next program.
    const text = `The renewal of a credential failed: ${error?.message}`;
    if (!signal.aborted) process.emitWarning(text, "LarderWarning");
    throw cutOff("The callback gave no credential.");
  }
}

/** A credential as the daemon takes it. */
export function credentialCommand(given) {
  const { value, header, expires } = typeof given === "string" ? { value: given } : given;
  return { value, header, expires: expires instanceof Date ? expires.toISOString() : expires };
}
