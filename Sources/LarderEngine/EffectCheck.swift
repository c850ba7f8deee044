import LarderJSON
import LarderModel
import LarderStore
import LarderStrategy
import LarderUpstream

/// Asks an origin whether the effects of a modifier are in place.
///
/// The check runs after an attempt with an unknown outcome, if the next attempt met a state that it did
/// not expect.
///
/// Each target gets a request of its own, because a flight may have started before the write. The
/// answer is not stored.
struct EffectCheck: Sendable {
    let context: EngineContext
    /// The modifier, and those that are joined to it.
    let group: [WholeModifier]
    let bases: [EntryID: BodySummary]

    private enum Found {
        case content(TargetContent)
        /// Nothing that can be compared.
        case nothing
        case notNow
    }

    /// Confirmed where all of it is so, a conflict where it is not, and unclear where nothing can be
    /// compared; nil when the daemon is ending.
    func verdict() async -> ModifierVerdict? {
        let notKnown = ModifierVerdict.unclear(.refusedRepeat)
        var effects: [EntryID: [Effect]] = [:]
        for whole in group {
            guard let own = whole.effects else { return notKnown }
            effects.merge(own) { $0.joined(with: $1) }
        }
        guard let modifier = group.first?.modifier, !effects.isEmpty else { return notKnown }
        let scope = context.store.key(for: modifier.scope)
        var contents: [EntryID: TargetContent] = [:]
        for id in effects.keys.sorted(by: { $0.text < $1.text }) {
            guard let (url, origin) = context.address(of: id, in: scope) else { return notKnown }
            let isJSON = id.isEntity || bases[id]?.isJSON ?? false
            switch await ask(url, origin, modifier.scope, isJSON: isJSON) {
            case .content(let content): contents[id] = content
            case .nothing: return notKnown
            case .notNow where Task.isCancelled || context.isDraining: return nil
            case .notNow: return .unclear(.lost)
            }
        }
        if effects.areShown(in: { contents[$0] ?? .unknown }) { return .confirmed(.none) }
        // Another round would do it twice if the first sending was done.
        let isUnsure = effects.values.joined().contains(where: \.isUncheckable)
        return isUnsure ? notKnown : .conflict(.look)
    }

    private func ask(
        _ url: WebURL,
        _ origin: OriginSettings,
        _ scope: Scope,
        isJSON: Bool
    ) async -> Found {
        let rules = FlightRules(
            url: url,
            cachedIsJSON: isJSON,
            accept: nil,
            redirectHosts: origin.redirectHosts,
            bodyHandling: .stored(bytesMax: Int64(Limits.inlineJSONBytesMax))
        )
        // No retries here: the modifier's own next attempt follows.
        var machine = FlightMachine(rules, isOriginDown: true)
        var attempt = machine.started(at: url, hasValidators: false)
        do throws(UpstreamError) {
            while true {
                guard !context.originStates.isManuallyOffline(origin.name) else { return .notNow }
                let request = UpstreamRequest(
                    origin: origin,
                    url: attempt.url,
                    timeout: origin.fetch.timeout,
                    purpose: .write
                )
                let reply = try await context.originStates.ask(request, for: scope)
                let head = reply.head(now: context.clock.now())
                let action = machine.headArrived(head, remaining: .zero, randomUnit: 0)
                if case .giveUp(.captive) = action {
                    let sender = await context.originStates.sender(
                        of: head.status,
                        from: attempt.url,
                        for: origin
                    )
                    return sender == .origin ? .nothing : .notNow
                }
                context.originStates.noteAnswer(origin.name)
                context.originStates.noteRest(of: origin, attempt.url, for: scope, head)
                switch action {
                case .ask(let next): attempt = next
                case .receive:
                    return try await content(of: reply.body).map { .content($0) } ?? .nothing
                case .writeTombstone: return .content(.deleted)
                case .quote(401), .quote(407), .quote(408), .quote(425), .quote(429),
                    .quote(500...599):
                    return .notNow
                case .quote, .giveUp, .refresh, .pass, .pause, .nothing: return .nothing
                }
            }
        } catch {
            if error.isConnectFailure, origin.isHost(of: attempt.url) {
                context.originStates.noteConnectFailure(origin.name)
            }
            return .notNow
        }
    }

    /// Nil if the body is not JSON, or too large: it is then not compared.
    private func content(of body: UpstreamBody) async throws(UpstreamError) -> TargetContent? {
        var bytes: [UInt8] = []
        while let piece = try await body.next() {
            bytes += piece
            guard bytes.count <= Limits.inlineJSONBytesMax else { return nil }
        }
        return (try? JSONValue(parsing: bytes)).map { .json($0) }
    }
}

extension [Effect] {
    /// These effects and then others, as a request makes both: what a delete removes need not fit.
    fileprivate func joined(with next: [Effect]) -> [Effect] {
        guard let last, next.count == 1, let both = last.joined(with: next[0]) else {
            return self + next
        }
        return dropLast() + [both]
    }
}
