package import LarderModel

/// The facts about a request and its origin that a flight needs.
package struct FlightRules: Equatable, Sendable {
    package let url: WebURL
    package let method: ReadMethod
    /// Whether only JSON is of use: the cached answer is JSON, or the client accepts nothing else.
    package let expectsJSON: Bool
    /// Hosts besides the origin's to which redirects may lead.
    package let redirectHosts: [HostPort]
    /// Whether a portal answered in the origin's place lately.
    ///
    /// Then an HTML page over plain http counts as the portal's.
    package let isCaptive: Bool
    package let bodyHandling: BodyHandling
    package let carrying: Carrying
    /// Which 2xx is the origin's, by its settings.
    package let expect: ModifierRules.ExpectRule?

    /// Whether an answer's body is stored or passed on.
    package enum BodyHandling: Equatable, Sendable {
        /// Store the body, unless it announces more than so many bytes.
        case stored(bytesMax: Int64)
        /// Pass the body to one client as it arrives, whatever its size, and do not keep it.
        case passThrough
    }

    /// The header fields that go along with a redirect to another host.
    package enum Carrying: Equatable, Sendable {
        /// For a read: fields that say which form of an answer is wanted. Any other may be a
        /// secret.
        case form
        /// For a write: all fields except credentials and these names, which are in lower case.
        case all(but: Set<String>)
    }

    package init(
        url: WebURL,
        method: ReadMethod = .get,
        cachedIsJSON: Bool,
        accept: String?,
        redirectHosts: [HostPort] = [],
        isCaptive: Bool = false,
        bodyHandling: BodyHandling = .stored(bytesMax: .max),
        carrying: Carrying = .form,
        expect: ModifierRules.ExpectRule? = nil
    ) {
        (self.url, self.method) = (url, method)
        self.expect = expect
        self.carrying = carrying
        self.redirectHosts = redirectHosts
        self.isCaptive = isCaptive
        self.bodyHandling = bodyHandling
        let wantsJSON = cachedIsJSON || accept.map(Self.acceptsOnlyJSON) ?? false
        expectsJSON = expect == .json || expect == nil && wantsJSON
    }

    /// Whether an Accept value names JSON and neither HTML nor everything.
    static func acceptsOnlyJSON(_ accept: String) -> Bool {
        let types = accept.split(separator: ",").map { String($0).mediaEssence }
        let namesJSON = types.contains { $0.hasSuffix("/json") || $0.hasSuffix("+json") }
        return namesJSON && !types.contains { $0 == "*/*" || isHTML($0) }
    }

    static func isHTML(_ mediaType: String) -> Bool {
        mediaType == "text/html" || mediaType == "application/xhtml+xml" || mediaType == "text/*"
    }

    /// Whether a body that starts with these bytes is an HTML page, whatever its type.
    package static func isPage(startingWith body: [UInt8]) -> Bool {
        let start = start(of: body)
        return start.hasPrefix("<!doctype html") || start.hasPrefix("<html")
    }

    /// The first characters of a body after white space, in lower case.
    static func start(of body: [UInt8]) -> Substring {
        let text = String(decoding: body.prefix(256), as: UTF8.self).lowercased()
        return text.drop { $0.isWhitespace || $0 == "\u{FEFF}" }
    }

    /// The host of a captive portal, if only a portal can have sent this head.
    func captivePortal(_ head: ResponseHead, from url: WebURL) -> String? {
        if head.status == 511 { return url.host }
        if expectsJSON, head.isPage || expect == .json && head.hasOtherThanJSON { return url.host }
        return nil
    }

    /// The failure of a fetch whose answer looked like a captive portal's but is the origin's.
    package func ownWay(_ status: Int, host: String) -> FlightFailure {
        (200..<300).contains(status)
            ? .badAnswer("a page, or another body, where JSON was asked for")
            : .redirectRefused(host: host)
    }

    /// Whether an answer is a page that a portal may have sent while it answers for the origin.
    package func isSuspect(_ head: ResponseHead, from url: WebURL) -> Bool {
        isCaptive && !url.isSecure && head.isPage && expect != .any
    }

    /// Whether an answer to a probe is the right origin's.
    ///
    /// Over plain http a portal that answered before may answer again, with a page. Such an answer
    /// leaves the origin captive.
    package func isOwn(_ head: ResponseHead, wasCaptive: Bool) -> Bool {
        if captivePortal(head, from: url) != nil { return false }
        if (300..<400).contains(head.status), let location = head.location,
            case .refused(.captive) = redirect(from: url, to: location)
        {
            return false
        }
        return url.isSecure || !wasCaptive || !head.isPage || expect == .any
    }

    enum Redirect: Equatable {
        case allowed(WebURL)
        case refused(FlightFailure)
    }

    /// Whether a redirect may be followed.
    ///
    /// Allowed targets are:
    /// - the same host and port;
    /// - the flight's first host and port;
    /// - a listed host;
    /// - https on the same host, from http.
    ///
    /// A redirect from https to http is never allowed, because any host on the way could answer
    /// there.
    func redirect(from url: WebURL, to location: String) -> Redirect {
        guard let target = try? url.resolving(location) else {
            return .refused(.badAnswer("a redirect to '\(location)', which is no URL"))
        }
        if target.originText == url.originText { return .allowed(target) }
        guard target.isSecure || !url.isSecure else {
            return .refused(.downgradeRefused(host: target.host))
        }
        let isUpgrade = !url.isSecure && target.isSecure && url.host == target.host
        let isListed = redirectHosts.contains { $0.covers(target) }
        if isUpgrade || isListed || target.originText == self.url.originText {
            return .allowed(target)
        }
        // Over plain http a captive portal can answer, and portals answer like this. A portal names
        // neither another port of the host that was asked nor that host with or without `www.`.
        let isSameSite = Self.site(of: target) == Self.site(of: url)
        return .refused(
            url.isSecure || isSameSite
                ? .redirectRefused(host: target.authority) : .captive(host: target.host)
        )
    }

    /// The host without `www.` at its beginning.
    private static func site(of url: WebURL) -> Substring {
        url.host.hasPrefix("www.") ? url.host.dropFirst(4) : url.host[...]
    }

    /// The method after a redirect (RFC 9110 15.4, RFC 10008); nil if it may not be followed.
    ///
    /// A 301 or 302 would make a GET of a POST, which asks for something else.
    static func method(_ method: ReadMethod, after status: Int) -> ReadMethod? {
        switch (method, status) {
        case (_, 303): .get
        case (.post, 301), (.post, 302): nil
        case (_, _): method
        }
    }

    /// Whether one of a client's header fields can say who it is.
    package static func mayHoldCredential(_ headers: HeaderFields) -> Bool {
        !headers.fields.allSatisfy { harmlessHeaders.contains($0.name.lowercased()) }
    }

    /// The request's own header fields as they go to `url`.
    ///
    /// The origin gets all of them; other hosts get those that ``Carrying`` names.
    package func carried(_ headers: HeaderFields, to url: WebURL) -> HeaderFields {
        let isUpgrade = !self.url.isSecure && url.isSecure && url.host == self.url.host
        if url.originText == self.url.originText || isUpgrade { return headers }
        return headers.keeping { name in
            switch carrying {
            case .form: harmlessHeaders.contains(name)
            case .all(let secrets): !credentialHeaders.contains(name) && !secrets.contains(name)
            }
        }
    }
}

