// A program that uses each part of the types; `tsc --noEmit` checks it.

import { Larder, Miss, Problem, createFetch } from "larder";
import type { Credential, Item, Mark, View, wire } from "larder";

const cache = new Larder({ socket: "/run/larder/api.sock", account: "work" });
const url = "https://api.example.com/todos";

export async function reads(signal: AbortSignal): Promise<string[]> {
  const entry = await cache.get(url, { policy: "network-first", networkWait: "300ms", signal });
  const body = { query: "{ books { title } }" };
  const books = await cache.get(url, { method: "POST", body });
  await cache.get(url, { method: "QUERY", bodyText: books.text, contentType: "text/plain" });
  const [[row, mark]]: Array<[any, Mark]> = entry.rows("/items");
  for await (const view of cache.follow(url, { heartbeat: 5_000, refresh: "30s", signal })) show(view);
  for await (const event of cache.watch({ prefix: "notes/", since: 3, initial: true })) {
    if (event.type === "put") console.log(event.id, event.rev);
    if (event.type === "reset") console.log("all comes again");
    if (event.type === "prefetch") console.log(event.name, event.account, event.state);
  }
  const ids: string[] = [];
  for await (const { id } of cache.entries({ prefix: "notes/", sort: "age" })) ids.push(id);
  return [row.title, ...mark.pending, ...ids];
}

function show(view: View): string {
  switch (view.type) {
    case "snapshot":
      return `${view.text} ${view.age} ${view.failedRows.length}`;
    case "failure":
      return view.problem.hint;
    case "deleted":
      return `${view.source} ${view.rows("/items").length}`;
    case "origin":
      return view.state;
    case "unchanged":
      return String(view.entry?.rev);
  }
}

export async function writes(): Promise<wire.ModifierState | "dropped"> {
  const write = await cache.modify(url, { merge: { liked: true }, hold: "5s", ifMatch: "strict" });
  await write.wait(10_000);
  const item: Item = await cache.create(url, { title: "Milk" }, { into: "/items" });
  await cache.modify(item.id, { set: { "/done": true }, unset: ["/due"] });
  await cache.put("notes/1", new Uint8Array(3), { contentType: "text/plain", onlyNew: true });
  for await (const conflict of cache.conflicts()) await conflict.resolve("mine");
  const pin: wire.PinItem | undefined = await cache.pin("notes/1", { wait: "10s" });
  console.log(pin?.state, write.problem?.originStatus, write.answer?.status);
  const items = [url, { entities: { origin: "books", type: "Book" } }];
  const set: wire.PrefetchReport = await cache.prefetch("tonight", items, { expires: "12h", dryRun: true });
  for await (const { name, held } of cache.prefetches()) console.log(name, held, set.failed?.[0]?.problem.detail);
  return write.state;
}

export function renews(login: (reason: string) => Promise<Credential>): void {
  const provider = cache.provideCredential("example", login);
  provider.finished.catch((error: unknown) => error instanceof Problem && error.retryable);
  provider.close();
}

export async function existing(): Promise<number | undefined> {
  globalThis.fetch = createFetch({ origins: ["https://api.example.com/"] });
  const response = await createFetch({ offlineWrites: true, fallback: null })(url);
  try {
    await cache.save(url, "/tmp/file");
  } catch (error) {
    if (error instanceof Miss) console.log(error.detail);
  }
  return response.larder?.age;
}

// @ts-expect-error: a policy is one of the daemon's, or a text
cache.get(url, { policy: 3 });
// @ts-expect-error: a write is made by the client
new (class extends Problem {})().hint = "";
