import LarderEngine
import LarderJSON
import LarderModel
import LarderTestSupport
import LarderWire
import Synchronization

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
        let reports = try await reports(fixture)
        let (done, excused, complaints) = server.state.withLock {
            ($0.done, $0.excused, $0.complaints)
        }
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

    /// Compares each view with the server's document.
    func compare(_ fixture: EngineFixture) async throws {
        for scope in scopes {
            try await logIn(fixture, scope)
            for path in server.paths {
                let url = try fixture.url(path)
                try await fixture.fetch(url, .networkOnly, as: scope)
                let shown = try await fixture.cached(url, as: scope).lastShown?.text ?? "nothing"
                let value = try? JSONValue(parsing: Array(shown.utf8))
                let expected = server.document(path, account(scope))
                if let value, let expected, value.isSame(as: expected) { continue }
                let text = expected.map { String(decoding: $0.bytes, as: UTF8.self) }
                throw Complaint(
                    description: """
                        \(path) of \(scope) is \(shown), and at the server \(text ?? "nothing"); \
                        \(try await texts(fixture))
                        """
                )
            }
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
