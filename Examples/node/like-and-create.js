// Likes the first row of a list, adds another one, and waits until the server has both.
//
// usage: node like-and-create.js URL POINTER TITLE [ORIGIN TOKEN-PROGRAM]

import { execFileSync } from "node:child_process";
import { Larder } from "larder";

const [url, pointer, title, origin, program] = process.argv.slice(2);
const cache = new Larder();

// The daemon asks one program at a time for a new token.
const renew = () => execFileSync("sh", ["-c", program], { encoding: "utf8" }).trim();
if (origin) cache.provideCredential(origin, renew);

const [[first]] = (await cache.get(url)).rows(pointer);
const like = await cache.modify(`${url}/${first.id}`, { merge: { liked: true } });
const item = await cache.create(url, { type: first.type, title }, { into: pointer });
console.log("created", item.id);
for (const [row, mark] of (await cache.get(url, { policy: "cache-only" })).rows(pointer)) {
  console.log(mark.pending.length ? "~" : " ", row.title, row.liked ?? false);
}
for (const write of [like, item]) {
  await write.wait();
  console.log(write.id, write.state, write.problem?.message ?? "");
}
