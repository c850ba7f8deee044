import LarderModel
import LarderStore
import LarderStrategy
import LarderWire

/// What the client of a fetch gets.
extension FetchSession {
    mutating func showCached() async {
        guard let cached else { return }
        guard cached.entry.kind != .tombstone else {
            return await tellDeleted(
                cached.entry.revision,
                status: cached.entry.status,
                cached.source
            )
        }
        guard let cachedBody else { return }
        await show(cached.source, cached.entry, cachedBody, cached.overlay)
    }

    mutating func show(
        _ source: AnswerSource,
        _ entry: Entry,
        _ body: FrameBody,
        _ overlay: Overlay
    ) async {
        let now = context.clock.now()
        shown = (entry.id, entry.body)
        toldDeletion = nil
        await send(
            .snapshot(
                SnapshotFrame(
                    source: source,
                    revision: entry.revision,
                    isStale: source != .network && entry.isStale(at: now),
                    age: source != .network ? entry.age(at: now) : .zero,
                    entry: FrameEntry(entry, body: body)
                ).adding(overlay)
            )
        )
    }

    mutating func tellDeleted(
        _ revision: Revision,
        status: Int,
        _ source: AnswerSource
    ) async {
        if let id = try? shown?.id ?? cached?.entry.id ?? EntryID(request.url) { shown = (id, nil) }
        known = revision
        toldDeletion = (status, source)
        await send(
            .deleted(DeletedFrame(source: source, revision: revision, status: status))
        )
    }

    mutating func showNetwork(
        _ answer: Landing.Answer,
        _ sequel: FetchMachine<Problem>.Sequel,
        _ reader: StoreReader
    ) async {
        guard let body = await networkBody(answer, reader) else {
            let problem = Problem(
                .badAnswer,
                "what \(request.url) confirmed was evicted meanwhile"
            )
            return hasSent ? await fail(problem, sequel) : refuse(problem)
        }
        await show(answer.source, answer.entry, body, answer.overlay)
        await conclude(sequel, .network, answer.entry.revision)
    }

    /// The body of what the network has; after a 304 it is in the cache.
    private func networkBody(_ answer: Landing.Answer, _ reader: StoreReader) async -> FrameBody? {
        if let body = answer.body {
            guard case .href = body else { return body }
            // The address is the client's, as whoever shares the flight has another account.
            return FrameBody(answer.entry, in: scope.scope, bytes: nil)
        }
        if let cachedBody, cached?.entry.revision == answer.entry.revision { return cachedBody }
        let now = context.clock.now()
        let found = try? await context.answer(sight, answer.entry.id, on: reader, now: now)
        guard let found, found.entry.revision == answer.entry.revision else { return nil }
        return try? await found.frameBody(context.store, scope, now: now)
    }

    /// What the network said as the client sees it: with what its own modifiers make of it.
    ///
    /// Bytes that it has seen already keep the revision that it knows. Where the client's own
    /// modifiers cannot be read, what is shown without them would look as if they were gone.
    func seen(_ landing: Landing, _ reader: StoreReader) async -> Landing {
        let id: EntryID?
        switch landing {
        case .current(let answer): id = answer.entry.id
        case .deleted, .failed: id = try? EntryID(request.url)
        }
        guard let id else { return landing }
        if case .current(let answer) = landing, answer.isNormalized {
            return await seen(answer, reader)
        }
        guard context.isTargeted(scope, id) || context.store.isCopy(scope, id) else {
            guard case .current(var answer) = landing,
                let failed = try? reader.failures(scope, id), failed > 0
            else { return landing }
            answer.overlay = Overlay(pending: [], failed: failed, isComplete: true)
            return .current(answer)
        }
        let row: CachedAnswer
        do throws(StoreError) {
            if case .current(let answer) = landing, !answer.isKept {
                let landing = try await context.seen(answer, in: scope, on: reader)
                guard case .current(let answer) = landing else { return landing }
                return .current(knownByItsRevision(answer))
            }
            let now = context.clock.now()
            guard let found = try await context.answer(sight, id, on: reader, now: now) else {
                return landing
            }
            row = found
        } catch {
            return .failed(Problem(error))
        }
        switch landing {
        case .failed: return row.isDeletedByModifier ? deleted(row) : landing
        case .deleted(_, let status, _):
            if row.isDeletedByModifier { return deleted(row) }
            return row.entry.kind == .tombstone ? landing : .current(answer(row, status: status))
        case .current(let answer):
            guard row.entry.kind != .tombstone else { return deleted(row) }
            return .current(self.answer(row, status: answer.status))
        }
    }

    private func deleted(_ row: CachedAnswer) -> Landing {
        .deleted(
            row.entry.revision,
            status: row.entry.status,
            source: row.source == .modifier ? .modifier : .network
        )
    }

    /// A normalized answer as it is kept, as what it shows may be newer than what it brought; where it
    /// is gone already, as it came.
    private func seen(_ answer: Landing.Answer, _ reader: StoreReader) async -> Landing {
        let now = context.clock.now()
        let isPartial = request.isPartial
        let found = try? await context.answer(
            sight,
            answer.entry.id,
            on: reader,
            now: now,
            isPartial: isPartial
        )
        guard let row = found else {
            return answer.body == nil
                ? .failed(
                    Problem(.badAnswer, "what \(request.url) confirmed was evicted meanwhile")
                )
                : .current(answer)
        }
        guard row.entry.kind != .tombstone else { return deleted(row) }
        return .current(self.answer(row, status: answer.status))
    }

    private func answer(_ row: CachedAnswer, status: Int) -> Landing.Answer {
        var body: FrameBody?
        if case .ready(let ready) = row.body { body = ready }
        var answer = Landing.Answer(entry: row.entry, body: body, status: status)
        answer.overlay = row.overlay
        if row.source == .modifier { answer.source = .modifier }
        return knownByItsRevision(answer)
    }

    private func knownByItsRevision(_ answer: Landing.Answer) -> Landing.Answer {
        guard let cached, cached.entry.body == answer.entry.body else { return answer }
        var answer = answer
        answer.entry.revision = cached.entry.revision
        return answer
    }

    mutating func fail(_ problem: Problem, _ sequel: FetchMachine<Problem>.Sequel) async {
        await send(.error(problem))
        await conclude(sequel, .error, cached?.entry.revision)
    }

    /// Behind the last word on what was asked.
    mutating func conclude(
        _ sequel: FetchMachine<Problem>.Sequel,
        _ outcome: FetchOutcome,
        _ revision: Revision?
    ) async {
        switch sequel {
        case .follow: known = revision
        case .end: await end(outcome, revision)
        }
    }

    private mutating func end(_ outcome: FetchOutcome, _ revision: Revision?) async {
        await send(
            .end(
                EndFrame(
                    outcome: outcome,
                    revision: revision,
                    cacheTime: cacheTime,
                    networkTime: networkTime
                )
            )
        )
        isOver = true
    }

    mutating func refuseAsDeleted(_ status: Int?) {
        var problem = Problem(.deleted, "the origin says that \(request.url) is gone")
        problem.originStatus = status
        refuse(problem)
    }

    mutating func refuse(_ problem: Problem) {
        refusal = problem
        isOver = true
    }

    mutating func send(_ frame: FetchFrame) async {
        guard !isOver else { return }
        hasSent = true
        if !(await emit(frame)) { nobodyReads() }
    }

    mutating func nobodyReads() {
        machine.clientHungUp()
        isOver = true
    }
}
