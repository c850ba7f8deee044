import LarderJSON
import LarderModel

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
    /// The status of the origin's answer, for `urn:larder:origin-status` and `urn:larder:deleted`.
    @OmittedWhenNil public var originStatus: Int?
    /// The path that passes the answer through, for `urn:larder:entry-too-large` of a fetch.
    @OmittedWhenNil public var rawHref: String?
    /// The oldest revision that a watch can begin after, for `urn:larder:since-too-old`.
    @OmittedWhenNil public var oldest: Int64?
    /// The first 64 KiB of an origin's refusal: JSON as it is, anything else as a string.
    @OmittedWhenNil public var body: RawJSON?

    package init(
        type: String,
        title: String,
        status: Int,
        detail: String,
        requestID: String,
        retryable: Bool,
        hint: String
    ) {
        self.type = type
        self.title = title
        self.status = status
        self.detail = detail
        self.requestID = requestID
        self.retryable = retryable
        self.hint = hint
    }

    /// A problem with the kind's own status and hint where none are given.
    package init(
        _ kind: ProblemKind,
        _ detail: String,
        status: Int? = nil,
        hint: String? = nil
    ) {
        assert(ProblemKind.allCases.contains(kind), "\(kind.rawValue) is missing in allCases")
        self.init(
            type: ProblemKind.prefix + kind.rawValue,
            title: kind.title,
            status: status ?? kind.status,
            detail: detail,
            requestID: "",
            retryable: kind.isRetryable,
            hint: hint ?? kind.hint
        )
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