/// Fields that say which form or part of an answer is wanted and nothing about the client.
private let harmlessHeaders: Set = [
    "accept", "accept-charset", "accept-encoding", "accept-language", "if-match", "if-range",
    "range", "user-agent",
]

/// Fields that identify the client.
private let credentialHeaders: Set = ["authorization", "cookie", "proxy-authorization"]

/// The parts of an answer's head that decisions depend on.
package struct ResponseHead: Equatable, Sendable {
    package let status: Int
    package let location: String?
    /// The media type without parameters, in lower case; empty if there is none.
    package let essence: String
    package let retryAfter: Duration?
    /// Whether only the client that asked may see the answer (RFC 9111 5.2.2.7).
    package let isPrivate: Bool
    /// The announced length of the body, if the head has a readable one.
    package let contentLength: Int64?
    /// The freshness that a redirect leaves to the answer it leads to; nil for another status.
    let redirectFreshness: Freshness?
    /// The request headers by which a redirect varies; empty for another status.
    let redirectNames: [String]

    package init(status: Int, headers: HeaderFields, now: Timestamp) {
        self.status = status
        location = headers["Location"]
        isPrivate = CacheControl(headers.list("Cache-Control") ?? "").isPrivate
        contentLength = headers["Content-Length"].flatMap { Int64($0) }
        let isRedirect = (300..<400).contains(status)
        redirectFreshness =
            isRedirect ? Freshness(ofRedirect: status, headers, now: now) : nil
        redirectNames = isRedirect ? Variants.names(in: headers) : []
        essence = Self.essence(of: headers)
        // A date of the origin's clock is compared with the answer's own Date.
        let sent = headers["Date"].flatMap { Timestamp(httpDate: $0, now: now) } ?? now
        retryAfter = headers["Retry-After"].flatMap { value in
            Duration(deltaSeconds: value)
                ?? Timestamp(httpDate: value, now: now).map { max(.zero, $0.since(sent)) }
        }
    }

    package static func essence(of headers: HeaderFields) -> String {
        headers["Content-Type"]?.mediaEssence ?? ""
    }

    /// Whether `headers` announce a body of JSON.
    package static func isJSON(_ headers: HeaderFields) -> Bool { isJSON(essence(of: headers)) }

    /// Whether a media type without parameters is JSON (RFC 6839 3.1).
    static func isJSON(_ essence: String) -> Bool {
        essence == "application/json" || essence.hasSuffix("+json")
    }

    /// Whether `headers` announce JSON whose brackets and quotation marks can be counted by bytes.
    ///
    /// In UTF-16, Shift_JIS or GBK the byte of one may be a part of another character.
    package static func isJSONInASCII(_ headers: HeaderFields) -> Bool {
        let parameters = headers["Content-Type"]?.lowercased().split(separator: ";").dropFirst()
        let charsets = (parameters ?? []).compactMap { parameter -> String? in
            let text = String(parameter).filter { $0 != " " && $0 != "\t" && $0 != "\"" }
            return text.hasPrefix("charset=") ? String(text.dropFirst("charset=".count)) : nil
        }
        let known = ["utf-8", "utf8", "us-ascii", "ascii", "latin1", "iso-8859-", "windows-125"]
        return isJSON(headers)
            && charsets.allSatisfy { charset in known.contains { charset.hasPrefix($0) } }
    }

    /// Whether this is a 2xx with HTML.
    package var isPage: Bool { (200..<300).contains(status) && FlightRules.isHTML(essence) }

    /// Whether this is a 2xx that announces a body that is not JSON.
    var hasOtherThanJSON: Bool {
        (200..<300).contains(status) && status != 204 && status != 205 && contentLength != 0
            && !essence.isEmpty && !Self.isJSON(essence)
    }

    /// Whether the body is server-sent events (HTML 9.2), or pictures of which each replaces the last.
    var isEndless: Bool { ["text/event-stream", "multipart/x-mixed-replace"].contains(essence) }

    /// How long the origin wants no request of this account.
    ///
    /// It is the Retry-After of a 429 or 503, ``Limits/originRetryAfterMax`` at most; nil if there is
    /// none.
    package var rest: Duration? {
        guard status == 429 || status == 503, let retryAfter, retryAfter > .zero else {
            return nil
        }
        return min(retryAfter, Limits.originRetryAfterMax)
    }
}

