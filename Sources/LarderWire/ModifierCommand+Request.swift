package import LarderModel

extension ModifierCommand {
    /// The request that makes a modifier's changes on the server.
    package struct Request: Equatable, Sendable {
        /// What is sent with it.
        package enum Body: Equatable, Sendable {
            case none
            case bytes([UInt8])
            /// The bytes that an entry shows when the modifier is accepted.
            case entry(EntryID)
        }

        /// A token of RFC 9110 9.1, in upper case; neither GET, HEAD, CONNECT nor TRACE.
        package var method: String
        /// Nil where it follows from a change of an entity: its own, which the rule of its type says.
        package var url: WebURL?
        /// Checked by ``RequestHeaderRules``; with the Content-Type of the body, if there is one.
        package var headers: HeaderFields
        package var body: Body

        package init(
            method: String,
            url: WebURL?,
            headers: HeaderFields = HeaderFields(),
            body: Body = .none
        ) {
            self.method = method
            self.url = url
            self.headers = headers
            self.body = body
        }
    }
}
