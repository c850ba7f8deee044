import LarderJSON
package import LarderModel

/// The request of `/o/{origin}/path?query` with any method but `HEAD`, `TRACE` and `CONNECT`.
///
/// A `GET` is one if it has a body.
/// The daemon sends the request to the origin as a modifier, or passes it on.
package struct RawWriteCommand: Equatable, Sendable {
    /// The origin, the account and the target.
    package let place: RawCommand
    package let method: String
    /// The header fields that the client gave, without those of the connection and for the daemon.
    package let headers: HeaderFields
    /// Whether the client says that it does not wait for the origin's answer (RFC 7240 4.1).
    package let prefersAsync: Bool

    /// Reads the head of a request to `uri`: ``RawCommand/pathPrefix`` or an absolute URL.
    package init(method: String, uri: String, headers: HeaderFields) throws(Problem) {
        place = try RawCommand(placeIn: uri, headers)
        self.method = method
        prefersAsync = headers.listed("Prefer").contains { preference in
            preference.prefix { $0 != "=" && $0 != ";" } == "respond-async"
        }
        self.headers = try RequestHeaderRules.passed(headers)
    }

    /// Whether the request changes nothing at the origin.
    ///
    /// RFC 9110 9.2.1, RFC 4918 9.1, RFC 3253 3.6, RFC 5323 2. The daemon answers a QUERY (RFC 10008)
    /// as a read if it can read the body.
    package var isSafe: Bool {
        ["GET", "OPTIONS", "PROPFIND", "REPORT", "SEARCH"].contains(method)
    }

    /// Whether the body is as its Content-Type says, and not of several parts.
    package var hasPlainBody: Bool {
        let coding = headers.list("Content-Encoding")
        return coding?.isEqual(to: "identity") ?? true
            && !(headers["Content-Type"] ?? "").mediaEssence.hasPrefix("multipart/")
    }

    /// The header fields of the modifier, with the Content-Type of the body.
    ///
    /// Throws for a field that no modifier may have.
    package func queuedHeaders() throws(Problem) -> HeaderFields {
        try RequestHeaderRules.queued(headers)
    }

    /// Limit of the body's size; the daemon parses a patch, so it has the limit of a command.
    package var bodyBytesMax: Int {
        method == "PATCH" ? Limits.commandBodyBytesMax : Limits.modifierBodyBytesMax
    }

    /// The modifier that sends the request to `url`, which is also its target.
    ///
    /// If the client gives a key in the header `keyHeader` of the origin, the key is the modifier's
    /// id. So a repeated request is the same modifier.
    package func modifier(
        to url: WebURL,
        keyHeader: String,
        body: [UInt8]
    ) throws(Problem) -> ModifierCommand {
        try refuseUnreadable()
        let target = try Problem.checking(nil, .badURL) { () throws(ModelError) in
            try EntryID(url)
        }
        var sent = try queuedHeaders()
        sent.remove(keyHeader)
        let request = ModifierCommand.Request(
            method: method,
            url: url,
            headers: sent,
            body: body.isEmpty && headers["Content-Type"] == nil ? .none : .bytes(body)
        )
        let effect = try effect(of: body)
        let change = ModifierCommand.Change(target: target, effect: effect)
        // An effect that changes nothing also has the target, so the daemon sends it in order.
        var command = ModifierCommand(changes: [change], request: request)
        command.id = try id(under: keyHeader)
        command.account = place.account
        return command
    }

    /// The key that the client gives in the origin's key header.
    ///
    /// The value is the key itself or a string of a structured field (RFC 9651 3.3.3).
    package func id(under header: String) throws(Problem) -> ModifierID? {
        guard let text = headers[header] else { return nil }
        var key = text[...]
        if key.utf8.count > 2, key.hasPrefix("\""), key.hasSuffix("\"") {
            key = key.dropFirst().dropLast()
        }
        do throws(ModelError) {
            return try ModifierID(String(key))
        } catch {
            throw Problem(
                .badRequest,
                "\(header): \(error.message)",
                hint: "Give a UUID, or leave the header out: the daemon makes a key."
            )
        }
    }

    /// Refuses a part of a body, a content coding, and an `If-Match` with a tag of the daemon.
    private func refuseUnreadable() throws(Problem) {
        try RequestHeaderRules.refusePart(headers)
        guard let tags = headers.list("If-Match"), tags.contains("\"larder-") else { return }
        throw Problem(
            .unsupported,
            "If-Match: the tag is the daemon's own, which no origin knows",
            hint: "Leave the field out: the daemon sends the If-Match that the origin knows."
        )
    }

    // MARK: The effect

    private var mediaType: String { headers["Content-Type"] ?? "" }

    private func effect(of body: [UInt8]) throws(Problem) -> Effect {
        switch method {
        case "DELETE": return .delete
        case "PUT": return try put(body)
        case "PATCH" where MediaType.isMergePatch(mediaType) || MediaType.isJSON(mediaType):
            return .merge(try json(body))
        case "PATCH" where MediaType.isJSONPatch(mediaType):
            let members = [
                JSONMember(name: "type", value: .string("patch")),
                JSONMember(name: "value", value: try json(body)),
            ]
            do throws(EffectError) {
                return try Effect(.object(members))
            } catch {
                throw Problem(.badRequest, "the body is no JSON Patch: \(error.message)")
            }
        case _: return .none
        }
    }

    private func put(_ body: [UInt8]) throws(Problem) -> Effect {
        guard MediaType.isAnyJSON(mediaType) else { return .replace }
        guard body.count > Limits.inlineJSONBytesMax else { return .put(try json(body)) }
        // A body too large for a JSON value replaces the target as bytes.
        guard JSONValidator.accepts(body) else { throw Self.noJSON(mediaType, "it is malformed") }
        return .replace
    }

    private func json(_ body: [UInt8]) throws(Problem) -> JSONValue {
        do throws(JSONError) {
            return try JSONValue(parsing: body)
        } catch {
            throw Self.noJSON(mediaType, error.message)
        }
    }

    private static func noJSON(_ type: String, _ reason: String) -> Problem {
        Problem(
            .badRequest,
            "the body is no JSON, as its type '\(type)' says: \(reason)",
            hint: "Correct the body, or its Content-Type."
        )
    }
}

