import Foundation
import Glibc
import LarderClient
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("A download", .timeLimit(.minutes(5)))
struct DownloadTests {
    private static let entryPath =
        "/v1/entries/https%3A%2F%2Fapi.example.com%2Farticles%2F42"
    private static let rawPath = "/o/example/articles/42?a=b"

    private static var tooLarge: Problem {
        var problem = Problem(.entryTooLarge, "it is large")
        problem.rawHref = rawPath
        return problem
    }

    /// A folder to download into.
    private struct Folder {
        let directory: TemporaryDirectory

        init() throws {
            directory = try TemporaryDirectory()
        }

        var target: String { directory.path("target") }
        var names: [String] {
            get throws { try FileManager.default.contentsOfDirectory(atPath: directory.path(".")) }
        }

        func bytes() throws -> [UInt8] {
            Array(try Data(contentsOf: URL(filePath: target)))
        }
    }

    @Test("A kept body comes from the entry, and replaces the file that was there, with its rights")
    func kept() async throws {
        try await withDaemon { daemon, client in
            let folder = try Folder()
            try Data([1, 2, 3]).write(to: URL(filePath: folder.target))
            #expect(chmod(folder.target, 0o600) == 0)
            let bytes = [UInt8](repeating: 7, count: 300_000)
            daemon.answer(
                "/v1/fetch",
                with: .frames(
                    try Frames.snapshot(.network, .href(Self.entryPath)),
                    Frames.end(.network)
                )
            )
            daemon.answer(Self.entryPath, with: .reply(200, body: bytes))
            let seen = Recorder<DownloadProgress>()
            let all = try await client.download(Frames.url, to: folder.target) { seen.record($0) }
            #expect(try folder.bytes() == bytes)
            #expect(try folder.names == ["target"])
            #expect(try permissions(ofFile: folder.target) == 0o600)
            #expect(all == DownloadProgress(receivedBytes: 300_000, totalBytes: 300_000))
            #expect(seen.all.allSatisfy { $0.totalBytes == 300_000 })
            #expect(seen.all.last == all)
            #expect(seen.all.map(\.receivedBytes) == seen.all.map(\.receivedBytes).sorted())
            let sent = try #require(daemon.requests.all.first).bodyText
            #expect(sent.contains(#""policy":"network-first""#))
        }
    }

    @Test("A body that is too large to be kept is passed through, with the headers and the account")
    func passedThrough() async throws {
        try await withDaemon(account: "work") { daemon, client in
            let folder = try Folder()
            let bytes = [UInt8](repeating: 9, count: 2_000_000)
            daemon.answer("/v1/fetch", with: .problem(Self.tooLarge))
            daemon.answer(Self.rawPath, with: .reply(200, body: bytes))
            let seen = Recorder<DownloadProgress>()
            var options = FetchOptions()
            options.headers = ["X-Key": "1"]
            try await client.download(Frames.url, to: folder.target, options: options) {
                seen.record($0)
            }
            #expect(try folder.bytes() == bytes)
            #expect(seen.all.allSatisfy { $0.totalBytes == 2_000_000 })
            let asked = try #require(daemon.requests.all.last)
            #expect(asked.headers["X-Key"] == "1")
            #expect(asked.headers["Larder-Account"] == "work")
            #expect(asked.headers["Cache-Control"] == "no-store")
        }
    }

    @Test("A file may have a name of few letters with many bytes each")
    func longLetters() async throws {
        try await withDaemon { daemon, client in
            let folder = try Folder()
            let letter = "e" + String(repeating: "\u{301}", count: 62)
            daemon.answer(
                "/v1/fetch",
                with: .frames(
                    try Frames.snapshot(.network, .href(Self.entryPath)),
                    Frames.end(.network)
                )
            )
            daemon.answer(Self.entryPath, with: .reply(200, body: [7]))
            let path = folder.directory.path(letter + letter)
            try await client.download(Frames.url, to: path)
            #expect(try folder.names.count == 1)
            #expect(Array(try Data(contentsOf: URL(filePath: path))) == [7])
        }
    }

    @Test("The path of an answer that is passed through is not encoded twice")
    func encodedPath() async throws {
        try await withDaemon { daemon, client in
            var problem = Self.tooLarge
            problem.rawHref = "/o/example/a%20b/x|y?tags[]=a%20b&c=%2F&d=100%"
            daemon.answer("/v1/fetch", with: .problem(problem))
            let path = "/o/example/a%20b/x%7Cy?tags%5B%5D=a%20b&c=%2F&d=100%25"
            daemon.answer(path, with: .reply(200, body: [1]))
            let data = try await client.data(for: Frames.url)
            #expect(data == [1])
        }
    }

