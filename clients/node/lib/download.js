// The exact bytes of a URL or of a stored id in a file, over any number of connections.

import { open } from "node:fs/promises";
import { CutOff } from "../wire.js";
import { Resumption, chunks, isURL, pathOf } from "./core.js";
import { cutOff } from "./problem.js";

/** Tries in a row that get no further: about 15 s with the pauses. */
const TRIES_MAX = 10;

/**
 * Writes the bytes to a new file and returns their number. After a cut it asks for the bytes that
 * are missing, or for all if the body has no strong ETag.
 */
export async function download(core, url, path, options) {
  const file = await open(path, "wx", options.mode);
  try {
    const body = { file, size: 0, tag: "" };
    await receive(core, url, body, options);
    await file.truncate(body.size);
    await file.sync();
    return body.size;
  } finally {
    await file.close();
  }
}

async function receive(core, url, body, options) {
  const resumption = new Resumption();
  for (let [longest, wasCut] = [0, false]; ; ) {
    try {
      return await receiveRest(core, url, body, options);
    } catch (error) {
      if (body.size > longest) resumption.spoke();
      longest = Math.max(longest, body.size);
      // A refusal before the first cut is the answer to the call.
      wasCut ||= error instanceof CutOff;
      if (!wasCut || resumption.failures >= TRIES_MAX) throw error;
      await resumption.check(error).pause(options.signal);
    }
  }
}

/** Adds the bytes that the body does not have yet. */
async function receiveRest(core, url, body, options) {
  const { size, tag } = body;
  const part = size && tag ? { Range: `bytes=${size}-`, "If-Range": tag } : {};
  const answer = await request(core, url, part, options).catch((error) => {
    if (!part.Range || ![error.status, error.originStatus].includes(416)) throw error;
    body.tag = "";
    throw cutOff("The body is shorter than its first part.");
  });
  const { etag = "", "content-range": range = "" } = answer.headers;
  if (answer.statusCode !== 206) {
    // The end of a longer body stays in the file until all has come: Node drops what it has read
    // of a connection that ends before the loop below begins, so nothing may wait here.
    Object.assign(body, { size: 0, tag: etag.startsWith('"') ? etag : "" });
  } else if (!range.startsWith(`bytes ${size}-`) || (etag && etag !== tag)) {
    answer.destroy();
    body.tag = "";
    throw cutOff("The answer of larderd is another part of the body.");
  }
  for await (const piece of chunks(answer)) {
    for (let rest = piece; rest.length > 0; ) {
      const { bytesWritten } = await body.file.write(rest, 0, rest.length, body.size);
      rest = rest.subarray(bytesWritten);
      body.size += bytesWritten;
    }
  }
  // A server may send less than it was asked for.
  const [, whole = "*"] = range.split("/");
  if (whole !== "*" && Number(whole) !== body.size) throw cutOff("The part ends too early.");
}

async function request(core, url, headers, { policy, signal }) {
  const options = { signal, headers, limit: 0, fresh: true };
  if (!isURL(url)) return core.request("GET", pathOf("entries", url), options);
  try {
    return await core.request("GET", "/v1/get", { ...options, query: { url, policy } });
  } catch (error) {
    if (!error.members?.raw_href) throw error;
    // The daemon refuses to store the answer, and passes it through.
    const more = { ...headers, "Cache-Control": "no-store", "Larder-Account": core.account };
    return core.request("GET", error.members.raw_href, { ...options, headers: more, query: null });
  }
}
