package import LarderModel

/// An origin's answer: its head, and a body that is not yet read.
package struct UpstreamReply {
    package var status: Int
    package var headers: HeaderFields
    package var body: UpstreamBody
    /// Whether the body ends with the connection (RFC 9112 6.3, rule 8).
    ///
    /// Then a body that was cut off looks whole.
    package var endsWithConnection: Bool
    /// Whether the upstream sent the request twice; the origin may have received the first.
    package var isToRepeat = false

    package init(
        status: Int,
        headers: HeaderFields,
        body: UpstreamBody,
        endsWithConnection: Bool = false
    ) {
        self.endsWithConnection = endsWithConnection
        self.status = status
        self.headers = headers
        self.body = body
    }
}
