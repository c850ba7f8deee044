package import LarderModel

/// One GET to an origin, as the fetch decided it.
package struct UpstreamRequest: Equatable, Sendable {
    package var origin: OriginSettings
    /// Where to; after a redirect not necessarily under the origin's own host.
    package var url: WebURL
    /// The client's header fields and the validators.
    ///
    /// ``HTTPUpstream`` adds the origin's own to
    /// them where the URL has the origin's scheme, host and port.
    package var headers: HeaderFields
    /// The time in all, from the call until the body's end.
    package var timeout: Duration
    /// Whether the body goes to a client as it comes.
    ///
    /// Such requests have connections of their own, so that clients who read slowly hold up
    /// nobody else's.
    package var isPassedOn: Bool

    package init(
        origin: OriginSettings,
        url: WebURL,
        headers: HeaderFields = HeaderFields(),
        timeout: Duration,
        isPassedOn: Bool = false
    ) {
        self.origin = origin
        self.url = url
        self.headers = headers
        self.timeout = timeout
        self.isPassedOn = isPassedOn
    }
}
