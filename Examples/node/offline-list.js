// Shows a list, now and after each change, with a mark for each row. Works without a network.
//
// usage: node offline-list.js URL [POINTER]

import { Larder } from "larder";

const [url, pointer = ""] = process.argv.slice(2);
const cache = new Larder();

for await (const view of cache.follow(url)) {
  if (view.type === "snapshot") {
    console.log(`-- ${view.stale ? "old" : "new"}, from the ${view.source}`);
    for (const [row, mark] of view.rows(pointer)) {
      console.log(mark.failed.length ? "!" : mark.pending.length ? "~" : " ", row.title);
    }
    for (const lost of view.failedRows) console.log("!", lost.value.title);
  } else if (view.type === "failure") {
    console.log(`-- ${view.problem.message}`);
  } else if (view.type === "deleted") {
    console.log("-- the list is gone");
  }
}
