/// An error, as RFC 9457 has it: the body of every answer of 400 and more, and a member of some
/// frames and reports.
public struct ProblemReport: Codable, Equatable, Sendable {
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

    /// A problem without members that only some types have.
    public init(
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
}
