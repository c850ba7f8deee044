package import LarderModel

/// How long an answer counts as current, and whether it may be kept (RFC 9111).
package struct Freshness: Equatable, Sendable {
    /// The end of freshness; nil for an answer that is stale from the start.
    ///
    /// A stale answer still serves every policy that also asks the network.
    package let until: Timestamp?
    /// Whether the origin allows storing the answer.
    package let mayBeStored: Bool

    /// Judges an answer's headers, received at `now`, under an origin's settings.
    ///
    /// The lifetime is `ttl` if set, else max-age or Expires less Date (4.2.1), less the Age that
    /// the answer arrives with (4.2.3). There is no heuristic lifetime. With `Vary: *`, or with an
    /// Age that cannot be read, there is no lifetime.
    package init(_ headers: HeaderFields, settings: FetchSettings, now: Timestamp) {
        let control = CacheControl(headers.list("Cache-Control") ?? "")
        mayBeStored = !control.isNoStore || settings.storesNoStore
        until =
            if headers.listed("Vary").contains("*") {
                // The answers may differ by things that are not in the request (4.1).
                nil
            } else if let ttl = settings.ttl {
                now.advanced(by: ttl)
            } else if !control.isNoCache, let lifetime = Self.lifetime(control, headers, now),
                let age = headers.age
            {
                now.advanced(by: lifetime - age)
            } else {
                nil
            }
    }

    private static func lifetime(
        _ control: CacheControl,
        _ headers: HeaderFields,
        _ now: Timestamp
    ) -> Duration? {
        if let maxAge = control.maxAge { return maxAge }
        guard let expires = headers["Expires"] else { return nil }
        // 5.3: a date that cannot be read counts as past.
        guard let end = Timestamp(httpDate: expires, now: now) else { return .zero }
        let date = headers["Date"].flatMap { Timestamp(httpDate: $0, now: now) } ?? now
        return max(.zero, end.since(date))
    }
}
