package import LarderModel

/// What a flight knows of its request and its origin.
package struct FlightRules: Equatable, Sendable {
    package let url: WebURL
    /// Whether the client can only use JSON: what is cached is JSON, or it accepts nothing else.
    package let expectsJSON: Bool

    package init(url: WebURL, cachedIsJSON: Bool, accept: String?) {
        self.url = url
        expectsJSON = cachedIsJSON || accept.map(Self.acceptsOnlyJSON) ?? false
    }

    /// Whether an Accept value names JSON and neither HTML nor everything.
    static func acceptsOnlyJSON(_ accept: String) -> Bool {
        let types = accept.split(separator: ",").map { range in
            range.prefix(while: { $0 != ";" }).filter { $0 != " " && $0 != "\t" }.lowercased()
        }
        let namesJSON = types.contains { $0.hasSuffix("/json") || $0.hasSuffix("+json") }
        return namesJSON && !types.contains { $0 == "*/*" || isHTML($0) }
    }

    static func isHTML(_ mediaType: String) -> Bool {
        mediaType == "text/html" || mediaType == "application/xhtml+xml" || mediaType == "text/*"
    }

    /// The host that stands before the network, if the head can only come from such a one.
    func captivePortal(_ head: ResponseHead, from url: WebURL) -> String? {
        if head.status == 511 { return url.host }
        if (200..<300).contains(head.status), expectsJSON, Self.isHTML(head.essence) {
            return url.host
        }
        return nil
    }

    enum Redirect: Equatable {
        case allowed(WebURL)
        case refused(FlightFailure)
    }

    /// Whether a redirect may be followed: to the same host and port, or from http to https there.
    func redirect(from url: WebURL, to location: String) -> Redirect {
        guard let target = try? url.resolving(location) else {
            return .refused(.badAnswer("a redirect to '\(location)', which is no URL"))
        }
        let isUpgrade = !url.isSecure && target.isSecure && url.host == target.host
        if target.originText == url.originText || isUpgrade { return .allowed(target) }
        // Over plain http anybody on the way can answer, and a portal answers like this.
        return .refused(
            url.isSecure ? .redirectRefused(host: target.host) : .captive(host: target.host)
        )
    }
}

/// The head of an origin's answer, as far as a decision hangs on it.
package struct ResponseHead: Equatable, Sendable {
    package let status: Int
    package let location: String?
    /// The media type without parameters, in lower case; empty where there is none.
    package let essence: String
    package let retryAfter: Duration?

    package init(status: Int, headers: HeaderFields, now: Timestamp) {
        self.status = status
        location = headers["Location"]
        essence =
            headers["Content-Type"]?.prefix(while: { $0 != ";" })
            .filter { $0 != " " && $0 != "\t" }.lowercased() ?? ""
        retryAfter = headers["Retry-After"].flatMap { value in
            Duration(deltaSeconds: value)
                ?? Timestamp(httpDate: value, now: now).map { max(.zero, $0.since(now)) }
        }
    }
}

/// Why a flight came to no answer that can be kept.
package enum FlightFailure: Equatable, Sendable {
    /// No byte can have left.
    case unreachable(String)
    case addressRefused(String)
    case timeout
    /// The connection was lost in the middle.
    case brokenOff(String)
    case badAnswer(String)
    case captive(host: String)
    case redirectRefused(host: String)
    /// The body is larger than an entry may be.
    case tooLarge
    case shuttingDown
    case overloaded

    /// Whether asking again can help at once.
    var isRetryable: Bool {
        switch self {
        case .unreachable, .brokenOff: true
        case .addressRefused, .timeout, .badAnswer, .captive, .redirectRefused, .tooLarge,
            .shuttingDown, .overloaded:
            false
        }
    }
}
