// Made of schema/openapi.json by generate-wire.js; `npm run generate` makes it again.

import { Problem, classes } from "./lib/problem.js";

export class NoDaemon extends Problem {}
export class Miss extends Problem {}
export class Gone extends Problem {}
export class UnknownOrigin extends Problem {}
export class NotPermitted extends Problem {}
export class Offline extends Problem {}
export class OriginFailed extends Problem {}
export class TooLarge extends Problem {}
export class TooLate extends Problem {}
export class Invalid extends Problem {}
export class Unavailable extends Problem {}
export class CutOff extends Unavailable {}

classes.set("urn:larder:no-daemon", NoDaemon);
classes.set("urn:larder:miss", Miss);
classes.set("urn:larder:no-such-modifier", Miss);
classes.set("urn:larder:deleted", Gone);
classes.set("urn:larder:unknown-origin", UnknownOrigin);
classes.set("urn:larder:no-such-origin", UnknownOrigin);
classes.set("urn:larder:not-permitted", NotPermitted);
classes.set("urn:larder:unreachable", Offline);
classes.set("urn:larder:captive", Offline);
classes.set("urn:larder:offline", Offline);
classes.set("urn:larder:timeout", Offline);
classes.set("urn:larder:origin-status", OriginFailed);
classes.set("urn:larder:redirect-refused", OriginFailed);
classes.set("urn:larder:address-refused", OriginFailed);
classes.set("urn:larder:bad-answer", OriginFailed);
classes.set("urn:larder:not-applied", OriginFailed);
classes.set("urn:larder:body-too-large", TooLarge);
classes.set("urn:larder:head-too-large", TooLarge);
classes.set("urn:larder:entry-too-large", TooLarge);
classes.set("urn:larder:already-sent", TooLate);
classes.set("urn:larder:already-settled", TooLate);
classes.set("urn:larder:lease-over", TooLate);
classes.set("urn:larder:bad-request", Invalid);
classes.set("urn:larder:bad-id", Invalid);
classes.set("urn:larder:bad-url", Invalid);
classes.set("urn:larder:unknown-parameter", Invalid);
classes.set("urn:larder:unknown-member", Invalid);
classes.set("urn:larder:not-found", Invalid);
classes.set("urn:larder:method-not-allowed", Invalid);
classes.set("urn:larder:not-acceptable", Invalid);
classes.set("urn:larder:origin-id", Invalid);
classes.set("urn:larder:origin-exists", Invalid);
classes.set("urn:larder:origin-in-file", Invalid);
classes.set("urn:larder:precondition-failed", Invalid);
classes.set("urn:larder:range-not-satisfiable", Invalid);
classes.set("urn:larder:pinned", Invalid);
classes.set("urn:larder:no-such-set", Invalid);
classes.set("urn:larder:no-request", Invalid);
classes.set("urn:larder:unsupported", Invalid);
classes.set("urn:larder:not-a-read", Invalid);
classes.set("urn:larder:modifier-exists", Invalid);
classes.set("urn:larder:targeted", Invalid);
classes.set("urn:larder:since-too-old", Invalid);
classes.set("urn:larder:in-use", Unavailable);
classes.set("urn:larder:cache-full", Unavailable);
classes.set("urn:larder:disk-full", Unavailable);
classes.set("urn:larder:pins-full", Unavailable);
classes.set("urn:larder:queue-full", Unavailable);
classes.set("urn:larder:overloaded", Unavailable);
classes.set("urn:larder:shutting-down", Unavailable);
classes.set("urn:larder:storage", Unavailable);
classes.set("urn:larder:internal", Unavailable);
classes.set("urn:larder:cut-off", CutOff);
