// Errors: one class, with a subclass for each group of problem types.

const START = `Begin in one of two ways:
  sudo adduser NAME larder-clients              (log in again)
  systemctl --user enable --now larder.socket   (works immediately)`;

export class Problem extends Error {
  constructor(type, detail, members = {}) {
    super([detail || members.title || type, members.hint].filter(Boolean).join(" "));
    this.name = this.constructor.name;
    this.type = type;
    this.detail = detail;
    this.title = members.title ?? "";
    this.status = members.status ?? 0;
    this.hint = members.hint ?? "";
    this.requestId = members.request_id ?? "";
    this.retryable = members.retryable ?? false;
    this.originStatus = members.origin_status;
    this.body = members.body;
    this.members = members;
  }

  /** The problem as the daemon sent it, in the class of its type. */
  static of({ type = "about:blank", detail = "", ...members }) {
    return new (classes.get(type) ?? Problem)(type, detail, members);
  }
}

export class NoDaemon extends Problem {}
export class Miss extends Problem {}
export class Gone extends Problem {}
export class UnknownOrigin extends Problem {}
export class NotPermitted extends Problem {}
export class Offline extends Problem {}
export class OriginFailed extends Problem {}
export class TooLarge extends Problem {}
export class Invalid extends Problem {}
export class TooLate extends Problem {}
export class Unavailable extends Problem {}
export class CutOff extends Unavailable {}

const groups = [
  [Miss, "miss no-such-modifier"],
  [Gone, "deleted"],
  [UnknownOrigin, "unknown-origin no-such-origin"],
  [NotPermitted, "not-permitted"],
  [Offline, "unreachable captive offline timeout"],
  [OriginFailed, "origin-status redirect-refused address-refused bad-answer not-applied"],
  [TooLarge, "body-too-large head-too-large entry-too-large"],
  [TooLate, "already-sent already-settled lease-over"],
  [Invalid, "bad-request bad-id bad-url unknown-parameter unknown-member not-found"],
  [Invalid, "method-not-allowed not-acceptable origin-id origin-exists origin-in-file"],
  [Invalid, "precondition-failed pinned no-request unsupported modifier-exists targeted"],
  [Invalid, "since-too-old"],
  [Unavailable, "cache-full disk-full pins-full queue-full in-use overloaded shutting-down"],
  [Unavailable, "storage internal"],
];

/** The class of each problem type that this version knows. */
export const classes = new Map(
  groups.flatMap(([group, names]) => names.split(" ").map((name) => [`urn:larder:${name}`, group])),
);

export function cutOff(detail) {
  return new CutOff("urn:larder:cut-off", detail, { retryable: true, hint: "Try again." });
}

export function noDaemon(failures) {
  const tried = failures.map(({ path, reason }) => `${path} (${reason})`).join(", ");
  const retryable = !failures.some(({ isDenied }) => isDenied);
  const members = { retryable, hint: START };
  return new NoDaemon("urn:larder:no-daemon", `No larderd answers at ${tried}.`, members);
}

export function badAnswer(detail) {
  return Problem.of({ type: "urn:larder:bad-answer", detail });
}

export function clientClosed() {
  return new Problem("urn:larder:client-closed", "The client is closed.");
}
