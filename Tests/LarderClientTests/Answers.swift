import LarderClient
import LarderModel
import LarderTestSupport
import LarderWire

extension OriginAnswer {
    /// A problem, as the daemon sends it.
    static func problem(_ problem: Problem) -> OriginAnswer {
        let headers = ["Content-Type": Problem.mediaType]
        return reply(problem.status, headers, body: problem.encoded())
    }

    /// The lines of a fetch, each in a chunk of its own.
    static func frames(_ frames: FetchFrame...) -> OriginAnswer {
        OriginAnswer(
            [.fetchHead]
                + frames.map { .chunk($0.encodedLine()) }
                + [.chunk([])]
        )
    }
}

extension OriginAnswer.Step {
    static let fetchHead = head(
        200,
        ["Content-Type": "application/jsonl", "Transfer-Encoding": "chunked"]
    )
}

/// Frames as the daemon sends them.
enum Frames {
    static let url = "https://api.example.com/articles/42"

    static func snapshot(
        _ source: AnswerSource,
        _ body: FrameBody,
        revision: Int64 = 7,
        isStale: Bool = false
    ) throws -> FetchFrame {
        .snapshot(
            SnapshotFrame(
                source: source,
                revision: Revision(revision),
                isStale: isStale,
                age: .milliseconds(1_500),
                entry: FrameEntry(
                    id: try EntryID(url),
                    status: 200,
                    mediaType: "application/json",
                    etag: "\"a1\"",
                    storedAt: Timestamp(milliseconds: 1_700_000_000_000),
                    body: body
                )
            )
        )
    }

    static func end(_ outcome: FetchOutcome) -> FetchFrame {
        .end(EndFrame(outcome: outcome, revision: Revision(8)))
    }

    static let unchanged = FetchFrame.unchanged(
        UnchangedFrame(revision: Revision(8), status: 304)
    )
    static let deleted = FetchFrame.deleted(DeletedFrame(revision: Revision(8), status: 404))
}

/// Runs `body` with a scripted daemon and a client of it, and ends both.
func withDaemon(
    account: String = "default",
    _ body: (ScriptedDaemon, LarderClient) async throws -> Void
) async throws {
    let daemon = try await ScriptedDaemon()
    let client = LarderClient(socket: .path(daemon.path), account: account)
    do {
        try await body(daemon, client)
    } catch {
        await client.shutdown()
        await daemon.stop()
        throw error
    }
    await client.shutdown()
    await daemon.stop()
}

/// An update in a form that can be compared.
func describe(_ update: FetchUpdate) -> String {
    switch update {
    case .snapshot(let snapshot):
        let body = snapshot.inlineBody.map { String(decoding: $0, as: UTF8.self) } ?? "(href)"
        return "\(snapshot.source) \(snapshot.rev) \(body)"
    case .unchanged: return "unchanged"
    case .deleted: return "deleted"
    case .failed(let problem): return "failed \(problem.type)"
    case .origin(let origin): return "origin \(origin.origin) \(origin.state)"
    case .end(let outcome): return "end \(outcome)"
    }
}

/// All updates of a fetch.
func collect(_ frames: FetchFrames) async throws(LarderError) -> [String] {
    var updates: [String] = []
    for try await update in frames { updates.append(describe(update)) }
    return updates
}
