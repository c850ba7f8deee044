export { Larder } from "./lib/client.js";
export { createFetch } from "./lib/fetch.js";
export { Snapshot, View } from "./lib/views.js";
export { Item, Write } from "./lib/writes.js";
export {
  CutOff,
  Gone,
  Invalid,
  Miss,
  NoDaemon,
  NotPermitted,
  Offline,
  OriginFailed,
  Problem,
  TooLarge,
  TooLate,
  Unavailable,
  UnknownOrigin,
} from "./lib/problem.js";
