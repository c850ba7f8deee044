// Made of schema/openapi.json by generate-wire.js; `npm run generate` makes it again.

/** Source of an answer. */
export type AnswerSource = "cache" | "network" | "modifier" | (string & {});

/** An account needs a credential at an origin, or has it. */
export type AuthFrame = {
  type: "auth";
  /** Revision up to which everything was told. */
  rev: number;
  /** Name of the origin. */
  origin: string;
  /** Name of the account. */
  account: string;
  /** Whether the credential is needed. */
  state: string;
};

/** Everything up to a revision was told. */
export type BookmarkFrame = {
  type: "bookmark";
  /** The revision. */
  rev: number;
  /** Whether everything was told that there was when the watch began; omitted if not. */
  initial_done?: boolean;
};

/** An entry or an entity has another value, or is deleted. */
export type ChangeFrame = {
  type: "put" | "delete";
  /** Revision of the change. */
  rev: number;
  /** Id of the entry or entity. */
  id: string;
  /** Source of the change: `client`, `network`, `modifier`. */
  source: string;
  /** Ids of the entities whose changes it shows; omitted if there are none. */
  changed?: Array<string>;
  /** Cause of the change: `modifier:ID` or `fetch:URL`; omitted without a cause. */
  cause?: string;
  /** Whether the watcher changed it itself, by its `Larder-Client` header; omitted if not. */
  self?: boolean;
  /** Number of changes that the frame stands for; omitted for one. */
  coalesced?: number;
  /** Whether the frame tells what there was when the watch began; omitted if not. */
  initial?: boolean;
  /** Whether more of the revision follows, so that it cannot be used as `since` yet; omitted if not. */
  more?: boolean;
};

/** The next step of a modifier if another device has changed the same. */
export type ConflictRule = "rebase" | "server" | "client" | "manual" | (string & {});

/** A credential that a user gives for an account at an origin. */
export type CredentialCommand = {
  /** Name of the account; without it, the default one. */
  account?: string;
  /** Name of the header field; without it, `Authorization`. */
  header?: string;
  /** The secret: the whole value of the header field, up to 16 KiB. */
  value?: string;
  /** Absolute path of a file that has the value on one line, instead of `value`: for a daemon of the user's own, which reads it again when it changes. */
  file?: string;
  /** Time until which the origin is likely to take it. */
  expires?: string;
  /** Lease of the order to renew; without it, the credential counts in any case. */
  lease?: string;
};

/** The credential of an account at an origin, without its value. */
export type CredentialReport = {
  /** Name of the account. */
  account: string;
  /** Giver of the credential that requests of the account carry; null if they carry none. */
  source: CredentialSource | null;
  /** Name of its header field; null if there is none. */
  header: string | null;
  /** Time at which the user set it; null for another source. */
  set_at: string | null;
  /** Time until which it is likely to be taken, as the user said; null if unknown. */
  expires: string | null;
  /** Whether the origin's last answer refused it, with 401 or 407. */
  refused: boolean;
  /** Number of the account's modifiers at the origin that are not sent yet. */
  waiting: number;
};

/** The giver of a credential. */
export type CredentialSource = "user" | "configuration" | "origin" | (string & {});

/** The URL is gone. */
export type DeletedFrame = {
  type: "deleted";
  /** Source of the deletion. */
  source: AnswerSource;
  /** Revision of the deletion. */
  rev: number;
  /** 404 or 410. */
  status: number;
};

/** Nothing follows. */
export type EndFrame = {
  type: "end";
  /** The last word on the fetch. */
  outcome: FetchOutcome;
  /** Revision of the last frame. */
  rev?: number;
  /** Times of the parts of the answer. */
  timing: FetchTiming;
};

