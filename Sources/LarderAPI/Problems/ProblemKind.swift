import LarderJSON
import LarderModel

/// A kind of problem: a row of the table below, or a kind that only a newer daemon knows.
///
/// The table is the only place that has a kind's status, exit code, title and hint.
package struct ProblemKind: RawRepresentable, CaseIterable, Hashable, Sendable {
    static let prefix = "urn:larder:"

    /// The part of a problem's type after `urn:larder:`.
    package let rawValue: String
    /// The status of the answer, unless a route gives another.
    package let status: Int
    /// The code with which a command ends.
    package let exit: ExitStatus
    /// Whether the same request may succeed later without a change.
    package let isRetryable: Bool
    package private(set) var title = ""
    /// The next step, unless a route knows a better one.
    package private(set) var hint = ""

    init(
        _ name: String,
        _ status: Int,
        _ exit: ExitStatus = .failed,
        retryable isRetryable: Bool = false
    ) {
        rawValue = name
        self.status = status
        self.exit = exit
        self.isRetryable = isRetryable
    }

    /// The row of this name.
    package init?(rawValue: String) {
        guard let row = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
        self = row
    }

    /// The row of a problem's type.
    package init?(type: String) {
        guard type.hasPrefix(Self.prefix) else { return nil }
        self.init(rawValue: String(type.dropFirst(Self.prefix.count)))
    }

    func title(_ title: String) -> ProblemKind {
        var kind = self
        kind.title = title
        return kind
    }

    func hint(_ hint: String) -> ProblemKind {
        var kind = self
        kind.hint = hint
        return kind
    }
}

/// The exit codes of every command, as sysexits(3) and the manual have them.
package enum ExitStatus: Int32, Sendable {
    case failed = 1
    case notFound = 3
    case usage = 64
    case noDaemon = 69
    /// Only while the network or the origin cannot be reached, or is late.
    case nothingToShow = 75
    case notPermitted = 77
    case badConfiguration = 78
}

extension ProblemKind {
    // The daemon cannot understand the request.

    package static let badRequest = ProblemKind("bad-request", 400, .usage)
        .title("The request cannot be understood")
        .hint("Correct what the detail names.")
    package static let badID = ProblemKind("bad-id", 400, .usage)
        .title("The id cannot be taken")
        .hint(
            "Give 1 to 8192 bytes of UTF-8 without control characters, percent-encoded, / as %2F."
        )
    package static let badURL = ProblemKind("bad-url", 400, .usage)
        .title("The URL cannot be fetched")
        .hint("Give an absolute http or https URL without a user name.")
    package static let unknownParameter = ProblemKind("unknown-parameter", 400, .usage)
        .title("A query parameter is unknown")
        .hint("Leave the parameter out, or correct its name.")
    package static let unknownMember = ProblemKind("unknown-member", 400, .usage)
        .title("A member of the body is unknown")
        .hint("Leave the member out, or correct its name.")
    package static let notFound = ProblemKind("not-found", 404)
        .title("There is no such route")
        .hint("Correct the path; GET /v1/openapi.json lists every route.")
    package static let methodNotAllowed = ProblemKind("method-not-allowed", 405)
        .title("The route does not take this method")
        .hint("Use one of the methods in the Allow header.")
    package static let notAcceptable = ProblemKind("not-acceptable", 406)
        .title("The answer cannot take the form that is accepted")
        .hint("Accept application/jsonl or text/event-stream.")
    package static let bodyTooLarge = ProblemKind("body-too-large", 413)
        .title("The body of the request is too large")
        .hint("Send a smaller body.")
    package static let headTooLarge = ProblemKind("head-too-large", 431)
        .title("The head of the request is too large")
        .hint("Send a shorter URL and fewer headers; long lists go in a POST's body.")

    // The daemon refuses the request.

