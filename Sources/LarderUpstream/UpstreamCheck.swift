package import LarderModel

/// The result of asking an origin over a connection of its own.
package struct UpstreamCheck: Equatable, Sendable {
    package enum Outcome: Equatable, Sendable {
        case answered(status: Int, headers: HeaderFields)
        case failed(UpstreamError)
    }

    /// Nil when no connection was made.
    package var connection: UpstreamConnection?
    package var outcome: Outcome

    package init(connection: UpstreamConnection?, outcome: Outcome) {
        self.connection = connection
        self.outcome = outcome
    }
}

/// The connection of a check's request.
package struct UpstreamConnection: Equatable, Sendable {
    /// The address and port of its other end: the proxy's if there is one.
    package var peer: String
    /// `HTTP/1.1` or `HTTP/2`.
    package var httpVersion: String
    /// `TLS 1.3`, always with the peer's certificate verified; nil for plain http.
    package var tlsVersion: String?

    package init(peer: String, httpVersion: String, tlsVersion: String?) {
        self.peer = peer
        self.httpVersion = httpVersion
        self.tlsVersion = tlsVersion
    }
}
