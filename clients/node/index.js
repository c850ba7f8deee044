export { Larder } from "./lib/client.js";
export { createFetch } from "./lib/fetch.js";
export { Snapshot, View } from "./lib/views.js";
export { Item, Write } from "./lib/writes.js";
export { CutOff, Gone, Invalid, Miss, NoDaemon, NotPermitted, Offline } from "./lib/problem.js";
export { OriginFailed, Problem, TooLarge, TooLate, Unavailable } from "./lib/problem.js";
export { UnknownOrigin } from "./lib/problem.js";