/** A row of a list: an entry or an entity without its bytes. */
export type EntryItem = {
  /** Id of the entry or entity. */
  id: string;
  /** Number of the user whose row it is; only in lists of other users' rows. */
  user?: number;
  /** Name of the account, with `user`. */
  account?: string;
  /** True for a row that all users share; only in lists of other users' rows. */
  shared?: boolean;
  /** Kind of the entry. */
  kind: EntryKind;
  /** Name of the origin; null for a client's own entry. */
  origin: string | null;
  /** Status of the answer. */
  status: number;
  /** Media type of the body; null if none was given. */
  media_type: string | null;
  /** Length of the body in bytes. */
  body_bytes: number;
  /** Accounted size: body, id, headers, references and the fixed cost of rows. */
  accounted_bytes: number;
  /** Time when the bytes were stored or confirmed. */
  stored_at: string;
  /** Time until which the entry is fresh; null if the answer gave none. */
  fresh_until: string | null;
  /** Whether the entry is not fresh. */
  stale: boolean;
  /** Revision of the entry. */
  rev: number;
  /** Validator of the entry. */
  etag: string;
  /** Whether the entry is pinned. */
  pinned: boolean;
  /** `modifier` if unsettled modifiers made or deleted the entry, else `cache`. */
  source: AnswerSource;
};

/** Kind of an entry. */
export type EntryKind = "blob" | "fetched" | "tombstone" | "variants" | "entity" | (string & {});

/** An entry or an entity was evicted. */
export type EvictFrame = {
  type: "evict";
  /** Revision of the eviction. */
  rev: number;
  /** Id of the entry or entity. */
  id: string;
  /** Why it was evicted. */
  reason: string;
  /** Whether the watcher evicted it itself, by its `Larder-Client` header; omitted if not. */
  self?: boolean;
  /** Whether more of the revision follows, so that it cannot be used as `since` yet; omitted if not. */
  more?: boolean;
};

/** An entity that a failed modifier would have put into an entry. */
export type FailedRow = {
  /** Id of the entity. */
  id: string;
  /** Id of the modifier. */
  modifier: string;
  /** The object as it was written. */
  value: any;
};

/** A line of a fetch. A stream ends with `end`; without it, the stream was cut off. */
export type FetchFrame = SnapshotFrame | UnchangedFrame | DeletedFrame | ProblemFrame | OriginFrame | HeartbeatFrame | EndFrame;

/** The last word on a fetch. */
export type FetchOutcome = "network" | "unchanged" | "deleted" | "cache" | "error" | "shutdown" | (string & {});

/** When a fetch asks the network, and when it shows the cached answer. */
export type FetchPolicy = "cache-then-network" | "cache-first" | "network-first" | "stale-while-revalidate" | "cache-only" | "network-only" | (string & {});

/** Times in milliseconds. */
export type FetchTiming = {
  /** Time of the cache; omitted if it was not asked. */
  cache_ms?: number;
  /** Time of the network; omitted if it was not asked. */
  network_ms?: number;
};

/** An entry with its body. */
export type FrameEntry = {
  /** Id of the entry. */
  id: string;
  /** Status of the answer. */
  status: number;
  /** Media type of the body; null if none was given. */
  media_type: string | null;
  /** Validator of the entry. */
  etag: string;
  /** Time when the bytes were stored or confirmed. */
  stored_at: string;
  /** The body, if it is JSON; line ends in it are spaces. */
  body?: any;
  /** The body in Base64, if it is not JSON. */
  body_b64?: string;
  /** The path of the body, if it is too large for a frame. */
  body_href?: string;
};

/** The stream is alive. */
export type HeartbeatFrame = {
  type: "heartbeat";
  /** Revision up to which everything was told. */
  rev: number;
};

/** The client was too slow. */
export type LaggedFrame = {
  type: "lagged";
  /** Revision of the first change that was not told. */
  rev: number;
  /** The value of `since` that asks for what was not told. */
  dropped_after: number;
};

/** Whether an If-Match protects what other devices wrote. */
export type MatchRule = "auto" | "strict" | "none" | (string & {});

