import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

@Suite("Every route shows the same view of an id", .timeLimit(.minutes(5)), .engine)
struct EntryViewTests {
    private let fixture = EngineFixture.running
    private let url = EngineFixture.firstURL

    private static let wait = Duration.seconds(3_600)

    /// What a route says; nothing for a miss, and of what is deleted its status and who says so.
    private struct Told: Equatable {
        var text: String?
        var source: AnswerSource?
        var pending = 0
        var failed = 0
        var isComplete = true
    }

    enum Case: CaseIterable {
        case nothing
        case plain
        case pendingMerge
        case pendingPartOfUnknown
        case pendingPutOnUnknown
        case pendingPutOnTombstone
        case pendingDelete
        case pendingDeleteOfUnknown
        case deadLetter
        case tombstone
    }

    private func accept(_ effect: String, hold: Duration? = Self.wait) async throws -> ModifierID {
        let (target, url) = (try fixture.url("/a"), try fixture.url("/w"))
        let effect = try Effect.json(effect)
        return try await fixture.write(.url(target), effect, "PUT", to: url, id: "m", hold: hold)
    }

    private func prepare(
        _ place: Case,
        _ headers: HeaderFields = HeaderFields()
    ) async throws -> Told {
        let merge = #"{"type":"merge","value":{"m":2}}"#
        let put = #"{"type":"put","value":[2]}"#
        switch place {
        case .plain, .pendingMerge, .pendingDelete, .deadLetter:
            let vary = ["Vary": "Accept-Language"]
            fixture.upstream.answer(url, with: .json(#"{"n":1}"#, headers: vary))
            try await fixture.fetch(url) { $0.headers = headers }
        case .tombstone, .pendingPutOnTombstone:
            try await fixture.cache(url, .reply(status: 404))
        case .nothing, .pendingPartOfUnknown, .pendingPutOnUnknown, .pendingDeleteOfUnknown: break
        }
        switch place {
        case .nothing: return Told()
        case .plain: return Told(text: #"{"n":1}"#, source: .cache)
        case .tombstone: return Told(text: "deleted 404", source: .cache)
        case .pendingMerge:
            _ = try await accept(merge)
            return Told(text: #"{"n":1,"m":2}"#, source: .cache, pending: 1)
        case .pendingPartOfUnknown:
            _ = try await accept(merge)
            return Told(text: #"{"m":2}"#, source: .modifier, pending: 1, isComplete: false)
        case .pendingPutOnUnknown, .pendingPutOnTombstone:
            _ = try await accept(put)
            return Told(text: "[2]", source: .modifier, pending: 1)
        case .pendingDelete:
            _ = try await accept(#"{"type":"delete"}"#)
            return Told(text: "deleted 410", source: .modifier)
        case .pendingDeleteOfUnknown:
            // Case 1: such an effect is left out, and then nothing shows.
            _ = try await accept(#"{"type":"delete"}"#)
            return Told()
        case .deadLetter:
            fixture.upstream.answer(try fixture.url("/w"), with: .reply("no", status: 403))
            let id = try await accept(merge, hold: nil)
            let report = try await fixture.settled(id, wait: Self.wait)
            #expect(report.state == .failed)
            if headers.fields.isEmpty {
                let view = ViewReport.json(Array(#"{"n":1}"#.utf8), isComplete: true)
                let effect = ViewReport.json(Array(#"{"n":1,"m":2}"#.utf8), isComplete: true)
                #expect(report.targets.map(\.before) == [view])
                #expect(report.targets.map(\.after) == [effect])
            }
            return Told(text: #"{"n":1}"#, source: .cache, failed: 1)
        }
    }

    private func got(_ id: EntryID) throws -> Told {
        let reader = try fixture.engine.store.makeReader()
        defer { reader.endTransaction() }
        let now = fixture.clock.now()
        let read = try fixture.engine.view(of: id, for: fixture.scope, reader, now: now) { row, _ in
            row.withBody { String(decoding: $0, as: UTF8.self) }
        }
        guard let view = read else { return Told() }
        let text: String
        switch view.content {
        case .row(let row): text = row
        case .made(_, let bytes): text = String(decoding: bytes, as: UTF8.self)
        case .deleted(let entry):
            return Told(text: "deleted \(entry.status)", source: view.source)
        }
        return Told(
            text: text,
            source: view.source,
            pending: view.overlay.pending.count,
            failed: view.overlay.failed,
            isComplete: view.overlay.isComplete
        )
    }

    private func told(_ frame: SnapshotFrame) -> Told {
        var text: String?
        if case .json(let bytes) = frame.entry.content {
            text = String(decoding: bytes, as: UTF8.self)
        }
        return Told(
            text: text,
            source: frame.source,
            pending: frame.pending,
            failed: frame.failed,
            isComplete: frame.complete
        )
    }

    private func fetched(_ headers: HeaderFields) async throws -> Told {
        let result = try await fixture.fetch(url, .cacheOnly) { $0.headers = headers }
        switch result.frames.first {
        case .snapshot(let frame)?: return told(frame)
        case .deleted(let frame)?:
            return Told(text: "deleted \(frame.status)", source: frame.source)
        case .unchanged?, .problem?, .origin?, .heartbeat?, .end?, .other?, nil: return Told()
        }
    }

    private func batched(_ id: EntryID) async throws -> Told {
        var first = Told()
        try await fixture.engine.entries.batch([id], fixture.scope) { frame in
            switch frame {
            case .snapshot(let frame): first = told(frame)
            case .deleted(let frame):
                let deletion = frame.deletion
                first = Told(text: "deleted \(deletion.status)", source: deletion.source)
            case .miss, .end, .other: break
            }
            return true
        }
        return first
    }

    @Test(
        "A read, a fetch of the cache and a batch say the same, of a variant of the URL too",
        arguments: Case.allCases,
        [nil, "de"]
    )
    func same(place: Case, language: String?) async throws {
        // A deletion is of the URL that it was told of.
        guard place != .tombstone || language == nil else { return }
        var headers = HeaderFields()
        if let language { headers.append("Accept-Language", language) }
        let expected = try await prepare(place, headers)
        let variant = language.map { " accept-language=\($0)" } ?? ""
        let id = try EntryID(try fixture.url("/a").text + variant)
        #expect(try got(id) == expected)
        #expect(try await fetched(headers) == expected)
        #expect(try await batched(id) == expected)
    }

    @Test(
        "A target that a pending write deletes is deleted under every policy",
        arguments: FetchPolicy.allCases
    )
    func deletion(policy: FetchPolicy) async throws {
        _ = try await prepare(.pendingDelete)
        // The origin is away.
        let result = try await fixture.fetch(try fixture.url("/a"), policy)
        guard case .deleted(let frame)? = result.frames.first else {
            Issue.record("\(result)")
            return
        }
        #expect((frame.source, frame.status) == (.modifier, 410))
        #expect(result.frames.count == 2)
        #expect(result.shape.last == "end deleted")
    }
}