    @Test("An answer that breaks off leaves what was there, and nothing else")
    func brokenOff() async throws {
        try await withDaemon { daemon, client in
            let folder = try Folder()
            try Data([1]).write(to: URL(filePath: folder.target))
            daemon.answer("/v1/fetch", with: .problem(Self.tooLarge))
            daemon.answer(
                Self.rawPath,
                with: OriginAnswer([
                    .head(200, ["Content-Length": "9"]), .text("1234"), .close,
                ])
            )
            await #expect(throws: LarderError.cutOff) {
                try await client.download(Frames.url, to: folder.target)
            }
            #expect(try folder.bytes() == [1])
            #expect(try folder.names == ["target"])
        }
    }

    @Test("Cancelling the task hangs up and leaves nothing")
    func cancelled() async throws {
        try await withDaemon { daemon, client in
            let folder = try Folder()
            daemon.answer("/v1/fetch", with: .problem(Self.tooLarge))
            daemon.answer(
                Self.rawPath,
                with: OriginAnswer([
                    .head(200, ["Content-Length": "9"]), .text("1234"), .wait(Gate()),
                ])
            )
            let seen = Recorder<DownloadProgress>()
            let target = folder.target
            let task = Task {
                try await client.download(Frames.url, to: target) { seen.record($0) }
            }
            #expect(try await seen.element(0) == .init(receivedBytes: 4, totalBytes: 9))
            #expect(try folder.names.count == 1)
            task.cancel()
            await #expect(throws: LarderError.cancelled) { try await task.value }
            #expect(try folder.names.isEmpty)
            _ = try await daemon.closed.element(0)
        }
    }

    @Test("The origin's own refusal is told with its status and words")
    func refused() async throws {
        try await withDaemon { daemon, client in
            let folder = try Folder()
            daemon.answer("/v1/fetch", with: .problem(Self.tooLarge))
            daemon.answer(Self.rawPath, with: .text("not you", status: 403))
            do throws(LarderError) {
                try await client.download(Frames.url, to: folder.target)
                Issue.record("it was not refused")
            } catch {
                guard let problem = error.problem else {
                    Issue.record("\(error)")
                    return
                }
                #expect(problem.type == "urn:larder:origin-status")
                #expect(problem.originStatus == 403)
                #expect(problem.quotedBody == Array("not you".utf8))
            }
            #expect(try folder.names.isEmpty)
        }
    }

    @Test(
        "A file that cannot be written is said before anything is asked",
        arguments: ["/nonexistent/folder/file", "/tmp/", "."]
    )
    func badPath(path: String) async throws {
        try await withDaemon { daemon, client in
            do throws(LarderError) {
                try await client.download(Frames.url, to: path)
                Issue.record("it was written")
            } catch {
                guard case .fileFailed(path, _) = error else {
                    Issue.record("\(error)")
                    return
                }
            }
            #expect(daemon.requests.all.isEmpty)
        }
    }

    @Test("A folder in the place of the file stays, and nothing else is left")
    func folderInPlace() async throws {
        try await withDaemon { daemon, client in
            let folder = try Folder()
            try FileManager.default.createDirectory(
                atPath: folder.target,
                withIntermediateDirectories: false
            )
            daemon.answer("/v1/fetch", with: .problem(Self.tooLarge))
            daemon.answer(Self.rawPath, with: .reply(200, body: [1]))
            await #expect(throws: LarderError.self) {
                try await client.download(Frames.url, to: folder.target)
            }
            #expect(try folder.names == ["target"])
        }
    }

    @Test("A stream says whose answer it is, and data has all of it")
    func stream() async throws {
        try await withDaemon { daemon, client in
            daemon.answer(
                "/v1/fetch",
                with: .frames(
                    try Frames.snapshot(.cache, .bytes([1, 2]), isStale: true),
                    Frames.end(.cache)
                )
            )
            let answer = try await client.stream(Frames.url)
            #expect(answer.source == .cache)
            #expect(answer.isStale)
            #expect(answer.status == 200)
            #expect(try await client.data(for: Frames.url) == [1, 2])
            daemon.answer("/v1/fetch", with: .frames(Frames.deleted, Frames.end(.deleted)))
            await expectProblem("urn:larder:deleted") { () async throws(LarderError) in
                try await client.data(for: Frames.url)
            }
        }
    }

    @Test("With cache-then-network the network's answer counts, and the cached one without it")
    func lastWord() async throws {
        try await withDaemon { daemon, client in
            let old = try Frames.snapshot(.cache, .bytes([1]))
            let problem = FetchFrame.problem(
                ProblemFrame(Problem(.timeout, "no answer within 1 s"))
            )
            daemon.answer(
                "/v1/fetch",
                with: .frames(
                    old,
                    try Frames.snapshot(.network, .bytes([2])),
                    Frames.end(.network)
                ),
                .frames(old, Frames.unchanged, Frames.end(.unchanged)),
                .frames(old, problem, Frames.end(.error)),
                .frames(old, .problem(ProblemFrame(Self.tooLarge)), Frames.end(.error))
            )
            daemon.answer(Self.rawPath, with: .reply(200, body: [3]))
            let options = FetchOptions(policy: .cacheThenNetwork)
            var got: [[UInt8]] = []
            for _ in 0..<4 { got.append(try await client.data(for: Frames.url, options: options)) }
            #expect(got == [[2], [1], [1], [3]])
        }
    }
}