/** The last answer of the origin to a modifier. */
export type ModifierAnswer = {
  /** Status of the answer. */
  status: number;
  /** Time of the answer. */
  at: string;
  /** `Content-Type`, `Location`, `ETag`, `Date` and the fields that the origin's `keep_headers` names. */
  headers: { [name: string]: string };
  /** The first 64 KiB of its body: JSON as it is, anything else as a string. */
  body: any;
  /** Status of the first answer that left open whether the modifier was applied; null without one. */
  unclear_status: number | null;
};

/** A change of one target. */
export type ModifierChange = {
  /** The entry or entity. */
  target: TargetName;
  /** The effect: an object with `type` and the members of that type. */
  effect?: any;
  /** Several effects in place of one, applied in this order: all of them or none; 1 to 100. */
  effects?: Array<any>;
};

/** A modifier: changes of entries here, and the request that makes them at the origin. */
export type ModifierCommand = {
  /** Id of the modifier, which makes a repeated request the same; without it, the daemon's choice. */
  id?: string;
  /** Changes, at most 100 and one for each target. */
  changes?: Array<ModifierChange>;
  /** The request; without it, it follows from a single change of put, merge, patch or delete. */
  request?: ModifierRequestCommand;
  /** Name of the account; without it, the default one. */
  account?: string;
  /** Name of a further lane. */
  lane?: string;
  /** Ids of modifiers that are confirmed before; at most 100. */
  depends_on?: Array<string>;
  /** Time for which it is held back, so that it can be cancelled. */
  hold?: string;
  /** Time limit of its first attempt. */
  expires?: string;
  /** Number of attempts before it fails; without it, no limit. */
  max_attempts?: number;
  /** The next step if it may have reached the origin; without it, by the origin's rule. */
  after_unknown?: UnknownRule;
  /** Whether an If-Match protects what others wrote; without it, by the origin's rule. */
  if_match?: MatchRule;
  /** The next step if another device has changed the same; without it, by the origin's rule. */
  on_conflict?: ConflictRule;
};

/** A target of a modifier that another device has changed, too. Each value is an object with the places that the modifier assigns to: JSON pointers (RFC 6901), of which the empty one is the whole. A place without a value is left out. Null stands for a deleted target. */
export type ModifierConflict = {
  /** Id of the entry or entity. */
  id: string;
  /** The values when the modifier was accepted; omitted if not known or too long. */
  base?: any;
  /** The values that the modifier makes; omitted if not known or too long. */
  mine?: any;
  /** The values at the origin; omitted if not known or too long. */
  theirs?: any;
};

/** A modifier has another state. */
export type ModifierFrame = {
  type: "modifier";
  /** Revision of the change. */
  rev: number;
  /** Id of the modifier. */
  id: string;
  /** The state. */
  state: ModifierState;
  /** Why it was settled without being confirmed. */
  reason?: ModifierReason;
  /** Whether it failed again and again; omitted if not. */
  stalled?: boolean;
  /** Whether a dead letter was dropped; omitted if not. */
  dropped?: boolean;
  /** Whether the origin has confirmed it and a shared row does not show it yet; omitted if not. */
  answered?: boolean;
  /** Whether it was edited: its state is as before, also where that is `failed`; omitted if not. */
  edited?: boolean;
  /** Entries and entities that the modifier changes. */
  targets?: Array<TargetName>;
  /** Entries and entities that it changed and does not change any more. */
  reverted?: Array<TargetName>;
  /** The problem for which it failed. */
  problem?: any;
  /** The origin's answer as in the report of the modifier, with the first 2 KiB of the body; only when it settles. */
  answer?: any;
  /** Of a conflict: its targets as they were, as the modifier wants them, and as they are. */
  conflict?: Array<ModifierConflict>;
  /** Whether the watcher changed it itself, by its `Larder-Client` header; omitted if not. */
  self?: boolean;
  /** Whether more of the revision follows, so that it cannot be used as `since` yet; omitted if not. */
  more?: boolean;
};

/** A condition that holds in addition to the state. */
export type ModifierMark = "paused" | "stalled" | "inapplicable" | "answered" | (string & {});

