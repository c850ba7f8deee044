// Errors: one class, with a subclass for each group of problem types, which wire.js has.

const START = `Begin in one of three ways:
  sudo adduser NAME larder-clients              (log in again)
  systemctl --user enable --now larder.socket   (works immediately)
  larderd &                                     (its socket in LARDER_SOCKET)`;

/** The class of each type that this version knows; wire.js fills it. */
export const classes = new Map();

export class Problem extends Error {
  constructor(type, detail, members = {}) {
    const text = detail || members.title || type;
    super(members.hint ? `${text.replace(/[^.?]$/, "$&.")} ${members.hint}` : text);
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

/** A problem that the client itself has found. */
export function found(name, detail, members) {
  return Problem.of({ ...members, type: `urn:larder:${name}`, detail });
}

export function noDaemon(failures) {
  const tried = failures.map(({ path, reason }) => `${path} (${reason})`).join(", ");
  const retryable = !failures.some(({ isDenied }) => isDenied);
  return found("no-daemon", `No larderd answers at ${tried}.`, { retryable, hint: START });
}

export const cutOff = (detail) => found("cut-off", detail, { retryable: true, hint: "Try again." });
export const badAnswer = (detail) => found("bad-answer", detail);
export const clientClosed = () => found("client-closed", "The client is closed.");
