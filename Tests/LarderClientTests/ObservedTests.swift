import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@testable import LarderClient

@Suite("A value that is observed", .timeLimit(.minutes(5)))
struct ObservedTests {
    private func describe(_ observed: Observed<Int>?) -> String {
        guard let observed else { return "end" }
        let value = observed.value.map(String.init) ?? (observed.isDeleted ? "deleted" : "nothing")
        let problem = observed.error.map { " (\($0.problem?.type ?? "disconnected"))" } ?? ""
        return value + (observed.isStale ? " stale" : "") + problem
    }

    private func frame(
        _ source: AnswerSource,
        _ value: Int,
        isStale: Bool = false
    ) throws -> FetchFrame {
        let body = FrameBody.json(Array("\(value)".utf8))
        let revision = Int64(value)
        return try Frames.snapshot(source, body, revision: revision, isStale: isStale)
    }

    /// The frames, and then the answer's end without one of its own.
    private func cut(_ frames: FetchFrame...) -> OriginAnswer {
        OriginAnswer([.fetchHead] + frames.map { .chunk($0.encodedLine()) } + [.chunk([])])
    }

    @Test("Each element has all that is known: the value stays, with the error")
    func values() async throws {
        let daemon = try await ScriptedDaemon()
        let time = ClientTime(pause: { _ async throws(CancellationError) in }, randomUnit: { 0.5 })
        let client = LarderClient(trying: [daemon.path], time: time)
        let offline = FetchFrame.problem(ProblemFrame(Problem(.unreachable, "no network")))
        daemon.answer(
            "/v1/fetch",
            with: cut(try frame(.cache, 1, isStale: true), Frames.unchanged, Frames.unchanged),
            cut(try frame(.cache, 1, isStale: true), offline, try frame(.network, 2)),
            cut(Frames.deleted, try frame(.network, 3)),
            cut(
                .origin(OriginFrame(Revision(9), try OriginName("example"), state: "offline")),
                .origin(OriginFrame(Revision(9), try OriginName("example"), state: "online"))
            ),
            .problem(Problem(.badRequest, "no"))
        )
        var told: [String] = []
        let ended: LarderError?
        do throws(LarderError) {
            for try await observed in client.observe(Frames.url, as: Int.self) {
                told.append(describe(observed))
            }
            ended = nil
        } catch {
            ended = error
        }
        #expect(
            told == [
                "1 stale", "1", "1 (urn:larder:unreachable)", "2", "deleted", "3",
                "3 (urn:larder:unreachable)", "3",
            ]
        )
        #expect(ended?.problem?.kind == .badRequest)
        await client.shutdown()
        await daemon.stop()
    }

    @Test("When the daemon is back, the same value and the same deletion come without the error")
    func daemonBack() async throws {
        let daemon = try await ScriptedDaemon()
        let time = ClientTime(pause: { _ async throws(CancellationError) in }, randomUnit: { 0.5 })
        let client = LarderClient(trying: [daemon.path], time: time)
        let ending = OriginAnswer.problem(Problem(.shuttingDown, "the daemon is ending"))
        daemon.answer(
            "/v1/fetch",
            with: cut(try frame(.cache, 1)),
            ending,
            cut(try frame(.cache, 1), Frames.deleted),
            ending,
            cut(Frames.deleted)
        )
        var values = client.observe(Frames.url, as: Int.self).makeAsyncIterator()
        var told: [String] = []
        for _ in 0..<6 { told.append(describe(try await values.next())) }
        let error = "(urn:larder:shutting-down)"
        #expect(told == ["1", "1 \(error)", "1", "deleted", "deleted \(error)", "deleted"])
        await client.shutdown()
        await daemon.stop()
    }

    @Test("Each element has the rows on which writes wait or failed, also while there is an error")
    func rows() async throws {
        let daemon = try await ScriptedDaemon()
        let time = ClientTime(pause: { _ async throws(CancellationError) in }, randomUnit: { 0.5 })
        let client = LarderClient(trying: [daemon.path], time: time)
        guard case .snapshot(var marked) = try frame(.cache, 1) else { return #expect(Bool(false)) }
        let todo = try EntryID(given: "entity:shop/Todo:1")
        let value = RawJSON(unchecked: Array(#"{"title":"eggs"}"#.utf8))
        (marked.pending, marked.failed) = (1, 2)
        marked.rows = [SnapshotRow(pointer: "/0", id: todo, pending: ["a"], failed: ["b"])]
        marked.failedRows = [FailedRow(id: todo, modifier: "c", value: value)]
        let offline = FetchFrame.problem(ProblemFrame(Problem(.unreachable, "no network")))
        daemon.answer("/v1/fetch", with: cut(.snapshot(marked), offline, try frame(.network, 2)))
        var values = client.observe(Frames.url, as: Int.self).makeAsyncIterator()
        for _ in 0..<2 {
            let observed = try #require(try await values.next())
            #expect(observed.value == 1 && observed.pending == 1 && observed.failed == 2)
            #expect(observed.rows == marked.rows)
            #expect(observed.failedRows == marked.failedRows)
        }
        let last = try #require(try await values.next())
        #expect(last.value == 2 && last.rows.isEmpty && last.failedRows.isEmpty)
        await client.shutdown()
        await daemon.stop()
    }

    @Test("With nothing cached and no network there is an element with the reason alone")
    func nothing() async throws {
        let daemon = try await ScriptedDaemon()
        let time = ClientTime(pause: { _ async throws(CancellationError) in }, randomUnit: { 0.5 })
        let client = LarderClient(trying: [daemon.path], time: time)
        daemon.answer(
            "/v1/fetch",
            with: .problem(Problem(.unreachable, "no network")),
            cut(try frame(.network, 2))
        )
        var values = client.observe(Frames.url, as: Int.self).makeAsyncIterator()
        #expect(describe(try await values.next()) == "nothing (urn:larder:unreachable)")
        #expect(describe(try await values.next()) == "2")
        await client.shutdown()
        await daemon.stop()
    }
}