/** Why a modifier was settled without being confirmed. */
export type ModifierReason = "attempts" | "expired" | "refused" | "conflict" | "parent_failed" | "unreadable" | "discarded" | "cancelled" | (string & {});

/** A modifier: its request, its state and what it changes. */
export type ModifierReport = {
  /** Id of the modifier. */
  id: string;
  /** State of the modifier. */
  state: ModifierState;
  /** Why it was settled without being confirmed; null in other states. */
  reason: ModifierReason | null;
  /** Conditions that hold in addition to the state. */
  marks: Array<ModifierMark>;
  /** Lanes that send it in order: `id:ID`, `name:NAME`. */
  lanes: Array<string>;
  /** Entries and entities that the modifier changes; in the history the first 16. */
  targets: Array<ModifierTarget>;
  /** Changes with their effects, up to 1 MiB of them, in lists 64 KiB; omitted in the history, and in lists except of failed modifiers. */
  changes?: Array<ModifierChange>;
  /** Number of changes after those that fit; omitted where `changes` has all. */
  more_changes?: number;
  /** Request to the origin. */
  request: ModifierRequest;
  /** Id of the modifier whose request makes its changes, too; omitted without one. */
  joined_into?: string;
  /** Number of attempts that count. */
  attempts: number;
  /** Time of the next attempt; null without one. */
  next_attempt_at: string | null;
  /** Why it is not sent now; omitted if nothing keeps it. */
  waiting_for?: ModifierWait;
  /** The last answer of the origin; omitted without one. */
  answer?: ModifierAnswer;
  /** Of a conflict: its targets as they were, as the modifier wants them, and as they are. */
  conflict?: Array<ModifierConflict>;
  /** Ids of modifiers that depend on it. */
  dependants: Array<string>;
  /** Number of the user whose modifier it is. */
  user: number;
  /** Name of the account. */
  account: string;
  /** Time when it was accepted. */
  accepted_at: string;
  /** Time when it was settled; null before. */
  settled_at: string | null;
  /** Revision of its last change. */
  rev: number;
};

/** The request of a modifier. */
export type ModifierRequest = {
  /** Method of the request. */
  method: string;
  /** URL of the request. */
  url: string;
  /** Length of the body in bytes. */
  body_bytes: number;
  /** The key that tells a repeated request from another. */
  idempotency_key: string;
  /** Header fields of the request without `Content-Type`; omitted where `modifier_report/changes` are. */
  headers?: { [name: string]: string };
  /** Media type of the body. */
  content_type?: string;
  /** The first 1 MiB of the body, in lists 64 KiB: JSON as it is, anything else as a string; null without a body. */
  body?: any;
};

/** The request of a modifier, with at most one body. */
export type ModifierRequestCommand = {
  /** Method of the request. */
  method: string;
  /** URL of the request, which belongs to an origin. */
  url: string;
  /** Header fields of the request. */
  headers?: { [name: string]: string };
  /** The body, if it is JSON. */
  body?: any;
  /** The body, if it is a text. */
  body_text?: string;
  /** The body in Base64. */
  body_b64?: string;
  /** Id of the entry that has the body. */
  body_entry?: string;
};

/** State of a modifier. */
export type ModifierState = "held" | "queued" | "in_flight" | "confirmed" | "accepted" | "retry_wait" | "unknown" | "auth_wait" | "conflict" | "failed" | "cancelled" | (string & {});

/** A target of a modifier, with its view without the modifier and with it. */
export type ModifierTarget = {
  /** Id of the entry or entity. */
  id: string;
  /** View of the target without the modifier; only if one modifier is shown. */
  before?: ViewReport;
  /** View of the target with the modifier; of a dead letter, as it was when it died. */
  after?: ViewReport;
};

