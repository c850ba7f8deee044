package import LarderModel
package import LarderStore
package import LarderWire

/// Modifiers that were submitted before: nothing of the present is asked about them.
extension Modifiers {
    /// The modifiers of a command that were accepted before, and their submissions.
    ///
    /// A different modifier under a known id is refused, whatever other fault it has.
    func repeated(
        _ command: ModifiersCommand,
        _ scope: ScopeKey,
        _ byteCount: Int
    ) async throws(Problem) -> [ModifierID: Submission] {
        let ids = command.modifiers.compactMap(\.id)
        guard !ids.isEmpty else { return [:] }
        return try await storingAll { () async throws(StoreError) in
            let found = try await store.modifiers.submissions(of: ids, scope)
            let areSame = try await store.work(onBytes: found.isEmpty ? 0 : byteCount) {
                command.modifiers.allSatisfy { modifier in
                    guard let submission = modifier.id.flatMap({ found[$0] }) else { return true }
                    return modifier.digest == submission.digest
                }
            }
            guard areSame else { throw StoreError.modifierExists }
            return found
        }
    }

    func receipt(
        _ modifier: NewModifier,
        _ acceptance: Acceptance
    ) async throws(Problem) -> ModifierReceipt {
        switch acceptance {
        case .accepted(_, let revision, _, _):
            return ModifierReceipt(
                id: modifier.id,
                state: modifier.holdUntil == nil ? .queued : .held,
                revision: revision
            )
        case .existing(let number, let revision, _):
            return try await receipt(number, modifier.id, modifier.scope, revision)
        }
    }

    func receipt(
        _ number: ModifierNumber,
        _ id: ModifierID,
        _ scope: ScopeKey,
        _ revision: Revision
    ) async throws(Problem) -> ModifierReceipt {
        let report = try await ModifierReports(context: context).report(of: number, id, scope)
        return ModifierReceipt(
            id: id,
            state: report.state,
            revision: revision,
            settledAt: report.settledAt
        )
    }

    /// The destination of a write, by the client's preference or by the rule of the origin.
    ///
    /// A modifier that was accepted before under its key goes to the same URL, even if its origin
    /// changed.
    package func destination(
        of write: RawWriteCommand,
        _ scope: ScopeKey
    ) async throws(Problem) -> WriteDestination {
        guard !write.isSafe else {
            let (url, origin) = try write.place.place(context, scope)
            return .pass(url, origin)
        }
        let named = write.place.named(context, scope)
        let keyHeader = (named?.modifiers ?? ModifierRules()).idempotency.header
        // The key of a write that is passed on may be any text.
        if let id = try? write.id(under: keyHeader),
            let known = try await storing(await store.modifiers.submissions(of: [id], scope)[id]),
            let url = known.url, write.place.names(url, of: known.origin)
        {
            _ = try write.queuedHeaders()
            return .queue(url, keyHeader: keyHeader)
        }
        let (url, origin) = try write.place.place(context, scope)
        var destination = WriteDestination.pass(url, origin)
        let isQueued = write.prefersAsync || origin.modifiers.respondsAsync
        if isQueued {
            destination = .queue(url, keyHeader: origin.modifiers.idempotency.header)
        }
        // A client may say for all its requests that it does not wait; a read is answered as ever.
        guard let method = ReadMethod(rawValue: write.method),
            method == .query || origin.isPostRead(url), write.hasPlainBody
        else {
            if isQueued { _ = try write.queuedHeaders() }
            return destination
        }
        let type = write.headers["Content-Type"] ?? MediaType.json
        let read = PossibleRead(method: method, url: url, mediaType: type)
        return .read(read, orElse: destination)
    }
}

/// How a write on the raw routes goes to its origin.
package indirect enum WriteDestination: Sendable {
    /// As a modifier, with the name of the header that has its idempotency key.
    case queue(WebURL, keyHeader: String)
    /// Now, while the client waits for the answer.
    case pass(WebURL, OriginSettings)
    /// As a read if its body is one's.
    case read(PossibleRead, orElse: WriteDestination)
}

/// A request on the raw routes that is a read unless its body says otherwise.
package struct PossibleRead: Sendable {
    package let method: ReadMethod
    let url: WebURL
    let mediaType: String

    /// The body as one of a read; nil if the request is a write.
    package func content(_ body: [UInt8]) -> RequestContent? {
        guard GraphQLRequest.refusal(of: body, mediaType: mediaType, at: url) == nil else {
            return nil
        }
        return RequestContent(method, mediaType: mediaType, bytes: body)
    }
}

extension ModifierCommand {
    /// The digest by which a repeated command is told from another one.
    var digest: Digest {
        BodySummary(of: encodedJSON(), isJSON: true).digest
    }
}

extension RawCommand {
    /// The settings of the origin that the command names; nil if there is no such origin.
    func named(_ context: EngineContext, _ scope: ScopeKey) -> OriginSettings? {
        switch target {
        case .path(_, let origin): context.origins.origin(named: origin, for: scope.scope.uid)
        case .url(let url): context.origins.origin(of: url, for: scope.scope.uid)
        }
    }

    /// The URL of the command and the origin whose rules apply to it.
    ///
    /// The named origin gives the start of the URL. The URL decides on the rules, so that they are
    /// the same by every route.
    func place(
        _ context: EngineContext,
        _ scope: ScopeKey
    ) throws(Problem) -> (WebURL, OriginSettings) {
        let url: WebURL
        switch target {
        case .url(let given): url = given
        case .path(_, let origin):
            guard let named = named(context, scope) else {
                throw Problem(
                    .unknownOrigin,
                    "no origin has the name '\(origin)'",
                    status: 404,
                    hint: "GET /v1/origins names the origins that there are."
                )
            }
            url = try self.url(under: named.baseURL)
        }
        return (url, try context.origin(of: url, in: scope))
    }
}
