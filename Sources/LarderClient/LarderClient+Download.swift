import AsyncHTTPClient
public import LarderAPI
import LarderModel
import LarderWire
import NIOHTTP1

extension LarderClient {
    /// One answer to a URL as a stream: the network's, or what is cached where that fails.
    ///
    ///     let answer = try await larder.stream("https://api.example.com/map.bin")
    ///     for try await chunk in answer.chunks { use(chunk) }
    ///
    /// An answer that is larger than the daemon keeps comes through it all the same, as fast as
    /// the chunks are taken. Letting go of the chunks hangs up.
    ///
    /// - Parameters:
    ///   - url: Absolute, http or https, of a host that the daemon has an origin for.
    ///   - options: What differs from the origin's settings. Without a policy it is
    ///     `networkFirst`; with
    ///     `cacheThenNetwork` the answer is the network's if it has one.
    /// - Returns: The answer, once its head is there.
    /// - Throws: ``LarderError/deleted(_:)`` where the origin says that it is gone,
    ///   ``LarderError/originFailed(_:)`` where it refused, with ``Problem/originStatus``.
    public func stream(
        _ url: String,
        options: FetchOptions = FetchOptions()
    ) async throws(LarderError) -> StreamedAnswer {
        var options = options
        options.policy = options.policy ?? .networkFirst
        do throws(LarderError) {
            let snapshot = try await lastWord(on: url, options)
            let body = try await snapshot.openBody()
            return StreamedAnswer(
                source: snapshot.source,
                isStale: snapshot.stale,
                age: snapshot.age,
                status: snapshot.status,
                mediaType: snapshot.mediaType,
                byteCount: body.byteCount.map(Int64.init),
                chunks: body.chunks
            )
        } catch {
            guard let path = error.problem?.rawHref else { throw error }
            return try await stream(passedThrough: path, options: options)
        }
    }

    /// The bytes of ``stream(_:options:)``, whole in memory.
    ///
    /// - Parameters:
    ///   - url: Absolute, http or https, of a host that the daemon has an origin for.
    ///   - options: As for ``stream(_:options:)``.
    /// - Returns: All of them.
    /// - Throws: As ``stream(_:options:)``.
    public func data(
        for url: String,
        options: FetchOptions = FetchOptions()
    ) async throws(LarderError) -> [UInt8] {
        var bytes: [UInt8] = []
        for try await chunk in try await stream(url, options: options).chunks { bytes += chunk }
        return bytes
    }

    /// Brings an answer into a file, with a few chunks of it in memory at a time.
    ///
    /// The bytes go into a hidden file beside `path`, which takes its place, in one step and
    /// synced, when all are there. When it fails, or the task is cancelled, what was at `path`
    /// stays, and nothing else is left. Nothing is resumed.
    ///
    /// - Parameters:
    ///   - url: Absolute, http or https, of a host that the daemon has an origin for.
    ///   - path: Where to; a file that is there is replaced.
    ///   - options: As for ``stream(_:options:)``.
    ///   - progress: Called after each chunk, on whatever task downloads.
    /// - Returns: How far it came, which is all.
    /// - Throws: As ``stream(_:options:)``, and ``LarderError/fileFailed(path:reason:)``.
    @discardableResult
    public func download(
        _ url: String,
        to path: String,
        options: FetchOptions = FetchOptions(),
        progress: @Sendable (DownloadProgress) -> Void = { _ in }
    ) async throws(LarderError) -> DownloadProgress {
        let file = try DownloadFile(for: path)
        let answer = try await stream(url, options: options)
        var received = DownloadProgress(receivedBytes: 0, totalBytes: answer.byteCount)
        for try await chunk in answer.chunks {
            try await file.write(chunk)
            received = DownloadProgress(
                receivedBytes: received.receivedBytes + Int64(chunk.count),
                totalBytes: answer.byteCount
            )
            progress(received)
        }
        try await file.takePlace()
        return received
    }

    /// The answer to which the daemon's refusal to keep it led.
    package func stream(
        passedThrough path: String,
        options: FetchOptions
    ) async throws(LarderError) -> StreamedAnswer {
        var request = SocketRequest(.GET, path)
        for field in options.headers?.members ?? [] {
            request.headers.add(name: field.name, value: field.value)
        }
        if let account = try accountParameter() {
            request.headers.add(name: "Larder-Account", value: account)
        }
        // It is known that it is not kept, so that the daemon need not try.
        request.headers.add(name: "Cache-Control", value: "no-store")
        let response = try await connection.send(request)
        // Only what is cached has a revision.
        let isCached = response.text("Larder-Rev") != nil
        return StreamedAnswer(
            source: isCached ? .cache : .network,
            isStale: isCached,
            age: .seconds(response.integer("Age") ?? 0 as Int64),
            status: Int(response.status.code),
            mediaType: response.text("Content-Type"),
            byteCount: response.integer("Content-Length"),
            chunks: EntryChunks(response.body, client: self)
        )
    }

    /// The snapshot that a fetch comes to.
    private func lastWord(
        on url: String,
        _ options: FetchOptions
    ) async throws(LarderError) -> Snapshot {
        var held: Snapshot?
        for try await update in fetch(url, options: options) {
            switch update {
            case .snapshot(let snapshot):
                held = snapshot
                if snapshot.source == .network || options.policy != .cacheThenNetwork {
                    return snapshot
                }
            case .failed(let problem) where problem.rawHref != nil:
                throw .problem(problem)
            case .deleted:
                throw .problem(Problem(.deleted, "\(url) is gone, or is to be deleted"))
            case .unchanged, .failed, .origin, .end:
                continue
            }
        }
        guard let held else { throw .badAnswer("a fetch without a snapshot") }
        return held
    }
}