/** Why a modifier is not sent now. */
export type ModifierWait = {
  /** The reason: `hold`, `lane`, `paused`, `dependency`, `backoff`, `credential`, `decision`, `offline`, `captive`, `set_offline`, `retry_after`, `turn`, `answer` or `confirmation`. */
  reason: string;
  /** The lane, modifier, origin or account that it waits for. */
  name: string | null;
  /** Time when the wait ends; null if no time ends it. */
  until: string | null;
};

/** An origin is in another state. */
export type OriginFrame = {
  type: "origin";
  /** Revision up to which everything was told. */
  rev: number;
  /** Name of the origin. */
  origin: string;
  /** The state. */
  state: OriginState;
};

/** State of an origin by the last requests. */
export type OriginState = "unknown" | "online" | "offline" | "captive" | (string & {});

/** A pin without its bytes. */
export type PinItem = {
  /** Id of the entry that is pinned. */
  id: string;
  /** Whether the bytes are kept, and if not, why. */
  state: PinState;
  /** Name of the origin that the entry is fetched from; null for a client's own entry. */
  origin: string | null;
  /** Length of the body in bytes; null while there is none. */
  body_bytes: number | null;
  /** Time of the request that pinned the entry. */
  pinned_at: string;
  /** Time when the bytes were stored; null while there are none. */
  stored_at: string | null;
  /** Revision of the bytes; null while there are none. */
  rev: number | null;
  /** Type of the problem for which the pin is neither held nor waiting; in a 202, of the problem that the fetch met. */
  problem: string | null;
  /** The problem in one sentence. */
  reason: string | null;
  /** The reasons for which it is kept: `pin` if a client has pinned it, and `prefetch:NAME` for each set. */
  kept_by: Array<string>;
  /** The shortest interval that a follower of this user or the pin asks for; null without one. */
  refresh: string | null;
  /** Time of the next request; null while there is none. */
  next_refresh_at: string | null;
  /** Reason why no request leaves now; null if one may. */
  refresh_paused_by: RefreshPause | null;
};

/** Whether the bytes of a pin are kept. */
export type PinState = "held" | "waiting" | "too_large" | "gone" | "failed" | (string & {});

/** Entities of a type that are in the cache, the most recently used first. The origin's `normalize` has the URL of the type. */
export type PrefetchEntities = {
  /** Name of the origin. */
  origin: string;
  /** The type. */
  type: string;
  /** Number of entities. */
  limit?: number;
};

/** An entry of a set that is missing, and why. */
export type PrefetchFailure = {
  /** Id of the entry. */
  id: string;
  /** The problem; if it is retryable, the daemon tries again by itself. */
  problem: Problem;
};

/** A set of entries that are fetched in advance has another state. */
export type PrefetchFrame = {
  type: "prefetch";
  /** Revision up to which everything was told. */
  rev: number;
  /** Name of the set. */
  name: string;
  /** Name of the account whose set it is. */
  account: string;
  /** The state. */
  state: PrefetchState;
};

/** An entry of a set, or a query; one of the members is given. */
export type PrefetchItem = {
  /** URL of the entry, of a configured origin. */
  url?: string;
  /** The entities that are known, each by its own URL. */
  entities?: PrefetchEntities;
};

/** The state of a set of entries that are fetched in advance. */
export type PrefetchReport = {
  /** Name of the set. */
  name: string;
  /** Whether everything is held. */
  state: PrefetchState;
  /** Number of entries. */
  items: number;
  /** Number of entries whose bytes are kept. */
  held: number;
  /** Entries that are missing and cannot be fetched now; omitted in a list of sets. */
  failed?: Array<PrefetchFailure>;
  /** Length in bytes of the bodies that are kept. */
  bytes: number;
  /** Length in bytes of all bodies, as far as it was known before they were fetched. */
  estimated_bytes: number;
  /** Number of entries whose size was not known before they were fetched. */
  unknown_sizes: number;
  /** Interval at which the daemon asks the origins again; null without one. */
  refresh: string | null;
  /** Time at which the set ends; null if it does not. */
  expires_at: string | null;
};

