import LarderEngine
import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderWire
import Synchronization

import struct LarderAPI.ModifierReport

/// Checks of the judge.
extension DocumentWriter {
    /// Reads a document or not, and checks what is shown of it.
    mutating func look(_ fixture: EngineFixture, _ scope: Scope) async throws {
        let path = random.pick(server.paths.filter { $0 != "/todos" })
        let name = DocumentServer.name(path, account(scope))
        let (url, place) = (try fixture.url(path), "\(scope) \(name)")
        let floor = floors[place] ?? 0
        if random.next() % 2 == 0 {
            let shown = await fetched(url, fixture, scope)
            guard !server.plan.hasCopied else { return }
            // Until then the user may be shown what is older.
            let version = shown.flatMap { server.version(of: name, $0, since: floor) }
            floors[place] = version ?? floor
        }
        let cached = try await fixture.cached(url, as: scope).lastShown
        guard !server.plan.hasCopied, let cached, cached.pending == 0 else { return }
        let words = server.words(of: name, since: floors[place] ?? floor)
        for (member, value) in cached.members where member != "tags" {
            guard !words.contains(where: { $0[member] == value }) else { continue }
            throw Complaint(
                description: """
                    \(place) shows \(cached.text), whose \(member) the server has not said since \
                    version \(floors[place] ?? floor): \(words); \(try await texts(fixture))
                    """
            )
        }
    }

    /// The document that a read brings from the network, with no write on it; nil without one.
    private func fetched(
        _ url: WebURL,
        _ fixture: EngineFixture,
        _ scope: Scope
    ) async -> [String: JSONValue]? {
        let fetch = fixture.start(url, .networkOnly, as: scope)
        for _ in 0..<40 {
            server.deliver()
            await pass(.seconds(1), fixture)
            guard case .end? = fetch.frames.all.last else { continue }
            let shown = FetchResult(fetch.frames.all).lastShown
            guard let shown, shown.source == .network, shown.pending == 0 else { return nil }
            return shown.members
        }
        return nil
    }

    /// Compares the outcome of each write with the work of the server.
    mutating func checkOutcomes(_ fixture: EngineFixture) async throws {
        // The server may do a write after its report.
        let reports = try await reportsOfOneMoment(fixture)
        let (done, excused, complaints) = server.state.withLock {
            ($0.done, $0.excused, $0.complaints)
        }
        try checkJoined(reports)
        if let complaint = complaints.first { throw Complaint(description: complaint) }
        let honours = setup.origin.modifiers.idempotency.isHonoured
        // The request of the first of joined writes makes the changes of all.
        for (write, report) in zip(writes, reports) where report.joinedInto == nil {
            let times = done[write.id.text] ?? 0
            let isFalse: Bool
            switch report.state {
            case .confirmed:
                isFalse = times == 0 && write.isUnique && !excused.contains(write.id.text)
            case .cancelled: isFalse = times > 0 && honours && !write.isRetried
            case .failed:
                let isRefused = report.reason == .refused || report.reason == .parentFailed
                isFalse = isRefused && times > 0 && honours && !write.isRetried
            default: isFalse = false
            }
            let isTwice = times > 1 && write.isPost && honours && !write.isRetried
            guard isFalse || isTwice else { continue }
            let answer = report.answer.map { " \($0.status)" } ?? ""
            throw Complaint(
                description: "the server has done \(write.id) \(times) times: "
                    + "\(report.state) \(report.request)\(answer)"
            )
        }
    }

    /// The reports of all writes as they were together at one moment.
    ///
    /// The daemon goes on between two of them: it may cancel a create and its deletion after the
    /// report of the one and before that of the other. If all are the same twice, none has changed
    /// between the end of the first round and the start of the second.
    private func reportsOfOneMoment(_ fixture: EngineFixture) async throws -> [ModifierReport] {
        var last = try await reports(fixture)
        for _ in 0..<Self.reportRoundsMax {
            let next = try await reports(fixture)
            let isSame = zip(last, next).allSatisfy { $0.rev == $1.rev && $0.state == $1.state }
            guard !isSame else { return next }
            last = next
            await Task.yield()
        }
        throw Complaint(description: "these go on changing: \(try await texts(fixture))")
    }

