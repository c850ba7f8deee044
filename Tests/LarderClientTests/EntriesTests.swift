import LarderClient
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("Entries", .timeLimit(.minutes(5)))
struct EntriesTests {
    @Test("An entry comes with its exact bytes and what the headers say")
    func entry() async throws {
        try await withDaemon { daemon, client in
            let headers = [
                "Content-Type": "text/plain", "ETag": "\"x\"", "Age": "61", "Larder-Rev": "9",
                "Larder-Pending": "2", "Larder-Failed": "1", "Larder-Complete": "false",
                "Last-Modified": "Tue, 01 Jul 2025 00:00:00 GMT", "Cache-Status": "larder; hit",
            ]
            daemon.answer("/v1/entries/a", with: .reply(200, headers, body: [0, 10, 13, 255]))
            let entry = try await client.entry("a")
            #expect(entry.bytes == [0, 10, 13, 255])
            #expect(entry.metadata.id == "a")
            #expect(entry.metadata.mediaType == "text/plain")
            #expect(entry.metadata.byteCount == 4)
            #expect(entry.metadata.etag == "\"x\"")
            #expect(entry.metadata.age == .seconds(61))
            #expect(entry.metadata.revision == 9)
            #expect(entry.metadata.pending == 2)
            #expect(entry.metadata.failed == 1)
            #expect(!entry.metadata.isComplete)
            #expect(entry.metadata.lastModified == "Tue, 01 Jul 2025 00:00:00 GMT")
            #expect(entry.metadata.cacheStatus == "larder; hit")
        }
    }

    @Test(
        "An id reaches the daemon byte for byte",
        arguments: [
            ("a b", "a%20b"), ("../../status", "..%2F..%2Fstatus"), ("..", ".."), ("%2F", "%252F"),
            ("ü?x=1&y#z", "%C3%BC%3Fx%3D1%26y%23z"), ("//", "%2F%2F"), ("a;b=c", "a%3Bb%3Dc"),
        ]
    )
    func ids(id: String, encoded: String) async throws {
        try await withDaemon { daemon, client in
            daemon.answer("/v1/entries/\(encoded)", with: .reply(200, body: [1]))
            let bytes = try await client.entry(id).bytes
            #expect(bytes == [1])
        }
    }

    @Test("A miss and a deleted entry are problems, also for HEAD, which has no body")
    func misses() async throws {
        try await withDaemon { daemon, client in
            let deleted = Problem(.deleted, "gone", status: 410)
            daemon.answer("/v1/entries/gone", with: .problem(deleted), .reply(410))
            daemon.answer("/v1/entries/miss", with: .problem(Problem(.miss, "no")), .reply(404))
            for id in ["gone", "miss"] {
                let type = id == "gone" ? "urn:larder:deleted" : "urn:larder:miss"
                await expectProblem(type) { () throws(LarderError) in try await client.entry(id) }
                await expectProblem(type) { () throws(LarderError) in try await client.metadata(id)
                }
            }
        }
    }

    @Test("An entry that ends too early throws cutOff")
    func cutEntry() async throws {
        try await withDaemon { daemon, client in
            daemon.answer(
                "/v1/entries/a",
                with: OriginAnswer([.head(200, ["Content-Length": "10"]), .send([1, 2]), .close])
            )
            await #expect(throws: LarderError.cutOff) { _ = try await client.entry("a") }
        }
    }

    @Test("A connection that closes before the answer throws cutOff")
    func noAnswer() async throws {
        try await withDaemon { daemon, client in
            daemon.answer("/v1/entries/a", with: OriginAnswer([.close]))
            await #expect(throws: LarderError.cutOff) { _ = try await client.entry("a") }
        }
    }