/** Whether all entries of a set are held. */
export type PrefetchState = "filling" | "ready" | "incomplete" | "planned" | "expired" | "removed" | (string & {});

/** An error, as RFC 9457 has it: the body of every answer of 400 and more, and a member of some frames and reports. */
export type Problem = {
  /** The kind of the problem, for programs: `urn:larder:not-found`. */
  type: ProblemType;
  /** The meaning of the type, always in the same words. */
  title: string;
  /** The status of the answer; in a frame or a report, the status that it would have had. */
  status: number;
  /** This occurrence in one sentence. */
  detail: string;
  /** The request that failed, as the daemon's log names it. */
  request_id: string;
  /** Whether the same request may succeed later without a change. */
  retryable: boolean;
  /** The next step in one sentence. */
  hint: string;
  /** The status of the origin's answer, for `urn:larder:origin-status`, `urn:larder:deleted`, `urn:larder:timeout` in the middle of a body, and `urn:larder:entry-too-large` of a 2xx that is not kept. */
  origin_status?: number;
  /** The path that passes the answer through, for `urn:larder:entry-too-large` of a fetch. */
  raw_href?: string;
  /** The oldest revision that a watch can begin after, for `urn:larder:since-too-old`. */
  oldest?: number;
  /** The bytes that a set needs, for `urn:larder:pins-full` of a set. */
  needed_bytes?: number;
  /** The bytes that are free for pins of the user, for `urn:larder:pins-full` of a set. */
  free_bytes?: number;
  /** The place in the origin's body that makes it a refusal, a JSON pointer (RFC 6901), for `urn:larder:origin-status` of a 2xx. */
  pointer?: string;
  /** The first 64 KiB of an origin's refusal: JSON as it is, anything else as a string. */
  body?: any;
};

/** The network failed after an answer of the cache. */
export type ProblemFrame = {
  type: "problem";
  /** Always `network`. */
  source: AnswerSource;
  /** The problem. */
  problem: Problem;
};

export type ProblemType = "urn:larder:bad-request" | "urn:larder:bad-id" | "urn:larder:bad-url" | "urn:larder:unknown-parameter" | "urn:larder:unknown-member" | "urn:larder:not-found" | "urn:larder:method-not-allowed" | "urn:larder:not-acceptable" | "urn:larder:body-too-large" | "urn:larder:head-too-large" | "urn:larder:unknown-origin" | "urn:larder:not-permitted" | "urn:larder:origin-id" | "urn:larder:no-such-origin" | "urn:larder:origin-exists" | "urn:larder:origin-in-file" | "urn:larder:entry-too-large" | "urn:larder:cache-full" | "urn:larder:disk-full" | "urn:larder:precondition-failed" | "urn:larder:range-not-satisfiable" | "urn:larder:lease-over" | "urn:larder:pinned" | "urn:larder:no-such-set" | "urn:larder:pins-full" | "urn:larder:no-request" | "urn:larder:unsupported" | "urn:larder:not-a-read" | "urn:larder:modifier-exists" | "urn:larder:no-such-modifier" | "urn:larder:already-sent" | "urn:larder:already-settled" | "urn:larder:in-use" | "urn:larder:queue-full" | "urn:larder:targeted" | "urn:larder:not-applied" | "urn:larder:miss" | "urn:larder:deleted" | "urn:larder:since-too-old" | "urn:larder:unreachable" | "urn:larder:captive" | "urn:larder:offline" | "urn:larder:timeout" | "urn:larder:origin-status" | "urn:larder:redirect-refused" | "urn:larder:address-refused" | "urn:larder:bad-answer" | "urn:larder:overloaded" | "urn:larder:shutting-down" | "urn:larder:storage" | "urn:larder:internal" | (string & {});

/** Reason why no request for a refresh leaves. */
export type RefreshPause = "offline" | "captive" | "set_offline" | "retry_after" | "credential" | (string & {});