    /// While time stands still, the daemon comes to rest before so many rounds.
    private static let reportRoundsMax = 1_000

    /// Compares each view with the server's document.
    func compare(_ fixture: EngineFixture) async throws {
        for scope in scopes {
            try await logIn(fixture, scope)
            for path in server.paths {
                let url = try fixture.url(path)
                // The first may join a request from before the last write.
                _ = try await read(url, fixture, scope)
                var end = try await read(url, fixture, scope)
                for _ in 0..<20 where end.refusal != nil {
                    end = try await read(url, fixture, scope)
                }
                let shown = try await fixture.cached(url, as: scope).lastShown?.text ?? "nothing"
                let value = try? JSONValue(parsing: Array(shown.utf8))
                let expected = server.document(path, account(scope))
                if let value, let expected, value.isSame(as: expected) { continue }
                let text = expected.map { String(decoding: $0.bytes, as: UTF8.self) }
                throw Complaint(
                    description: """
                        \(path) of \(scope) is \(shown), and at the server \(text ?? "nothing"); \
                        the read ended with \(end.frames.suffix(1)) \(end.refusal?.detail ?? ""); \
                        \(try await texts(fixture))
                        """
                )
            }
        }
        try await checkNames(fixture)
    }

    /// Reads from the network; the read may join one that pauses before it asks again.
    private func read(
        _ url: WebURL,
        _ fixture: EngineFixture,
        _ scope: Scope
    ) async throws -> FetchResult {
        let fetch = fixture.start(url, .networkOnly, as: scope)
        return try await passing(fixture) { _ in try await fetch.result() }
    }

    /// Asks the daemon for something while time passes and answers arrive.
    ///
    /// A write is neither cancelled nor sent again while it waits for a read of its target.
    func passing<Value: Sendable>(
        _ fixture: EngineFixture,
        _ ask: @escaping @Sendable (Engine) async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value?.self) { [server] group in
            group.addTask { try await ask(fixture.engine) }
            group.addTask {
                while !Task.isCancelled {
                    for _ in 0..<1_000 where !Task.isCancelled { await Task.yield() }
                    guard !Task.isCancelled else { break }
                    server.deliver()
                    fixture.clock.advance(by: .seconds(1))
                }
                return nil
            }
            defer { group.cancelAll() }
            guard let value = try await group.next() ?? nil else { throw CancellationError() }
            return value
        }
    }

    /// Checks that the temporary name of each to-do that was created leads to it.
    private func checkNames(_ fixture: EngineFixture) async throws {
        guard setup.origin.normalize != nil else { return }
        for (write, report) in zip(writes, try await reports(fixture)) {
            guard case .creates(let members) = write.change, report.state == .confirmed,
                report.joinedInto == nil, case .string(let mark)? = members["mark"],
                let todo = todos.first(where: { $0.mark == mark })
            else { continue }
            let ids = server.ids(marked: mark)
            guard ids.count == 1, let id = ids.first,
                let expected = server.document("/todos/\(id)", account(write.scope))
            else { continue }
            let isLost = server.state.withLock { $0.rules.fault == .nameIsLost }
            let name = isLost ? todo.name.dropLast() + "x" : todo.name[...]
            let target = try EntryID.entity("Todo:\(name)")
            let reader = try fixture.engine.store.makeReader()
            defer { reader.endTransaction() }
            let (key, now) = (fixture.key(write.scope), fixture.clock.now())
            let text = try fixture.engine.text(of: target, key, reader, now: now)
            let value = text.flatMap { try? JSONValue(parsing: Array($0.utf8)) }
            guard value?.isSame(as: expected) != true else { continue }
            let document = String(decoding: expected.bytes, as: UTF8.self)
            throw Complaint(description: "\(name) is \(text ?? "nothing"), not \(document)")
        }
    }
}

extension SnapshotFrame {
    /// The members of a document but for its name.
    fileprivate var members: [String: JSONValue] {
        let members = (try? JSONValue(parsing: Array(text.utf8)))?.members ?? []
        let named = members.filter { !["type", "id"].contains($0.name) }
        return Dictionary(named.map { ($0.name, $0.value) }) { $1 }
    }
}