    @Test("An answer that is not HTTP throws badAnswer")
    func noHTTP() async throws {
        try await withDaemon { daemon, client in
            daemon.answer(
                "/v1/entries/a",
                with: OriginAnswer([.send(Array("SSH-2.0-x\r\n\r\n".utf8)), .close])
            )
            await #expect {
                _ = try await client.entry("a")
            } throws: { error in
                if case .badAnswer = error as? LarderError { true } else { false }
            }
        }
    }

    @Test("A large entry is read while it is sent")
    func streamedEntry() async throws {
        try await withDaemon { daemon, client in
            let gates = (0..<50).map { _ in Gate() }
            let chunk = [UInt8](repeating: 5, count: 65_536)
            daemon.answer(
                "/v1/entries/a",
                with: OriginAnswer(
                    [.head(200, ["Content-Length": "\(50 * 65_536)"])]
                        + gates.flatMap { [.wait($0), .send(chunk)] }
                )
            )
            gates[0].open()
            var count = 0
            for try await piece in try await client.entryStream("a").chunks {
                count += piece.count
                if count.isMultiple(of: 65_536), count < 50 * 65_536 {
                    gates[count / 65_536].open()
                }
            }
            #expect(count == 50 * 65_536)
        }
    }

    @Test("A put carries the type, the ttl and the account")
    func put() async throws {
        try await withDaemon(account: "work") { daemon, client in
            daemon.answer(
                "/v1/entries/a%2Fb?ttl=7d&account=work",
                with: .reply(201, ["ETag": "\"t\"", "Larder-Rev": "7"]),
                .reply(204)
            )
            let first = try await client.put(
                "a/b",
                bytes: [1, 2],
                mediaType: "text/plain",
                ttl: .seconds(7 * 86_400),
                only: .absent
            )
            let second = try await client.put(
                "a/b",
                bytes: [],
                ttl: .seconds(7 * 86_400),
                only: .etag("\"t\"")
            )
            #expect((first.isNew, first.etag, first.rev) == (true, "\"t\"", 7))
            #expect(!second.isNew)
            let request = try await daemon.requests.element(0)
            #expect(request.method == "PUT")
            #expect(request.headers["If-None-Match"] == "*")
            #expect(request.headers["Content-Type"] == "text/plain")
            #expect(request.headers["Content-Length"] == "2")
            #expect(request.body == [1, 2])
            let empty = try await daemon.requests.element(1)
            #expect(empty.headers["If-Match"] == "\"t\"")
            #expect(empty.headers["Content-Length"] == "0")
        }
    }

    @Test("A large put is sent while its bytes come", arguments: [nil, 50 * 65_536])
    func streamedPut(length: Int?) async throws {
        try await withDaemon { daemon, client in
            daemon.answer("/v1/entries/a", with: .reply(201))
            let chunks = LockstepChunks(count: 50, received: daemon.bodyBytes)
            try await client.put("a", chunks: chunks, byteCount: length)
            let request = try await daemon.requests.element(0)
            #expect(request.body.count == 50 * 65_536)
            #expect(request.headers["Content-Length"] == length.map(String.init))
        }
    }

    @Test("A sequence of bytes that fails throws bodyFailed and closes the connection")
    func failingPut() async throws {
        try await withDaemon { daemon, client in
            let chunks = AsyncThrowingStream<[UInt8], any Error> { stream in
                stream.yield([1])
                stream.finish(throwing: DiskError())
            }
            await #expect(throws: LarderError.bodyFailed("the disk is gone")) {
                try await client.put("a", chunks: chunks)
            }
            let closed = try await daemon.closed.element(0)
            #expect(closed == 0)
            #expect(daemon.requests.all.isEmpty)
        }
    }

    @Test("Fewer bytes than announced throw bodyFailed")
    func shortPut() async throws {
        try await withDaemon { _, client in
            let chunks = AsyncStream<[UInt8]> { stream in
                stream.yield([1])
                stream.finish()
            }
            await #expect(
                throws: LarderError.bodyFailed("they are not as many as were announced")
            ) {
                try await client.put("a", chunks: chunks, byteCount: 2)
            }
        }
    }

    @Test("remove asks with DELETE and returns the revision")
    func remove() async throws {
        try await withDaemon { daemon, client in
            daemon.answer("/v1/entries/a", with: .reply(204, ["Larder-Rev": "7"]))
            #expect(try await client.remove("a").rev == 7)
            let request = try await daemon.requests.element(0)
            #expect(request.method == "DELETE")
        }
    }

    @Test("An id that cannot be one is a problem without a request", arguments: ["", "a\nb"])
    func badID(id: String) async throws {
        try await withDaemon { daemon, client in
            await expectProblem("urn:larder:bad-id") { () throws(LarderError) in
                try await client.entry(id)
            }
            #expect(daemon.requests.all.isEmpty)
        }
    }
}

/// Chunks of 64 KiB, each of which waits until the daemon has all before it.
private struct LockstepChunks: AsyncSequence, Sendable {
    let count: Int
    let received: Recorder<Int>

    func makeAsyncIterator() -> Iterator {
        Iterator(chunks: self)
    }

    struct Iterator: AsyncIteratorProtocol {
        let chunks: LockstepChunks
        var sent = 0
        var read = 0

        mutating func next() async throws -> [UInt8]? {
            guard sent < chunks.count else { return nil }
            while sent > 0, try await chunks.received.element(read) < sent * 65_536 { read += 1 }
            sent += 1
            return [UInt8](repeating: 5, count: 65_536)
        }
    }
}

private struct DiskError: Error, CustomStringConvertible {
    let description = "the disk is gone"
}
