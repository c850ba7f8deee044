/** Client of larderd, the offline-first cache daemon for Linux. */

import type {
  CredentialReport,
  EntryItem,
  FailedRow,
  FetchPolicy,
  ModifierAnswer,
  ModifierCommand,
  ModifierConflict,
  ModifierReport,
  ModifierRequestCommand,
  ModifierState,
  OriginFrame,
  PinItem,
  PrefetchItem,
  PrefetchReport,
  ProblemType,
  RenewalReason,
  UnchangedFrame,
  DeletedFrame,
  WatchFrame,
  WatchKind,
} from "./wire.js";

export * as wire from "./wire.js";

/** `10s`, `5m`, `300ms`, or a number of milliseconds. */
export type Duration = string | number;

export interface SignalOptions {
  /** Ends the call, which then throws the reason of the signal. */
  signal?: AbortSignal;
}

export interface ClientOptions {
  /**
   * Path of the socket. Without it: `LARDER_SOCKET`, the socket of the user's own daemon if one
   * answers, `/run/larder/api.sock`. For root only the first and the last.
   */
  socket?: string;
  /** Name of the account at the origins; without it, the default one. */
  account?: string;
  /** Name of the client in its own changes; without it, a unique one. */
  name?: string;
}

export interface FetchOptions extends SignalOptions {
  /** When the network is asked. */
  policy?: FetchPolicy;
  /** Time for which the cached answer is held back. */
  networkWait?: Duration;
  /** Time limit of the fetch. */
  timeout?: Duration;
  /** Header fields for the origin. */
  headers?: Record<string, string>;
  /** Whether a cached answer is shown without the entities that were evicted of it. */
  partial?: boolean;
  /** `POST` or `QUERY` for a read with a body. A POST needs a path of the origin's `post_reads`. */
  method?: string;
  /** The body if it is JSON; at most 131,072 bytes. */
  body?: unknown;
  /** The body if it is a text. */
  bodyText?: string;
  /** The body in Base64. */
  bodyB64?: string;
  /** Media type of the body; without it `application/json`, `text/plain` or bytes. */
  contentType?: string;
}

export interface FollowOptions extends FetchOptions {
  /** Time between two signs of life; after three without one the client connects again. */
  heartbeat?: Duration;
  /** Interval at which the daemon asks the origin again. */
  refresh?: Duration;
}

export interface WatchOptions extends SignalOptions {
  /** Beginnings of ids. */
  prefix?: string | string[];
  ids?: string[];
  types?: WatchKind[];
  /** Revision after which changes are told; without it, the present one. */
  since?: number;
  /** Whether the entries that exist come first. */
  initial?: boolean;
  heartbeat?: Duration;
}

/** Further members of a write. */
export interface WriteOptions extends SignalOptions {
  /** Name of the write; the same id with the same content is one write. */
  id?: string;
  request?: ModifierRequestCommand;
  lane?: string;
  dependsOn?: string[];
  hold?: Duration;
  expires?: Duration;
  maxAttempts?: number;
  afterUnknown?: ModifierCommand["after_unknown"];
  ifMatch?: ModifierCommand["if_match"];
  onConflict?: ModifierCommand["on_conflict"];
}

/** The effects of a write on one target; several apply in this order. */
export interface ModifyOptions extends WriteOptions {
  put?: unknown;
  merge?: Record<string, unknown>;
  patch?: Array<Record<string, unknown>>;
  set?: Record<string, unknown>;
  unset?: string[];
  add?: Record<string, number>;
  listAdd?: Record<string, unknown>;
  listRemove?: Record<string, unknown>;
  delete?: boolean;
}

export interface CreateOptions extends WriteOptions {
  /** JSON pointer to the list that shows the new row. */
  into?: string;
  /** Member with the id of a row; `id` without it. */
  key?: string;
}

export interface PutOptions extends SignalOptions {
  contentType?: string;
  ttl?: Duration;
  pin?: boolean;
  /** Writes only if the entry has this tag. */
  ifMatch?: string;
  /** Writes only a new entry. */
  onlyNew?: boolean;
}

