package import LarderModel
import Synchronization

/// A request to an origin, as a fetch or a modifier decided it.
package struct UpstreamRequest: Equatable, Sendable {
    /// The purpose of a request; each kind has connections of its own.
    package enum Purpose: Equatable, Sendable {
        /// An answer that is kept, or told as a whole.
        case read
        /// An answer that goes to a client as it arrives: a slow client holds up no other client's
        /// answers.
        case passingOn
        /// A write that a client waits for: it does not wait for answers that are passed on.
        case passedWrite
        /// A request with an ``UpstreamUpload``: a new connection, which no other request uses.
        case upload
        /// A modifier: it neither waits for reads nor holds them up.
        case write
    }

    package var origin: OriginSettings
    /// The user whose connections a request takes that is passed on; nil for the daemon's own.
    package var user: UInt32?
    /// A token of RFC 9110 9.1, in the case in which it is sent.
    package var method: String
    /// The target URL; after a redirect it may be on another host than the origin's.
    package var url: WebURL
    /// The client's header fields and the validators.
    ///
    /// ``HTTPUpstream`` adds the origin's own fields if the URL has the origin's scheme, host and
    /// port.
    package var headers: HeaderFields
    /// The body, sent with its length; nil for a request without one.
    package var body: [UInt8]?
    /// The body in place of ``body``, sent as it arrives.
    package var upload: UpstreamUpload?
    /// The total time, from the call until the end of the body.
    package var timeout: Duration
    package var purpose: Purpose
    /// Whether the request may be sent a second time although the first may have arrived.
    ///
    /// This holds for an idempotent write (RFC 9110 9.2), and under a key that the origin honours.
    package var isRepeatable: Bool
    /// Whether the origin may send a content coding, which the upstream decodes.
    package var acceptsCodings = false

    /// Whether it changes nothing at the origin, although its method does not say so.
    package var isRead = false

    /// Whether it may change something at the origin.
    var isWrite: Bool { !isRead && method != "GET" && method != "HEAD" }

    /// Whether the request may be sent a second time; a read always may, an upload is sent once.
    var mayRepeat: Bool { upload == nil && (isRepeatable || !isWrite) }

    /// The time that ``body`` takes on a slow line, in which no origin answers.
    package var sendingTime: Duration {
        .seconds((body?.count ?? 0) / Limits.sentBytesPerSecondMin)
    }

    package init(
        origin: OriginSettings,
        method: String = "GET",
        url: WebURL,
        headers: HeaderFields = HeaderFields(),
        body: [UInt8]? = nil,
        timeout: Duration,
        purpose: Purpose = .read,
        isRepeatable: Bool = false
    ) {
        self.origin = origin
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.purpose = purpose
        self.isRepeatable = isRepeatable
    }
}

/// The body of a request that is sent while it arrives, and only once.
///
/// The upstream takes the next piece when the connection has taken the one before.
package final class UpstreamUpload: Equatable, Sendable {
    /// Nil for a body that is sent in chunks.
    package let byteCount: Int64?
    private let readNext: @Sendable () async throws -> [UInt8]?
    // Relaxed: one attempt reads it after the end of the one before.
    private let hasStarted = Atomic<Bool>(false)

    /// `next` returns nil at the end of the body, and throws if the body is not whole.
    package init(byteCount: Int64?, _ next: @escaping @Sendable () async throws -> [UInt8]?) {
        self.byteCount = byteCount
        readNext = next
    }

    package static func == (one: UpstreamUpload, other: UpstreamUpload) -> Bool { one === other }

    /// Whether a piece was asked for, so that the body cannot be sent from its beginning.
    var hasBegun: Bool { hasStarted.load(ordering: .relaxed) }

    package func next() async throws -> [UInt8]? {
        hasStarted.store(true, ordering: .relaxed)
        return try await readNext()
    }
}

/// A client that asks origins over HTTP: ``HTTPUpstream``, or a scripted one in tests.
package protocol Upstream: Sendable {
    /// Asks an origin once, follows no redirect, and returns when the answer's head is there.
    ///
    /// The upstream repeats a request once on a new connection, if no byte of the answer came and
    /// one of these holds:
    /// - the connection was closed (``Limits/closedConnectionsMax``);
    /// - the connection was a reused one and stayed silent (``Limits/reusedSilenceMax``).
    ///
    /// It repeats a request that may have left only if ``UpstreamRequest/isRepeatable``, or if it
    /// is a read. No caller repeats a request that fails with ``UpstreamError/closed``.
    ///
    /// A body in gzip, deflate, br or zstd is decoded, also if the request accepts no coding. Its
    /// head then has ``Entry/codingField``, and no field that describes the coded bytes.
    ///
    /// `onSent` is called when the request leaves. This may be long after the call, as the request
    /// waits for a free connection of Larder's own.
    ///
    /// If the calling task is cancelled, the request fails with ``UpstreamError/cancelled``. A body
    /// that is dropped unread ends its connection.
    func ask(
        _ request: UpstreamRequest,
        onSent: @escaping @Sendable () -> Void
    ) async throws(UpstreamError) -> UpstreamReply

    /// Sends the request over a new connection, and reports on that connection.
    ///
    /// The body of the answer is not read.
    func check(_ request: UpstreamRequest) async -> UpstreamCheck
}
