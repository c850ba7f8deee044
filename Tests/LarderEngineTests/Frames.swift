import LarderEngine
import LarderModel
import LarderStore
import LarderTestSupport
import LarderWire

extension FetchFrame {
    /// A snapshot of a JSON answer; from the cache stale and from the network fresh, if not said
    /// otherwise.
    static func snapshot(
        _ source: AnswerSource,
        _ revision: Revision,
        _ url: WebURL,
        json: String,
        etag: String? = nil,
        storedAt: Duration = .zero,
        isStale: Bool? = nil,
        age: Duration = .zero
    ) throws -> FetchFrame {
        let bytes = Array(json.utf8)
        return .snapshot(
            SnapshotFrame(
                source: source,
                revision: revision,
                isStale: isStale ?? (source == .cache),
                age: age,
                entry: FrameEntry(
                    id: try EntryID(url),
                    status: 200,
                    mediaType: "application/json",
                    etag: etag ?? BodySummary(of: bytes, isJSON: true).digest.entityTag,
                    storedAt: ManualClock.start.advanced(by: storedAt),
                    body: .json(bytes)
                )
            )
        )
    }

    /// The end of a fetch whose cache answered at once.
    static func end(
        _ outcome: FetchOutcome,
        _ revision: Revision?,
        cache: Duration? = .zero,
        network: Duration? = nil
    ) -> FetchFrame {
        .end(EndFrame(outcome: outcome, revision: revision, cacheTime: cache, networkTime: network))
    }

    static func unchanged(_ revision: Revision, status: Int) -> FetchFrame {
        .unchanged(UnchangedFrame(revision: revision, status: status))
    }

    /// What stands in a snapshot; nil for other frames.
    var shown: SnapshotFrame? {
        guard case .snapshot(let snapshot) = self else { return nil }
        return snapshot
    }
}

extension FetchResult {
    /// The sources of its snapshots and the names of its other frames: the shape of a stream.
    var shape: [String] {
        frames.map { frame in
            switch frame {
            case .snapshot(let snapshot): snapshot.source.rawValue
            case .unchanged(let unchanged): "unchanged \(unchanged.status)"
            case .deleted(let deleted): "deleted \(deleted.status)"
            case .problem(let frame): "problem \(frame.problem.kind.rawValue)"
            case .origin(let origin): "origin \(origin.origin) \(origin.state)"
            case .heartbeat, .other: frame.type
            case .end(let end): "end \(end.outcome.rawValue)"
            }
        }
    }

    /// What the last snapshot shows.
    var lastShown: SnapshotFrame? { frames.last { $0.shown != nil }?.shown }
}

extension EntryView {
    /// What is made, and its text; nil for a row and for what is deleted.
    var made: (entry: Entry, text: String)? {
        guard case .made(let entry, let bytes) = content else { return nil }
        return (entry, String(decoding: bytes, as: UTF8.self))
    }

    var isDeleted: Bool { if case .deleted = content { true } else { false } }
}

extension EngineFixture {
    /// What the cache has, without asking anybody.
    func cached(_ url: WebURL, as scope: Scope = Self.scope) async throws -> FetchResult {
        try await fetch(url, .cacheOnly, as: scope)
    }

    /// The number of the last step.
    ///
    /// It counts as one itself, so the next one's is one more.
    func step() throws -> Revision {
        try engine.store.nextRevision()
    }
}

extension Revision {
    func next(_ steps: Int64 = 1) -> Revision { Revision(number + steps) }
}

extension ScriptedAnswer {
    static func json(_ body: String, etag: String) -> ScriptedAnswer {
        .json(body, headers: ["ETag": etag])
    }

    static let notModified = ScriptedAnswer.reply(status: 304)
}

extension SnapshotFrame {
    /// The body as text, where it is JSON.
    var text: String {
        entry.body?.text ?? "\(String(describing: entry.content))"
    }
}
