package import LarderWire

/// What the daemon says when it says no: `application/problem+json` (RFC 9457).
public struct LarderProblem: Error, Equatable, Sendable {
    package let problem: Problem

    package init(_ problem: Problem) {
        self.problem = problem
    }

    /// What programs tell it apart by, such as `urn:larder:miss`; the OpenAPI document has all.
    ///
    /// `about:blank` where the daemon could say no more than the status (RFC 9457 4.2.1).
    public var type: String { problem.type }
    /// One line that says the same of every problem of this type.
    public var title: String { problem.title }
    /// The HTTP status.
    public var status: Int { problem.status }
    /// One sentence on this occurrence.
    public var detail: String { problem.detail }
    /// One sentence that says what to do.
    public var hint: String { problem.hint }
    /// Whether the same request may go well later without anybody changing it.
    public var isRetryable: Bool { problem.isRetryable }
    /// The request's name in the daemon's log.
    public var requestID: String { problem.requestID }
    /// What the origin answered, where it refused.
    public var originStatus: Int? { problem.originStatus }
    /// The beginning of the origin's refusal.
    public var originBody: [UInt8]? { problem.quotedBody }
    /// Whether the modifier that was asked for has left the queue.
    package var isOfSettled: Bool { problem.kind == .alreadySettled }
    /// Whether only a newer version of this client knows its type.
    var isUnknown: Bool { problem.unknown != nil }
    /// Where an answer that is too large to be kept is passed through.
    package var rawPath: String? { problem.rawHref }
}