    package static let unknownOrigin = ProblemKind("unknown-origin", 403, .notPermitted)
        .title("The URL belongs to no configured origin")
        .hint("An administrator adds it with: cachectl origin add NAME URL")
    package static let notPermitted = ProblemKind("not-permitted", 403, .notPermitted)
        .title("Only an administrator may do this")
        .hint("Ask as root, as the daemon's user, or as a member of its access.admin_group.")
    package static let originID = ProblemKind("origin-id", 409)
        .title("The id belongs to an origin")
        .hint("Choose an id that does not lie under an origin's base URL.")
    package static let noSuchOrigin = ProblemKind("no-such-origin", 404, .notFound)
        .title("There is no such origin")
        .hint("See which there are with GET /v1/origins.")
    package static let originExists = ProblemKind("origin-exists", 409)
        .title("The address is another origin's")
        .hint("Use that origin, or remove it first.")
    package static let originInFile = ProblemKind("origin-in-file", 409)
        .title("A configuration file names the origin")
        .hint("Change the file, then reload the daemon: cachectl reload.")
    package static let entryTooLarge = ProblemKind("entry-too-large", 413)
        .title("The entry is larger than the cache takes")
        .hint("Raise cache.max_entry_bytes, or keep it elsewhere.")
    package static let cacheFull = ProblemKind("cache-full", 507, retryable: true)
        .title("The cache is full of protected entries")
        .hint("Raise cache.max_bytes, or unprotect entries.")
    package static let diskFull = ProblemKind("disk-full", 507, retryable: true)
        .title("The disk is full")
        .hint(
            "Free space on the daemon's disk; storing goes on by itself, and what is stored is read."
        )
    package static let preconditionFailed = ProblemKind("precondition-failed", 412)
        .title("The entry is not as the request expects")
        .hint("Read the entry again, and send its present ETag in If-Match.")
    package static let rangeNotSatisfiable = ProblemKind("range-not-satisfiable", 416)
        .title("The body ends before the range")
        .hint("Ask for bytes below the length that Content-Range has.")
    package static let leaseOver = ProblemKind("lease-over", 409)
        .title("The lease of the renewal is over")
        .hint("Wait for the next order: POST /v1/origins/NAME/credential/renewal.")
    package static let pinned = ProblemKind("pinned", 409)
        .title("The entry is pinned")
        .hint("Unpin it first: DELETE /v1/pins/ID.")
    package static let noSuchSet = ProblemKind("no-such-set", 404, .notFound)
        .title("There is no such set")
        .hint("GET /v1/prefetch lists the sets.")
    package static let pinsFull = ProblemKind("pins-full", 507)
        .title("There is no room for what is pinned")
        .hint("Unpin something, or raise pins.max_bytes.")

    // The daemon refuses a modifier, or a request about one.

    package static let noRequest = ProblemKind("no-request", 422)
        .title("The modifier says nothing to send")
        .hint(
            "Give the member request; only one change of put, merge, patch or delete has its own."
        )
    package static let unsupported = ProblemKind("unsupported", 422)
        .title("This version cannot do it")
        .hint("Leave out what the detail names.")
    package static let notARead = ProblemKind("not-a-read", 422)
        .title("The request may change something at the origin")
        .hint("Send it as a modifier, or name its path in post_reads if it changes nothing.")
    package static let modifierExists = ProblemKind("modifier-exists", 409)
        .title("There is another modifier of this id")
        .hint("Give each modifier an id of its own, or none.")
    package static let noSuchModifier = ProblemKind("no-such-modifier", 404, .notFound)
        .title("There is no such modifier")
        .hint("See which there are with GET /v1/modifiers.")
    package static let alreadySent = ProblemKind("already-sent", 409)
        .title("Bytes of the modifier may have left")
        .hint(
            "Wait for its answer; once it waits again, POST /v1/modifiers/actions with discard gives it up."
        )
    package static let alreadySettled = ProblemKind("already-settled", 409)
        .title("The modifier is settled")
        .hint("Read its result with GET /v1/modifiers/ID.")
    package static let inUse = ProblemKind("in-use", 409, retryable: true)
        .title("Data to be removed is in use")
        .hint("Try again once it is not.")
    package static let queueFull = ProblemKind("queue-full", 507, retryable: true)
        .title("There is no room for another modifier")
        .hint("Drop dead letters, wait for the network, or raise queue.max_modifiers or max_bytes.")
    package static let targeted = ProblemKind("targeted", 409)
        .title("The entry has modifiers that are not settled")
        .hint("Wait until they are settled, or cancel them: GET /v1/modifiers.")
    package static let notApplied = ProblemKind("not-applied", 409)
        .title("The modifier was not applied")
        .hint("Send it again with POST /v1/modifiers/actions, or drop it with DELETE.")