export interface PutReceipt {
  isNew: boolean;
  etag?: string;
  rev?: number;
}

export interface PrefetchOptions extends SignalOptions {
  /** Time after which the set ends; without it, it does not end. */
  expires?: Duration;
  /** Interval at which the daemon asks the origins again. */
  refresh?: Duration;
  /** Whether the daemon only looks up sizes: nothing is made and no body is fetched. */
  dryRun?: boolean;
  /** Time to wait until the set is no longer `filling`. */
  wait?: Duration;
}

export interface Credential {
  /** The whole value of the header field. */
  value: string;
  /** Name of the header field; `Authorization` without it. */
  header?: string;
  expires?: Date | string;
}

/** The writes of one row that wait or have failed; `id` is null if the row has none. */
export interface Mark {
  id: string | null;
  pending: string[];
  failed: string[];
}

/** Items for `for await`. The connection ends with the loop, with `close` or with the signal. */
export interface Stream<T> extends AsyncIterableIterator<T> {
  next(): Promise<IteratorResult<T, undefined>>;
  return(): Promise<IteratorResult<T, undefined>>;
  close(): void;
}

/** An entry at one moment, with its body. */
export class Snapshot {
  private constructor();
  readonly type: "snapshot";
  readonly id: string;
  readonly status: number;
  readonly mediaType: string | null;
  readonly etag: string | null;
  readonly rev: number;
  /** `cache`, `network`, or `modifier` if only writes made it. */
  readonly source: string;
  readonly stale: boolean;
  /** Milliseconds since the origin gave or confirmed it. */
  readonly age: number;
  /** Number of its writes that wait. */
  readonly pending: number;
  readonly pendingIds: string[];
  /** Number of its writes that failed. */
  readonly failed: number;
  /** Whether nothing of it was evicted; `missing` has JSON pointers to what was. */
  readonly complete: boolean;
  readonly missing: string[];
  /** Marks by JSON pointer; none if a large body has changed after its snapshot was sent. */
  readonly marks: Map<string, Mark>;
  /** Rows that refused writes would have added, as they were written. */
  readonly failedRows: FailedRow[];
  readonly entry: Snapshot;
  /** The bytes. JSON of a view has spaces in place of line breaks; `save` has the exact bytes. */
  readonly content: Uint8Array;
  /** The text in the charset of the media type; UTF-8 without one, or if it is unknown. */
  readonly text: string;
  /** The value of a JSON body, which is UTF-8; the same object each time. */
  json(): any;
  /** The rows of the list at a JSON pointer, each with its mark. */
  rows(pointer?: string): Array<[row: any, mark: Mark]>;
}

/** A view without a body of its own. */
export interface BodilessView {
  /** The snapshot that stays valid; null if there is none. */
  readonly entry: Snapshot | null;
  /** The rows of that snapshot. */
  rows(pointer?: string): Array<[row: any, mark: Mark]>;
}

/** The network or the daemon fails; the last snapshot stays valid. */
export interface FailureView extends BodilessView {
  readonly type: "failure";
  readonly problem: Problem;
}

/** What fetch and follow show. A type of a newer daemon is kept as it is. */
export type View =
  | Snapshot
  | (BodilessView & (UnchangedFrame | DeletedFrame | OriginFrame))
  | FailureView;

/** An event of a watch: a frame of the wire, or that changes were lost and all comes again. */
export type WatchEvent = WatchFrame | { type: "reset" };

