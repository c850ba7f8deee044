package import LarderModel

/// The request of `GET` and `HEAD /o/{origin}/path?query`.
///
/// The query goes to the origin. So the header `Larder-Account` names the account whose credential
/// is used; without the header it is the default account.
package struct RawCommand: Equatable, Sendable {
    package var origin: OriginName
    /// Path and query after the origin's name, as sent: empty, or from `/` or `?` on.
    package var target: String
    package var account = AccountName.default
    /// The header fields that go to the origin.
    package var headers = HeaderFields()

    package static let pathPrefix = "/o/"

    package init(origin: OriginName, target: String) {
        self.origin = origin
        self.target = target
    }

    /// Reads the head of a request to `uri`, which begins with ``pathPrefix``.
    package init(uri: String, headers: HeaderFields) throws(Problem) {
        try self.init(placeIn: uri, headers)
        self.headers = try RequestHeaderRules.forwarded(headers)
    }

    /// Reads the origin, the account and the target, but no header fields for the origin.
    init(placeIn uri: String, _ headers: HeaderFields) throws(Problem) {
        let rest = uri.utf8.dropFirst(Self.pathPrefix.utf8.count)
        let name = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        origin = try Problem.checking { () throws(ModelError) in
            try OriginName(String(Substring(name)))
        }
        if let text = headers["Larder-Account"] {
            account = try Problem.checking("Larder-Account") { () throws(ModelError) in
                try AccountName(text)
            }
        }
        target = String(Substring(rest.dropFirst(name.count)))
    }

    /// The URL of the request: the origin's base URL, then the path and the query.
    ///
    /// Path and query are copied byte for byte, except bytes that a URL may not contain.
    package func url(under base: WebURL) throws(Problem) -> WebURL {
        guard !target.utf8.contains(UInt8(ascii: "#")) else {
            throw Problem(.badURL, "the path contains '#'", hint: "Encode it as %23.")
        }
        var path = base.path
        if path.utf8.last == UInt8(ascii: "/") { path = path.dropLast() }
        let url = try Problem.checking(nil, .badURL) { () throws(ModelError) in
            try WebURL(base.originText + path + target)
        }
        guard !url.hasDotSegments else {
            throw Problem(
                .badURL,
                "the path contains a segment '.' or '..'",
                hint: "Give the path without such segments."
            )
        }
        return url
    }

    /// Whether `url` has the path and query of the request, under any base URL of the origin.
    package func names(_ url: WebURL) -> Bool {
        guard let base = try? WebURL("https://x/x"), let meant = try? self.url(under: base) else {
            return false
        }
        let end = meant.pathAndQuery.utf8.dropFirst(base.path.utf8.count)
        return url.pathAndQuery.utf8.suffix(end.count).elementsEqual(end)
    }

    /// The path of the raw route for `url`, which must be under `base`.
    package static func path(of url: WebURL, origin: OriginName, base: WebURL) -> String {
        var path = base.path
        if path.utf8.last == UInt8(ascii: "/") { path = path.dropLast() }
        let rest = url.pathAndQuery.utf8.dropFirst(path.utf8.count)
        return pathPrefix + origin.text + String(Substring(rest))
    }
}