/// The request of `GET` and `HEAD` on the raw routes: `/o/{origin}/path?query`, or an absolute URL.
///
/// The query goes to the origin. So the header `Larder-Account` names the account whose credential
/// is used; without the header it is the default account.
package struct RawCommand: Equatable, Sendable {
    package enum Target: Equatable, Sendable {
        /// Path and query after the origin's name, as sent: empty, or from `/` or `?` on.
        case path(String, of: OriginName)
        /// A target in absolute form (RFC 9112 3.2.2).
        case url(WebURL)
    }

    package var target: Target
    package var account = AccountName.default
    /// The policy of a read; nil leaves it to the origin's settings.
    package var policy: FetchPolicy?
    /// The header fields that go to the origin.
    package var headers = HeaderFields()

    package static let pathPrefix = "/o/"

    /// Whether the target of a request is an absolute URL, which has no ``pathPrefix``.
    package static func isAbsolute(_ uri: some StringProtocol) -> Bool {
        ["http://", "https://"].contains { scheme in
            uri.utf8.count >= scheme.utf8.count
                && String(uri.prefix(scheme.utf8.count)).isEqual(to: scheme)
        }
    }

    /// Reads the head of a request to `uri`: ``pathPrefix`` or an absolute URL.
    package init(uri: String, headers: HeaderFields) throws(Problem) {
        try self.init(placeIn: uri, headers)
        policy = try headers["Larder-Policy"].map { name throws(Problem) in
            guard let policy = FetchPolicy(rawValue: name) else {
                let names = FetchPolicy.allCases.map(\.rawValue).joined(separator: ", ")
                throw Problem(
                    .badRequest,
                    "Larder-Policy: '\(name)' is no policy",
                    hint: "Give one of \(names)."
                )
            }
            return policy
        }
        self.headers = try RequestHeaderRules.forwarded(headers)
    }

    /// Reads the origin, the account and the target, but no header fields for the origin.
    init(placeIn uri: String, _ headers: HeaderFields) throws(Problem) {
        target = try Self.target(uri)
        if let text = headers["Larder-Account"] {
            account = try Problem.reading("Larder-Account", text, AccountName.init(_:))
        }
    }

    private static func target(_ uri: String) throws(Problem) -> Target {
        guard !uri.utf8.contains(UInt8(ascii: "#")) else {
            throw Problem(.badURL, "the path contains '#'", hint: "Encode it as %23.")
        }
        guard !isAbsolute(uri) else {
            return .url(try Problem.reading(nil, uri, WebURL.init(_:), .badURL))
        }
        let rest = uri.utf8.dropFirst(pathPrefix.utf8.count)
        let name = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        let origin = try Problem.reading(nil, String(Substring(name)), OriginName.init(_:))
        return .path(String(Substring(rest.dropFirst(name.count))), of: origin)
    }

    /// The URL of the request; of a path it is the base URL of its origin, then path and query.
    ///
    /// Path and query are copied byte for byte, except bytes that a URL may not contain.
    package func url(under base: WebURL) throws(Problem) -> WebURL {
        let target: String
        switch self.target {
        case .url(let url): return url
        case .path(let path, of: _): target = path
        }
        var path = base.path
        if path.utf8.last == UInt8(ascii: "/") { path = path.dropLast() }
        let text: String = base.originText + path + target
        let url = try Problem.reading(nil, text, WebURL.init(_:), .badURL)
        guard !url.hasDotSegments else {
            throw Problem(
                .badURL,
                "the path contains a segment '.' or '..'",
                hint: "Give the path without such segments."
            )
        }
        return url
    }

    /// Whether `url` is the URL of the request, under any base URL of the origin with this name.
    package func names(_ url: WebURL, of name: String) -> Bool {
        switch target {
        case .url(let own): return url == own
        case .path(_, let origin): guard origin.text == name else { return false }
        }
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
