/// What went wrong, as a program tells it apart: the part of a problem's type after `urn:larder:`.
package enum ProblemKind: String, Sendable, CaseIterable {
    // The request cannot be understood.
    case badRequest = "bad-request"
    case badID = "bad-id"
    case badURL = "bad-url"
    case unknownParameter = "unknown-parameter"
    case unknownMember = "unknown-member"
    case originNeeded = "origin-needed"
    case notFound = "not-found"
    case methodNotAllowed = "method-not-allowed"
    case notAcceptable = "not-acceptable"
    case bodyTooLarge = "body-too-large"
    case headTooLarge = "head-too-large"
    // It can, and is refused.
    case unknownOrigin = "unknown-origin"
    case notPermitted = "not-permitted"
    case originID = "origin-id"
    case noSuchOrigin = "no-such-origin"
    case originExists = "origin-exists"
    case originInFile = "origin-in-file"
    case entryTooLarge = "entry-too-large"
    case cacheFull = "cache-full"
    case diskFull = "disk-full"
    case preconditionFailed = "precondition-failed"
    case pinned
    case pinsFull = "pins-full"
    // A modifier is refused, or what is asked of one.
    case noRequest = "no-request"
    case unsupported
    case modifierExists = "modifier-exists"
    case noSuchModifier = "no-such-modifier"
    case alreadySent = "already-sent"
    case alreadySettled = "already-settled"
    case inUse = "in-use"
    case queueFull = "queue-full"
    case targeted
    case notApplied = "not-applied"
    // There is nothing.
    case miss
    case deleted
    case sinceTooOld = "since-too-old"
    // The network or the origin.
    case unreachable
    case captive
    case offline
    case timeout
    case originStatus = "origin-status"
    case redirectRefused = "redirect-refused"
    case addressRefused = "address-refused"
    case badAnswer = "bad-answer"
    // The daemon itself.
    case overloaded
    case shuttingDown = "shutting-down"
    case storage
    case `internal`

    /// The status of the answer, unless a route says otherwise.
    package var status: Int {
        switch self {
        case .badRequest, .badID, .badURL, .unknownParameter, .unknownMember,
            .originNeeded:
            400
        case .unknownOrigin, .notPermitted: 403
        case .notFound, .noSuchOrigin, .noSuchModifier, .miss, .deleted: 404
        case .methodNotAllowed: 405
        case .notAcceptable: 406
        case .originID, .originExists, .originInFile, .pinned, .targeted, .modifierExists,
            .alreadySent, .alreadySettled, .inUse, .notApplied:
            409
        case .sinceTooOld: 410
        case .preconditionFailed: 412
        case .bodyTooLarge, .entryTooLarge: 413
        case .noRequest, .unsupported: 422
        case .headTooLarge: 431
        case .storage, .internal: 500
        case .unreachable, .captive, .originStatus, .redirectRefused, .addressRefused, .badAnswer:
            502
        case .offline, .overloaded, .shuttingDown: 503
        case .timeout: 504
        case .cacheFull, .diskFull, .pinsFull, .queueFull: 507
        }
    }

    /// Whether the same request may go well later without anybody changing it.
    package var isRetryable: Bool {
        switch self {
        case .unreachable, .captive, .offline, .timeout, .badAnswer, .overloaded, .shuttingDown,
            .storage, .cacheFull, .diskFull, .queueFull, .inUse:
            true
        case .badRequest, .badID, .badURL, .unknownParameter, .unknownMember, .originNeeded,
            .notFound, .methodNotAllowed, .notAcceptable, .bodyTooLarge, .headTooLarge,
            .unknownOrigin, .notPermitted, .preconditionFailed, .originID, .noSuchOrigin,
            .originExists, .originInFile, .pinned, .pinsFull, .noRequest,
            .unsupported, .modifierExists, .noSuchModifier, .alreadySent, .alreadySettled,
            .targeted, .notApplied, .entryTooLarge, .miss, .deleted, .sinceTooOld, .originStatus,
            .redirectRefused, .addressRefused, .internal:
            false
        }
    }

    package var title: String {
        switch self {
        case .badRequest: "The request cannot be understood"
        case .badID: "The id cannot be taken"
        case .badURL: "The URL cannot be fetched"
        case .unknownParameter: "A query parameter is unknown"
        case .unknownMember: "A member of the body is unknown"
        case .originNeeded: "It has to be said whose the key is"
        case .notFound: "There is no such route"
        case .methodNotAllowed: "The route does not take this method"
        case .notAcceptable: "The answer cannot take the form that is accepted"
        case .bodyTooLarge: "The body of the request is too large"
        case .headTooLarge: "The head of the request is too large"
        case .unknownOrigin: "The URL belongs to no configured origin"
        case .notPermitted: "Only an administrator may do this"
        case .originID: "The id belongs to an origin"
        case .noSuchOrigin: "There is no such origin"
        case .originExists: "There is such an origin already"
        case .originInFile: "The origin stands in a file of the configuration"
        case .entryTooLarge: "The entry is larger than the cache takes"
        case .cacheFull: "The cache is full of protected entries"
        case .diskFull: "The disk is full"
        case .preconditionFailed: "The entry is not as the request expects"
        case .pinned: "The entry is pinned"
        case .pinsFull: "There is no room for what is pinned"
        case .noRequest: "The modifier says nothing to send"
        case .unsupported: "This version cannot do it"
        case .modifierExists: "There is another modifier of this id"
        case .noSuchModifier: "There is no such modifier"
        case .alreadySent: "Bytes of the modifier may have left"
        case .alreadySettled: "The modifier is settled"
        case .inUse: "What is to be taken away is in use"
        case .queueFull: "There is no room for another modifier"
        case .targeted: "The entry has modifiers that are not settled"
        case .notApplied: "The modifier was not applied"
        case .miss: "Nothing is cached under the id"
        case .deleted: "It is gone"
        case .sinceTooOld: "The changes since then are not known any more"
        case .unreachable: "The origin cannot be reached"
        case .captive: "A captive portal stands before the network"
        case .offline: "The origin was set offline"
        case .timeout: "The origin did not answer in time"
        case .originStatus: "The origin refused the request"
        case .redirectRefused: "The origin redirects to a host that is not listed"
        case .addressRefused: "The origin's address is not permitted"
        case .badAnswer: "The origin's answer cannot be used"
        case .overloaded: "The daemon has too much to do"
        case .shuttingDown: "The daemon is ending"
        case .storage: "The cache's file cannot be used"
        case .internal: "The daemon made a mistake"
        }
    }

    /// What an administrator does, where others are sent to one.
    var administratorHint: String? {
        self == .unknownOrigin ? "Add it with: cachectl origin add NAME URL" : nil
    }

    /// What to do, where a route does not know better.
    package var hint: String {
        switch self {
        case .badRequest: "Correct what the detail names."
        case .badID:
            "Give 1 to 8192 bytes of UTF-8 without control characters, percent-encoded, / as %2F."
        case .badURL: "Give an absolute http or https URL without a user name."
        case .unknownParameter: "Leave the parameter out, or correct its name."
        case .unknownMember: "Leave the member out, or correct its name."
        case .originNeeded:
            "Name the origin whose entity it is: origin=NAME; GET /v1/origins says which there are."
        case .notFound: "Correct the path; GET /v1/openapi.json lists every route."
        case .methodNotAllowed: "Use one of the methods in the Allow header."
        case .notAcceptable: "Accept application/jsonl or text/event-stream."
        case .bodyTooLarge: "Send a smaller body."
        case .headTooLarge: "Send a shorter URL and fewer headers; long lists go in a POST's body."
        case .unknownOrigin:
            "An administrator adds it with: cachectl origin add NAME URL"
        case .notPermitted:
            "Ask as root, as the daemon's user, or as a member of its access.admin_group."
        case .originID: "Choose an id that does not lie under an origin's base URL."
        case .noSuchOrigin: "See which there are with GET /v1/origins."
        case .originExists: "Replace it with PUT /v1/origins/NAME, or choose another name."
        case .originInFile: "Change the file, and start the daemon anew."
        case .entryTooLarge: "Raise cache.max_entry_bytes, or keep it elsewhere."
        case .cacheFull: "Raise cache.max_bytes, or unprotect entries."
        case .diskFull:
            "Free space on the daemon's disk; storing goes on by itself, and what is stored is read."
        case .preconditionFailed:
            "Read it anew, and give If-Match the ETag that it has now."
        case .pinned: "Unpin it first: DELETE /v1/pins/ID."
        case .pinsFull: "Unpin something, or raise pins.max_bytes."
        case .noRequest:
            "Give the member request; only one change of put, merge, patch or delete has its own."
        case .unsupported: "Leave out what the detail names."
        case .modifierExists: "Give each modifier an id of its own, or none."
        case .noSuchModifier: "See which there are with GET /v1/modifiers."
        case .alreadySent: "Wait for its answer; once it waits again, ?discard=true gives it up."
        case .alreadySettled: "See what became of it with GET /v1/modifiers/ID."
        case .inUse: "Try again once it is not."
        case .queueFull:
            "Drop dead letters, wait for the network, or raise queue.max_modifiers or max_bytes."
        case .targeted: "Wait until they are settled, or cancel them: GET /v1/modifiers."
        case .notApplied:
            "Send it again with POST /v1/modifiers/ID/retry, or drop it with DELETE."
        case .miss: "Fetch it with a policy that asks the network."
        case .deleted: "Ask the origin again with /v1/fetch if it may be back."
        case .sinceTooOld:
            "Read what you need anew: watch with initial=1, and without since."
        case .unreachable: "Try again when the network is back."
        case .captive: "Sign in to the network in a browser, then try again."
        case .offline: "Set the origin online again."
        case .timeout: "Try again, or give a longer timeout."
        case .originStatus: "See origin_status and body for what the origin said."
        case .redirectRefused:
            "If the host can be trusted, add it to the origin's redirect_hosts."
        case .addressRefused: "Set allow_private for the origin if it may live on such an address."
        case .badAnswer: "Try again; if it stays, the origin's server is at fault."
        case .overloaded: "Try again in a moment."
        case .shuttingDown: "Connect again when the daemon is back."
        case .storage: "Look into the daemon's log; free space on its disk."
        case .internal: "Look into the daemon's log for the request_id and report it."
        }
    }
}
