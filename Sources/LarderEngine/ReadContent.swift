import CMessageDigest
import LarderAPI
import LarderJSON
package import LarderModel
import LarderStore
import LarderStrategy
import LarderUpstream
import LarderWire

extension RequestContent {
    /// A body with its digest: SHA-256 of method, media type and body, each after its number of bytes
    /// and a colon.
    ///
    /// The type is in lower case. White space outside the strings of JSON does not count.
    package init(_ method: ReadMethod, mediaType: String, bytes: [UInt8]) {
        let type = mediaType.prefix { $0 != ";" }.lowercased() + mediaType.drop { $0 != ";" }
        let isJSON = MediaType.isAnyJSON(mediaType) && JSONValidator.accepts(bytes)
        let counted = isJSON ? Self.withoutSpace(bytes) : bytes
        var context = SHA2_CTX()
        SHA256Init(&context)
        for part in [Array(method.rawValue.utf8), Array(type.utf8), counted] {
            for bytes in [Array("\(part.count):".utf8), part] {
                SHA256Update(&context, bytes, bytes.count)
            }
        }
        var hash = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        SHA256Final(&hash, &context)
        self.init(method, mediaType: mediaType, bytes: bytes, digest: hash.hexadecimal)
    }

    /// Whether it has the digest that the id of its row names.
    fileprivate var isSound: Bool {
        RequestContent(method, mediaType: mediaType, bytes: bytes) == self
    }

    /// The bytes of a JSON text without white space outside its strings.
    private static func withoutSpace(_ json: [UInt8]) -> [UInt8] {
        var (isInString, isEscaped) = (false, false)
        return json.filter { byte in
            if isInString {
                (isInString, isEscaped) = (
                    byte != UInt8(ascii: "\"") || isEscaped,
                    byte == UInt8(ascii: "\\") && !isEscaped
                )
                return true
            }
            isInString = byte == UInt8(ascii: "\"")
            return ![0x20, 0x09, 0x0A, 0x0D].contains(byte)
        }
    }

    /// The body of a fetch that a command gives; nil for a GET.
    init?(_ options: FetchOptions) throws(Problem) {
        let given = try GivenBody(options.body?.bytes, options.bodyText, base64: options.bodyB64)
        let method = options.method.map { ReadMethod(rawValue: $0) } ?? .get
        guard let method else {
            let name = options.method ?? ""
            throw Problem(.badRequest, "method: '\(name)' is not GET, POST or QUERY")
        }
        guard method != .get else {
            guard given == nil, options.contentType == nil else {
                throw Problem(
                    .badRequest,
                    "\(given?.name ?? "content_type"): a GET has no body",
                    hint: "Give the method: POST or QUERY."
                )
            }
            return nil
        }
        let body = given ?? GivenBody(name: "body", bytes: [], type: MediaType.json)
        let coding = options.headers?.members.first { $0.name.lowercased() == "content-encoding" }
        guard coding == nil else {
            throw Problem(
                .unsupported,
                "headers: a body with a Content-Encoding is not looked into, so it is no read",
                hint: "Send the body without a Content-Encoding."
            )
        }
        let type = options.contentType ?? body.type
        guard !type.isEmpty, type.utf8.count <= Limits.readTypeBytesMax,
            type.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F })
        else { throw Problem(.badRequest, "content_type: '\(type)' is no media type") }
        guard body.bytes.count <= Limits.readBodyBytesMax else {
            throw Problem(
                .bodyTooLarge,
                "\(body.name) has \(body.bytes.count) bytes; of a read at most "
                    + "\(Limits.readBodyBytesMax) are taken"
            )
        }
        self.init(method, mediaType: type, bytes: body.bytes)
    }

    /// Throws if the origin's settings do not say that this is a read.
    func checkSettings(_ url: WebURL, _ origin: OriginSettings) throws(Problem) {
        guard method == .post, !origin.isPostRead(url) else { return }
        let path = origin.path(of: url) ?? url.path.description
        throw Problem(
            .notARead,
            "a POST to \(path) is no read by the settings of the origin '\(origin.name)'",
            hint: "If it changes nothing there, name the path in fetch.post_reads of the origin's "
                + "file, then: cachectl reload. An origin without a file is added again, with its "
                + "other options: cachectl origin add --replace \(origin.name) \(origin.baseURL) "
                + "--post-read '\(path)' (for GraphQL --graphql '\(path)')."
        )
    }

    /// Throws if the origin's settings do not say that this is a read, or if it is a GraphQL
    /// operation that is none.
    func check(_ url: WebURL, _ origin: OriginSettings) throws(Problem) {
        try checkSettings(url, origin)
        let reason = GraphQLRequest.refusal(of: bytes, mediaType: mediaType, at: url)
        guard let reason else { return }
        throw Problem(
            .notARead,
            reason,
            hint: "Send it as a modifier: POST /v1/modifiers."
        )
    }
}