/** A write: its state and its report, as last heard. */
export class Write {
  protected constructor();
  readonly id: string;
  readonly writeId: string;
  /** Such as `queued`, `confirmed`, `failed`; a state of a newer daemon is kept as text. */
  readonly state: ModifierState | "dropped";
  readonly report?: ModifierReport;
  readonly isSettled: boolean;
  /** The last answer of the origin. */
  readonly answer?: ModifierAnswer;
  /** Why it failed; undefined in other states. */
  readonly problem?: Problem;
  readonly conflict: ModifierConflict[];
  /** Asks for the state; with `wait` after it is settled or the time is over. */
  refresh(options?: SignalOptions & { wait?: Duration }): Promise<this>;
  /**
   * Waits until it is settled, also over restarts of the daemon, or until the time is over.
   * Without a time, and with Infinity, there is no limit. Throws a TypeError if the time cannot be
   * read.
   */
  wait(time?: Duration, options?: SignalOptions): Promise<this>;
  /** Takes it back; throws TooLate if the origin may have applied it. */
  cancel(options?: SignalOptions): Promise<this>;
  /** Sends it again. */
  retry(options?: SignalOptions): Promise<this>;
  /** Forgets it after it has failed. */
  drop(options?: SignalOptions): Promise<this>;
  /** Gives it up, although the origin may have applied it. */
  discard(options?: SignalOptions): Promise<this>;
  /** Ends a conflict: `mine` sends it over the value of the origin, `theirs` gives it up. */
  resolve(choice: "mine" | "theirs", options?: SignalOptions): Promise<this>;
}

/** A created thing, and the write that creates it; `id` is temporary first, and then real. */
export class Item extends Write {
  /** Text for the real id in URLs and JSON bodies of other writes. */
  readonly placeholder: string;
}

type Content = string | Uint8Array | Blob | AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
type Renew = (reason: RenewalReason) => Credential | string | Promise<Credential | string>;

/** A client of the daemon. It opens nothing before its first request. */
export class Larder {
  constructor(options?: ClientOptions);
  /** Ends all streams and requests. */
  close(): void;

  /** The entry of a URL with its body, or what is stored under another id. */
  get(url: string, options?: FetchOptions): Promise<Snapshot>;
  /** The views of a URL: the cached entry, then the network's word. */
  fetch(url: string, options?: FetchOptions): Stream<View>;
  /** The views of a URL, now and after each change. It goes on over restarts of the daemon. */
  follow(url: string, options?: FollowOptions): Stream<View>;
  /** The changes of entries, entities, writes, origins and sets. It goes on over restarts. */
  watch(options?: WatchOptions): Stream<WatchEvent>;

  /**
   * Stores bytes, a text or a stream under an id; they are on disk when it returns.
   * Throws a TypeError if the content is undefined or null.
   */
  put(id: string, content: Content, options?: PutOptions): Promise<PutReceipt>;
  /** Removes stored bytes, or forgets an origin's answer. */
  delete(id: string, options?: SignalOptions & { ifMatch?: string }): Promise<void>;
  /** Writes the exact bytes of a URL or a stored id to a file; returns their number. */
  save(
    url: string,
    path: string,
    options?: SignalOptions & { policy?: FetchPolicy },
  ): Promise<number>;
  /** Entries without their bytes. */
  entries(
    options?: SignalOptions & {
      prefix?: string;
      origin?: string;
      sort?: "id" | "size" | "age" | "used";
    },
  ): Stream<EntryItem>;
  /**
   * Pins an entry, which is then never evicted. Undefined: it was pinned before. With `refresh` the
   * daemon asks the origin again at that interval, also without a client.
   */
  pin(
    id: string,
    options?: SignalOptions & { wait?: Duration; refresh?: Duration },
  ): Promise<PinItem | undefined>;
  unpin(id: string, options?: SignalOptions): Promise<void>;
  pins(options?: SignalOptions): Stream<PinItem>;
  /**
   * Has URLs fetched in advance and pinned, as one set; a set of that name is replaced. An item may
   * also be a query. Throws Unavailable if the set has no room.
   */
  prefetch(
    name: string,
    urls: Iterable<string | PrefetchItem>,
    options?: PrefetchOptions,
  ): Promise<PrefetchReport>;
  /** What there is of a set, with each missing entry and its problem. */
  prefetched(name: string, options?: SignalOptions): Promise<PrefetchReport>;
  /** The sets, without their missing entries. */
  prefetches(options?: SignalOptions): Stream<PrefetchReport>;
  /** Removes a set; its entries become ordinary ones, unless something else keeps them. */
  removePrefetch(name: string, options?: SignalOptions): Promise<void>;

