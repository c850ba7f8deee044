package import LarderModel

/// An error as it travels: `application/problem+json` (RFC 9457).
package struct Problem: Error, Equatable, Sendable {
    package static let mediaType = "application/problem+json"

    package var kind: ProblemKind
    /// The kind's own, or what a route makes of it: `deleted` is 404 for a fetch, 410 for an entry.
    package var status: Int
    /// One sentence on this occurrence.
    package var detail: String
    /// Which request it was; the server sets it before it sends.
    package var requestID = ""
    /// One sentence that says what to do.
    package var hint: String
    /// The hint for an administrator, where that of others names one; it does not travel.
    package var administratorHint: String?
    /// For ``ProblemKind/originStatus``: what the origin answered.
    package var originStatus: Int?
    /// The body of an origin's refusal, of which ``Limits/quotedBodyBytesMax`` bytes travel.
    package var quotedBody: [UInt8]?
    /// For ``ProblemKind/entryTooLarge``: the path under which the answer is passed through.
    package var rawHref: String?
    /// What a problem of a newer daemon says of itself; its kind is then only what its status says.
    package var unknown: UnknownKind?
    /// For ``ProblemKind/sinceTooOld``: the oldest revision that a watch can begin after.
    package var oldest: Revision?

    /// A problem with the kind's own status and hint where none are given.
    package init(
        _ kind: ProblemKind,
        _ detail: String,
        status: Int? = nil,
        hint: String? = nil
    ) {
        self.kind = kind
        self.detail = detail
        self.status = status ?? kind.status
        self.hint = hint ?? kind.hint
    }

    /// A word of a request that is none of those that there are; a near one is named.
    init(_ name: String, _ text: String, isNoneOf known: [String]) {
        let meant = nearestName(to: text, among: known).map { ", did you mean '\($0)'?" } ?? ""
        let words = known.joined(separator: ", ")
        self.init(.badRequest, "\(name): '\(text)' is none of \(words)\(meant)")
    }

    /// What an administrator is told to do; nil where nobody is sent to one.
    package var hintForAdministrator: String? {
        administratorHint ?? (hint == kind.hint ? kind.administratorHint : nil)
    }

    package var isRetryable: Bool { unknown?.isRetryable ?? kind.isRetryable }
    package var type: String { unknown?.type ?? "urn:larder:\(kind.rawValue)" }
    package var title: String { unknown?.title ?? kind.title }
}

extension Problem {
    /// A kind that this version does not know.
    package struct UnknownKind: Equatable, Sendable {
        package var type: String
        package var title: String
        package var isRetryable: Bool

        package init(type: String, title: String, isRetryable: Bool) {
            self.type = type
            self.title = title
            self.isRetryable = isRetryable
        }
    }

    /// A problem of which this version knows no more than this and the status.
    package init(_ unknown: UnknownKind, _ detail: String, status: Int, hint: String) {
        // Every 4xx is understood as 400, every 5xx as 500 (RFC 9110 15).
        self.init(status < 500 ? .badRequest : .internal, detail, status: status, hint: hint)
        self.unknown = unknown
    }
}