extension FetchRequest {
    /// The request that asks for an id again; nil if there is no origin for it, or if the request of
    /// a read with a body is no longer stored.
    static func again(
        _ id: EntryID,
        in scope: ScopeKey,
        _ context: EngineContext
    ) async -> FetchRequest? {
        guard id.isOfRequest else {
            return context.address(of: id, in: scope).map { url, origin in
                FetchRequest(FetchOrder(url: url), origin: origin)
            }
        }
        guard let own = id.urlOfRequest, let (url, origin) = context.address(of: own, in: scope)
        else {
            return nil
        }
        var order = FetchOrder(url: url)
        let (places, now) = (context.lookupScopes(scope, id).scopes, context.clock.now())
        do throws(StoreError) {
            order.content = try await context.store.read(as: .sending) {
                reader throws(StoreError) in
                for place in places {
                    let found = try reader.withEntry(place, id, now: now, isUse: false) { row in
                        row.entry()?.request
                    }
                    if let found = found ?? nil { return found }
                    if let lost = try reader.lostRequest(place, id), lost.isSound { return lost }
                }
                return nil
            }
        } catch {
            context.noteUnread(error)
        }
        return order.content.map { _ in FetchRequest(order, origin: origin) }
    }
}

extension EntryID {
    /// The origin to ask for the id, of a read with a body too; nil if none can give it.
    func readOrigin(in scope: ScopeKey, _ context: EngineContext) -> OriginSettings? {
        guard isOfRequest else { return context.address(of: self, in: scope)?.origin }
        return urlOfRequest.flatMap { context.address(of: $0, in: scope)?.origin }
    }
}

extension OriginSettings {
    func isPostRead(_ url: WebURL) -> Bool {
        !fetch.postReads.isEmpty && path(of: url).map(fetch.isPostRead) == true
    }
}

extension Flight.Plan {
    /// The id of the row that the request is for, as far as it is known before the answer.
    ///
    /// `names` are the request headers by which an answer without a body varies.
    func rowID(_ context: EngineContext, _ names: [String] = []) -> EntryID? {
        if let cached { return cached.id }
        return key.id.flatMap {
            try? context.variants.id(of: $0, names: names, request: key.headers, origin: origin)
        }
    }

    /// Whether later requests need `names` to find an answer without a body.
    ///
    /// Names that are remembered already stay, as the answers that vary are found by them.
    func beginsVariant(
        _ names: [String],
        _ context: EngineContext
    ) async throws(StoreError) -> Bool {
        guard cached == nil, names.contains(where: { key.headers[$0] != nil }), let id = key.id,
            let marker = try? Variants.markerID(of: id)
        else { return false }
        let (places, now) = (context.lookupScopes(key.scope, id).scopes, context.clock.now())
        return try await context.store.read { reader throws(StoreError) in
            for place in places {
                let isEmpty = try reader.withEntry(place, marker, now: now, isUse: false) { row in
                    row.withBody { $0.isEmpty }
                }
                if isEmpty == false { return false }
            }
            return true
        }
    }

    /// Whether a 304 names a header of the request by which the cached answer did not vary.
    ///
    /// The answer then needs another id, which only a whole answer gets.
    func varies(by answer: HeaderFields) -> Bool {
        let known = Variants.names(in: cached?.headers ?? HeaderFields()) + origin.fetch.vary
        return Variants.names(in: answer).contains { name in
            !known.contains(name) && key.headers[name] != nil
        }
    }

    /// Whether a variant was cached for the request, and the answer has another id: later requests
    /// must no longer look for that variant.
    func leavesVariant(for id: EntryID) -> Bool {
        cached.map { $0.id != id && Variants.url(of: $0.id) != nil } ?? false
    }

    func headers(for attempt: FlightMachine.Attempt, _ rules: FlightRules) -> HeaderFields {
        var headers = rules.carried(key.headers, to: attempt.url)
        if attempt.method != .get, let content = key.content {
            headers.set("Content-Type", content.mediaType)
        }
        guard attempt.isConditional, let cached else { return headers }
        if let etag = cached.etag { headers.set("If-None-Match", etag) }
        if let date = cached.lastModified { headers.set("If-Modified-Since", date) }
        return headers
    }