    // Nothing is cached.

    package static let miss = ProblemKind("miss", 404, .notFound)
        .title("Nothing is cached under the id")
        .hint("Fetch it with a policy that asks the network.")
    package static let deleted = ProblemKind("deleted", 404, .notFound)
        .title("The entry is gone")
        .hint("Ask the origin again with /v1/fetch if it may be back.")
    package static let sinceTooOld = ProblemKind("since-too-old", 410)
        .title("The changes since then are not known any more")
        .hint("Watch again with initial=1 and without since.")

    // The network or the origin fails.

    package static let unreachable = ProblemKind(
        "unreachable",
        502,
        .nothingToShow,
        retryable: true
    )
    .title("The origin cannot be reached")
    .hint("Try again when the network is back.")
    package static let captive = ProblemKind("captive", 502, .nothingToShow, retryable: true)
        .title("A captive portal blocks the network")
        .hint("Sign in to the network in a browser, then try again.")
    package static let offline = ProblemKind("offline", 503, .nothingToShow, retryable: true)
        .title("The origin was set offline")
        .hint("Set the origin online again.")
    package static let timeout = ProblemKind("timeout", 504, .nothingToShow, retryable: true)
        .title("The origin did not answer in time")
        .hint("Try again, or give a longer timeout.")
    package static let originStatus = ProblemKind("origin-status", 502)
        .title("The origin refused the request")
        .hint("See origin_status and body for what the origin said.")
    package static let redirectRefused = ProblemKind("redirect-refused", 502)
        .title("The origin redirects to a host that is not listed")
        .hint("If the host can be trusted, add it to the origin's redirect_hosts.")
    package static let addressRefused = ProblemKind("address-refused", 502, .notPermitted)
        .title("The origin's address is not permitted")
        .hint("If it may live on such an address: cachectl origin add NAME URL --allow-private.")
    package static let badAnswer = ProblemKind("bad-answer", 502, retryable: true)
        .title("The origin's answer cannot be used")
        .hint("Try again; if it stays, the origin's server is at fault.")

    // The daemon fails.

    package static let overloaded = ProblemKind("overloaded", 503, retryable: true)
        .title("The daemon has too much to do")
        .hint("Try again in a moment.")
    package static let shuttingDown = ProblemKind("shutting-down", 503, .noDaemon, retryable: true)
        .title("The daemon is ending")
        .hint("Connect again when the daemon is back.")
    package static let storage = ProblemKind("storage", 500, retryable: true)
        .title("The cache's file cannot be used")
        .hint("Look into the daemon's log; free space on its disk.")
    package static let `internal` = ProblemKind("internal", 500)
        .title("The daemon made a mistake")
        .hint("Look into the daemon's log for the request_id and report it.")

    package static let allCases: [ProblemKind] = [
        .badRequest, .badID, .badURL, .unknownParameter, .unknownMember, .notFound,
        .methodNotAllowed, .notAcceptable, .bodyTooLarge, .headTooLarge,
        .unknownOrigin, .notPermitted, .originID, .noSuchOrigin, .originExists, .originInFile,
        .entryTooLarge, .cacheFull, .diskFull, .preconditionFailed, .rangeNotSatisfiable,
        .leaseOver, .pinned, .noSuchSet, .pinsFull,
        .noRequest, .unsupported, .notARead, .modifierExists, .noSuchModifier, .alreadySent,
        .alreadySettled, .inUse, .queueFull, .targeted, .notApplied, .miss, .deleted,
        .sinceTooOld, .unreachable, .captive, .offline, .timeout, .originStatus,
        .redirectRefused, .addressRefused, .badAnswer, .overloaded, .shuttingDown, .storage,
        .internal,
    ]
}