/** A thing with a temporary id has the id that its origin gave it. */
export type RemappedFrame = {
  type: "remapped";
  /** Revision of the change. */
  rev: number;
  /** The id with the temporary name, which still leads to the thing. */
  from: string;
  /** The id from now on. */
  to: string;
  /** Whether more of the revision follows, so that it cannot be used as `since` yet; omitted if not. */
  more?: boolean;
};

/** The order to renew the credential of an account, which one client has at a time. */
export type RenewalOrder = {
  /** Why it has to be renewed. */
  reason: RenewalReason;
  /** The lease that goes with the new credential; it is good for 30 s. */
  lease: string;
};

/** Why a credential has to be renewed. */
export type RenewalReason = "expiring" | "refused" | (string & {});

/** An entry at one moment. */
export type SnapshotFrame = {
  type: "snapshot";
  /** Source of the answer. */
  source: AnswerSource;
  /** Revision of the entry. */
  rev: number;
  /** Whether the entry is not fresh. */
  stale: boolean;
  /** Age of the entry in milliseconds. */
  age_ms: number;
  /** Number of unsettled modifiers that change the entry. */
  pending: number;
  /** Ids of those modifiers. */
  pending_ids: Array<string>;
  /** Number of modifiers that failed on the entry. */
  failed: number;
  /** Whether nothing of the entry was evicted. */
  complete: boolean;
  /** JSON Pointers to the entities that were evicted; omitted if the entry is complete. */
  missing?: Array<string>;
  /** Entities in the entry on which modifiers wait or have failed, at most 1000; omitted if there are none. */
  rows?: Array<SnapshotRow>;
  /** Entities that failed modifiers would have put into the entry; omitted if there are none. */
  failed_rows?: Array<FailedRow>;
  /** The entry. */
  entry: FrameEntry;
};

/** An entity in an entry on which modifiers wait or have failed. */
export type SnapshotRow = {
  /** JSON Pointer (RFC 6901) to the entity in the body. */
  pointer: string;
  /** Id of the entity. */
  id: string;
  /** Ids of the unsettled modifiers that change it, at most 100. */
  pending: Array<string>;
  /** Ids of the modifiers that failed on it, at most 100. */
  failed: Array<string>;
};

/** The entry or entity that a change is of. */
export type TargetName = {
  /** Id of the entry or entity. */
  id: string;
};

/** The origin has what the client was shown. */
export type UnchangedFrame = {
  type: "unchanged";
  /** Always `network`. */
  source: AnswerSource;
  /** Revision of the entry. */
  rev: number;
  /** Status of the origin's answer: 304, or 200 with the same bytes. */
  status: number;
};

/** The next step of a modifier that may have reached its origin. */
export type UnknownRule = "auto" | "resend" | "hold" | (string & {});

/** The value of a target, as clients see it. */
export type ViewReport = {
  /** Whether there is a value. */
  state: ViewState;
  /** Whether nothing of the value was evicted. */
  complete?: boolean;
  /** The value, if it is JSON. */
  body?: any;
  /** Length of the value in bytes, if it is not JSON. */
  body_bytes?: number;
};

/** Whether a target shows a value. */
export type ViewState = "unknown" | "deleted" | "value" | (string & {});

/** Nothing follows. */
export type WatchEndFrame = {
  type: "end";
  /** Why the stream ends. */
  outcome: WatchOutcome;
  /** The value of `since` that asks for what follows; omitted if the first list was not told to its end. */
  rev?: number;
};

/** A line of a watch. */
export type WatchFrame = ChangeFrame | EvictFrame | ModifierFrame | RemappedFrame | OriginFrame | AuthFrame | PrefetchFrame | BookmarkFrame | LaggedFrame | HeartbeatFrame | WatchEndFrame;

/** A kind of frames that a watch can ask for. */
export type WatchKind = "put" | "delete" | "evict" | "modifier" | "remapped" | "auth" | "origin" | "prefetch" | (string & {});

/** Why a watch ends. */
export type WatchOutcome = "shutdown" | "timeout" | (string & {});
