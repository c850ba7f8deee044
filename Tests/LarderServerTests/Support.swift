import LarderModel
import LarderStore
import LarderTestSupport
import LarderWire
import Testing

extension RawResponse {
    /// The answer as a problem, which has to have every member.
    func problem(_ location: SourceLocation = #_sourceLocation) throws -> Problem {
        #expect(headers["Content-Type"] == "application/problem+json", sourceLocation: location)
        let problem = try Problem(decoding: body)
        #expect(problem.status == status, sourceLocation: location)
        #expect(!problem.requestID.isEmpty, sourceLocation: location)
        #expect(!problem.detail.isEmpty, sourceLocation: location)
        #expect(!problem.hint.isEmpty, sourceLocation: location)
        let members = ["type", "title", "status", "detail", "request_id", "retryable", "hint"]
        for member in members {
            #expect(text.contains("\"\(member)\":"), sourceLocation: location)
        }
        return problem
    }

    func frames() throws -> [FetchFrame] {
        try lines.map { try FetchFrame(line: Array($0.utf8)) }
    }
}

extension ServerFixture {
    /// Puts an entry straight into the store, of this process' scope unless another is given.
    @discardableResult
    func store(
        _ id: String,
        _ body: [UInt8],
        kind: EntryKind = .fetched,
        scope: Scope? = nil,
        _ change: (inout Entry) -> Void = { _ in }
    ) async throws -> Revision {
        let now = clock.now()
        var entry = Entry(
            id: try EntryID(id),
            kind: kind,
            storedAt: now,
            revision: Revision(0),
            body: BodySummary(of: body, isJSON: false)
        )
        change(&entry)
        let new = NewEntry(
            scope: scope.map { store.key(for: $0) } ?? self.scope,
            entry: entry,
            body: .inline(body)
        )
        return try await store.put(new, now: now).revision
    }

    /// A small answer of any route shows that the server serves.
    func expectServing(_ location: SourceLocation = #_sourceLocation) async throws {
        let client = try await connect()
        let response = try await client.ask("GET", "/v1/health")
        #expect(response.status == 200, sourceLocation: location)
        await client.hangUp()
    }
}

/// `count` bytes that are no JSON and differ from place to place.
func pattern(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 8)
    while bytes.count < count {
        withUnsafeBytes(of: random.next()) { bytes += $0 }
    }
    return Array(bytes.prefix(count))
}