    /// Makes the cached row stale if the origin has sent another answer, and forbids to keep it.
    ///
    /// The row stays as the answer for an outage. A shared row is in another scope than a private
    /// answer, and a newer row has other bytes.
    func noteUnkept(_ answer: FlightAnswer, _ context: EngineContext) async {
        guard answer.isForbidden, answer.isResult, let cached, cached.body != answer.entry.body,
            !cached.isStale(at: context.clock.now())
        else { return }
        let (id, digest) = (cached.id, cached.body.digest)
        let scopes = context.lookupScopes(key.scope, id).scopes
        do throws(StoreError) {
            try await context.store.markStale(id, of: digest, in: scopes)
        } catch {
            context.noteUnstored(id, error)
        }
    }

    /// The problem of a refused read; a retry may succeed while a client renews the credential.
    func refusal(_ status: Int, _ credentials: CredentialTable) -> Problem {
        var problem = Problem(refusal: status, "\(key.url.originText) answered \(status)")
        if problem.wantsCredential, credentials.isRenewed(origin, payer.scope) {
            problem.retryable = true
        }
        return problem
    }

    /// The refusal in the body of a 2xx, by the origin's `refused_if`; nil if it is an answer.
    ///
    /// A body that is too large to be looked through is no answer to a read with a body, nor to a
    /// GET on a path of such reads.
    func refusal(in taken: BodyReceiver.ReceivedBody, _ reply: UpstreamReply) -> FlightOutcome? {
        let rules = origin.fetch.refusedIf
        guard !rules.isEmpty else { return nil }
        guard let bytes = taken.bytes else {
            let mayHaveErrors = key.content != nil || origin.isPostRead(key.url)
            let isUnseen = mayHaveErrors && ResponseHead.isJSON(reply.headers)
            return isUnseen ? .failed(Problem(.tooLarge, of: self)) : nil
        }
        guard let rule = rules.rule(matching: bytes) else { return nil }
        var problem = Problem(
            .originStatus,
            "\(key.url.originText) answered \(reply.status) with a value at \(rule.pointer), which "
                + "is a refusal"
        )
        problem.pointer = rule.pointer
        return FlightOutcome(OriginRefusal(reply, bytes, isWhole: true), problem)
    }

    /// The outcome of an answer that is too large for where it would go.
    ///
    /// The problem has the status if that is the reason why the answer is not stored.
    func tooLarge(_ reply: UpstreamReply, _ freshness: Freshness) -> FlightOutcome {
        var problem = Problem(.tooLarge, of: self)
        let isResult = Freshness.isResult(reply.status, of: key.content?.method ?? .get)
        if !isResult, !freshness.mayBeStored { problem.originStatus = reply.status }
        return .failed(problem)
    }

    /// The outcome of an answer that is none, or a redirect that the client is left to follow.
    func end(
        _ failure: FlightFailure,
        _ reply: UpstreamReply,
        _ url: WebURL
    ) async -> FlightOutcome {
        let problem = Problem(failure, of: self)
        guard quotesOrigin, failure.isRefusedRedirect,
            let words = await OriginRefusal(whole: reply)
        else { return .failed(problem) }
        return .refused(words.redirecting(from: url), problem)
    }
}

extension FlightOutcome {
    /// The outcome for a client, which may have joined the flight of another account or user.
    ///
    /// If the origin refuses the credential, the hint names the command for the client's account.
    func told(_ scope: ScopeKey, _ origin: OriginSettings, _ hasStarted: Bool) -> FlightOutcome {
        let outcome = hasStarted ? self : forOthers
        guard case .refused(let refusal, var problem) = outcome, problem.wantsCredential else {
            return outcome
        }
        problem.nameLogin(CredentialName(scope.scope, at: origin.name).loginCommand)
        return .refused(refusal, problem)
    }
}

extension OriginRefusal {
    /// Nil if the body is too long to be quoted, or breaks off.
    init?(whole reply: UpstreamReply) async {
        let length = reply.headers["Content-Length"].flatMap { Int($0) } ?? 0
        guard length <= Limits.quotedBodyBytesMax else { return nil }
        let (body, isWhole) = await reply.body.read(upTo: Limits.quotedBodyBytesMax)
        guard isWhole else { return nil }
        self.init(reply, body, isWhole: true)
    }

    /// The same with a Location that names its scheme and host: the client asks under another URL.
    func redirecting(from url: WebURL) -> OriginRefusal {
        var refusal = self
        let location = headers["Location"].flatMap { try? url.resolving($0) }
        if let location { refusal.headers.set("Location", location.text) }
        return refusal
    }
}