/// The reason why a flight has no answer that can be kept.
package enum FlightFailure: Equatable, Sendable {
    /// No byte can have left.
    case unreachable(String)
    /// Each connection was closed before a byte of an answer came, the repeated one too.
    case closed
    case addressRefused(String)
    case timeout
    /// The connection was lost in the middle.
    case brokenOff(String)
    case badAnswer(String)
    /// The body cannot be decoded.
    case undecodable(String)
    case captive(host: String)
    case redirectRefused(host: String)
    /// A redirect from https to http.
    case downgradeRefused(host: String)
    /// The body is larger than an entry may be.
    case tooLarge
    /// The body is a stream of events, which ends when its reader does. It is never stored.
    case endless
    case shuttingDown
    case overloaded
    /// The daemon has no resources left to open a connection.
    case shortage(String)

    /// Whether the origin itself names a place that the daemon does not ask for it.
    package var isRefusedRedirect: Bool {
        switch self {
        case .redirectRefused, .downgradeRefused: true
        default: false
        }
    }

    /// Whether asking again immediately can help.
    var isRetryable: Bool {
        switch self {
        case .unreachable, .brokenOff: true
        case .closed, .addressRefused, .timeout, .badAnswer, .undecodable, .captive,
            .redirectRefused, .downgradeRefused, .tooLarge, .endless, .shuttingDown, .overloaded,
            .shortage:
            false
        }
    }
}
