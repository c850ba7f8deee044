import LarderAPI
import LarderClient
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("A batch of a client", .timeLimit(.minutes(5)))
struct BatchTests {
    private static let path = "/v1/entries/batch"

    private func answer(_ frames: BatchFrame...) -> OriginAnswer {
        OriginAnswer([.fetchHead] + frames.map { .chunk($0.encodedLine()) } + [.chunk([])])
    }

    private func snapshot(_ body: String) throws -> BatchFrame {
        guard case .snapshot(let frame) = try Frames.snapshot(.cache, .json(Array(body.utf8)))
        else { preconditionFailure("a snapshot is one") }
        return .snapshot(frame)
    }

    @Test("A frame of a type that only a newer daemon sends is passed over in a batch")
    func unknownFrame() async throws {
        try await withDaemon { daemon, client in
            let frames: [BatchFrame] = [
                .miss(MissFrame(try EntryID("a"))),
                .end(EndFrame(outcome: .cache, revision: Revision(8))),
            ]
            daemon.answer(
                "/v1/entries/batch",
                with: OriginAnswer(
                    [.fetchHead, .chunk(Array("{\"type\":\"news\"}\n".utf8))]
                        + frames.map { .chunk($0.encodedLine()) } + [.chunk([])]
                )
            )
            #expect(try await client.batch(["a"]).missed == ["a"])
        }
    }

    @Test("Entries that are there come decoded, and others are named by their ids")
    func found() async throws {
        try await withDaemon(account: "work") { daemon, client in
            let gone = DeletedFrame(source: .cache, revision: Revision(3), status: 410)
            let end = EndFrame(outcome: .cache)
            daemon.answer(
                Self.path,
                with: answer(
                    try snapshot("[1]"),
                    .miss(MissFrame(try EntryID("m"))),
                    .deleted(CachedDeletionFrame(try EntryID("d"), gone)),
                    .end(end)
                )
            )
            let batch = try await client.batch([Frames.url, "m", "d"], as: [Int].self)
            #expect(batch.found.map(\.value) == [[1]])
            #expect(batch.found.map(\.snapshot.id) == [Frames.url])
            #expect(batch.missed == ["m"])
            #expect(batch.deleted == ["d"])
            let command = try APIDecoder(.strict).decode(
                BatchCommand.self,
                from: try await daemon.requests.element(0).body
            )
            #expect(command.ids == [Frames.url, "m", "d"])
            #expect(command.account == "work")
        }
    }

    @Test("An answer that is cut off, or refused, or of another type, is an error")
    func errors() async throws {
        try await withDaemon { daemon, client in
            let whole = try snapshot("{}").encodedLine()
            daemon.answer(
                Self.path,
                with: OriginAnswer([.fetchHead, .chunk(whole), .chunk([])]),
                .problem(Problem(.overloaded, "too many")),
                answer(.end(EndFrame(outcome: .shutdown))),
                answer(try snapshot("{}"), .end(EndFrame(outcome: .cache)))
            )
            await #expect(throws: LarderError.cutOff) { try await client.batch(["a"]) }
            for problem in ["urn:larder:overloaded", "urn:larder:shutting-down"] {
                await expectProblem(problem) { () async throws(LarderError) in
                    try await client.batch(["a"])
                }
            }
            let error = await #expect(throws: LarderError.self) {
                try await client.batch(["a"], as: [Int].self)
            }
            guard case .decoding = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            await expectProblem("urn:larder:bad-id") { () async throws(LarderError) in
                try await client.batch([""])
            }
        }
    }
}