/// An error, as RFC 9457 has it: the body of every answer of 400 and more, and a member of some
/// frames and reports.
public struct Problem: Error, Codable, Equatable, Sendable {
    /// The kind of the problem, for programs: `urn:larder:not-found`.
    public var type: String
    /// The meaning of the type, always in the same words.
    public var title: String
    /// The status of the answer; in a frame or a report, the status that it would have had.
    ///
    /// - Range: 400...599
    public var status: Int
    /// This occurrence in one sentence.
    public var detail: String
    /// The request that failed, as the daemon's log names it.
    public var requestID: String
    /// Whether the same request may succeed later without a change.
    public var retryable: Bool
    /// The next step in one sentence.
    public var hint: String
    /// The status of the origin's answer, for `urn:larder:origin-status`, `urn:larder:deleted`,
    /// `urn:larder:timeout` in the middle of a body, and `urn:larder:entry-too-large` of a 2xx that
    /// is not kept.
    @OmittedWhenNil public var originStatus: Int?
    /// The path that passes the answer through, for `urn:larder:entry-too-large` of a fetch.
    @OmittedWhenNil public var rawHref: String?
    /// The oldest revision that a watch can begin after, for `urn:larder:since-too-old`.
    @OmittedWhenNil public var oldest: Int64?
    /// The bytes that a set needs, for `urn:larder:pins-full` of a set.
    @OmittedWhenNil public var neededBytes: Int64?
    /// The bytes that are free for pins of the user, for `urn:larder:pins-full` of a set.
    @OmittedWhenNil public var freeBytes: Int64?
    /// The place in the origin's body that makes it a refusal, a JSON pointer (RFC 6901), for
    /// `urn:larder:origin-status` of a 2xx.
    @OmittedWhenNil public var pointer: String?
    /// The first 64 KiB of an origin's refusal: JSON as it is, anything else as a string.
    @OmittedWhenNil public var body: RawJSON?

    /// A problem with the kind's own status and hint where none are given.
    package init(
        _ kind: ProblemKind,
        _ detail: String,
        status: Int? = nil,
        hint: String? = nil
    ) {
        assert(ProblemKind.allCases.contains(kind), "\(kind.rawValue) is missing in allCases")
        type = ProblemKind.prefix + kind.rawValue
        title = kind.title
        self.status = status ?? kind.status
        self.detail = detail
        requestID = ""
        retryable = kind.isRetryable
        self.hint = hint ?? kind.hint
    }

    /// The problem of an origin's refusal.
    ///
    /// A retry may succeed after a failure of the origin itself. An origin that has answered 429
    /// asks for a longer pause than the clients' retries make.
    package init(refusal status: Int, _ detail: String) {
        self.init(.originStatus, detail)
        originStatus = status
        retryable = status >= 500 || [408, 425].contains(status)
        if wantsCredential { nameLogin("cachectl origin login NAME") }
    }

    /// Whether the origin asks for another credential.
    package var wantsCredential: Bool { originStatus == 401 || originStatus == 407 }

    /// Names the command that gives another credential.
    package mutating func nameLogin(_ command: String) {
        hint = "Give a credential with \(command), then ask again."
    }
}

extension Problem {
    package static let mediaType = "application/problem+json"

    package func encoded() -> [UInt8] { APIEncoder().encode(self) }

    package init(decoding bytes: [UInt8]) throws(APIDecodingError) {
        self = try APIDecoder(.lenient).decode(from: bytes)
    }

    /// The row of the type; for a type that only a newer daemon knows, a row of the problem's own
    /// members.
    package var kind: ProblemKind {
        ProblemKind(type: type)
            ?? ProblemKind(type, status, retryable: retryable).title(title).hint(hint)
    }

    /// The hint for an administrator, where others are sent to one.
    package var hintForAdministrator: String? {
        for (others, own) in [
            "An administrator adds it ": "Add it ",
            "An administrator sets it online ": "Set it online ",
        ] where hint.hasPrefix(others) {
            return own + hint.dropFirst(others.count)
        }
        return nil
    }

    /// The origin's body in ``body``: the bytes of JSON, or of the text.
    public var quotedBody: [UInt8]? {
        body.map { body in
            (try? JSONValue(parsing: body.bytes))?.string.map { Array($0.utf8) } ?? body.bytes
        }
    }

    /// Quotes the first ``Limits/quotedBodyBytesMax`` bytes of an origin's body.
    package mutating func quote(_ body: [UInt8]) {
        self.body = RawJSON(quoting: Array(body.prefix(Limits.quotedBodyBytesMax)))
    }
}