  /** Changes a URL, an entity or a stored id: here now, at its origin as soon as possible. */
  modify(target: string, options?: ModifyOptions): Promise<Write>;
  /** Writes several changes at the same time, as `POST /v1/modifiers` has them. */
  write(command: ModifierCommand, options?: SignalOptions): Promise<Write>;
  /** Creates a thing with a POST to a URL. It shows now, in the list at the pointer `into`. */
  create(url: string, value: Record<string, unknown>, options?: CreateOptions): Promise<Item>;
  /** The writes that wait and those that failed, or those in a state. */
  writes(options?: SignalOptions & { state?: string; lane?: string }): Stream<Write>;
  /** Writes that wait because another device has changed the same, with the values in dispute. */
  conflicts(options?: SignalOptions): Stream<Write>;

  setCredential(
    origin: string,
    credential: Credential | string,
    options?: SignalOptions,
  ): Promise<CredentialReport>;
  /**
   * Renews the credential of the account when the daemon asks, until the client is closed.
   * It does not keep the process alive.
   */
  provideCredential(
    origin: string,
    renew: Renew,
    options?: SignalOptions,
  ): { close(): void; readonly finished: Promise<void> };
}

export interface CreateFetchOptions extends ClientOptions {
  /** URLs under which requests go through the daemon; without it, every URL. */
  origins?: string[];
  /** When a read asks the network; without it, the policy of the origin's settings. */
  policy?: FetchPolicy;
  /** Whether writes are queued: the answer is 202, and `larder.modifier` is the write's id. */
  offlineWrites?: boolean;
  /**
   * Sends other URLs, reads with `integrity` or another `redirect` than `follow`, and all if no
   * daemon answers; null: without a daemon requests fail.
   */
  fallback?: typeof fetch | null;
}

/** Where an answer came from: `response.larder`. */
export interface LarderAnswer {
  readonly source: "cache" | "network";
  /** Milliseconds since the origin gave or confirmed it. */
  readonly age: number;
  readonly stale: boolean;
  readonly pending: number;
  readonly modifier?: string;
}

/** A function like `fetch` that sends the URLs of some origins through the daemon. */
export function createFetch(
  options?: CreateFetchOptions,
): (...arguments: Parameters<typeof fetch>) => Promise<Response & { larder?: LarderAnswer }>;

/** An error of the daemon, or of the way to it. A type of a newer daemon is kept as text. */
export class Problem extends Error {
  readonly type: ProblemType;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly hint: string;
  readonly requestId: string;
  /** Whether the same request may succeed later without a change. */
  readonly retryable: boolean;
  readonly originStatus?: number;
  readonly body?: any;
  /** All members of the problem, also those that only a newer daemon knows. */
  readonly members: Record<string, any>;
}
/** No daemon answers, or the user may not open its socket. */
export class NoDaemon extends Problem {}
/** Nothing is cached under the id, or there is no such write. */
export class Miss extends Problem {}
/** The origin says that the thing is gone. */
export class Gone extends Problem {}
/** The URL belongs to no origin, or there is no origin of the name. */
export class UnknownOrigin extends Problem {}
/** Only an administrator may do this. */
export class NotPermitted extends Problem {}
/** The origin cannot be reached now. */
export class Offline extends Problem {}
/** The origin refused, or its answer cannot be used; see `originStatus` and `body`. */
export class OriginFailed extends Problem {}
/** A body or a head is above a limit. */
export class TooLarge extends Problem {}
/** The daemon does not take the request as it is. */
export class Invalid extends Problem {}
/** The write was sent or settled before, or another program renews the credential. */
export class TooLate extends Problem {}
/** The daemon cannot do it now: no room, too much to do, an error of its storage. */
export class Unavailable extends Problem {}
/** The connection to the daemon ended within an answer. */
export class CutOff extends Unavailable {}
