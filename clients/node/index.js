export { Larder } from "./lib/client.js";
export { createFetch } from "./lib/fetch.js";
export { Snapshot, View } from "./lib/views.js";
export { Item, Write } from "./lib/writes.js";
export { Problem } from "./lib/problem.js";
export * from "./wire.js";
