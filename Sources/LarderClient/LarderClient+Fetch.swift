import AsyncHTTPClient
public import FoundationEssentials
import LarderModel
import NIOHTTP1

extension LarderClient {
    /// Fetches a URL: the cached answer immediately, then the answer of the network.
    ///
    /// If the network fails after a cached answer, the failure is an update,
    /// ``FetchUpdate/failed(_:)``. If nothing is cached, the iteration throws
    /// ``LarderError/offline(_:)``, ``LarderError/originFailed(_:)`` or
    /// ``LarderError/deleted(_:)``. For a URL without an origin it throws
    /// ``LarderError/unknownOrigin(_:)``.
    ///
    /// - Parameters:
    ///   - url: Absolute, http or https, of a host that the daemon has an origin for.
    ///   - options: Options that override the origin's settings.
    /// - Returns: The updates; the iteration sends the request.
    public func fetch(_ url: String, options: FetchOptions = FetchOptions()) -> FetchFrames {
        FetchFrames(lines: frameLines(url, options: options))
    }

    /// Fetches a URL, with each body decoded from JSON.
    ///
    /// - Parameters:
    ///   - url: Absolute, http or https, of a host that the daemon has an origin for.
    ///   - type: Type of the body.
    ///   - options: Options that override the origin's settings.
    ///   - decoder: How dates, keys and the like are spelled.
    /// - Returns: The updates; the iteration sends the request.
    public func fetch<Value: Decodable & Sendable>(
        _ url: String,
        as type: Value.Type,
        options: FetchOptions = FetchOptions(),
        decoder: JSONDecoder = JSONDecoder()
    ) -> TypedUpdates<Value> {
        TypedUpdates(frames: fetch(url, options: options), decoder: decoder)
    }

    /// The lines of a fetch as the daemon sends them, for programs that pass them on.
    package func frameLines(_ url: String, options: FetchOptions) -> FrameLines {
        FrameLines(client: self, url: url, options: options)
    }
}

extension LarderClient {
    /// Watches changes in the cache, by any client, the daemon or an origin.
    ///
    ///     var command = WatchCommand()
    ///     command.prefixes = ["https://api.example.com/articles/"]
    ///     for try await event in larder.watch(command) {
    ///         if case .frame(.put(let change)) = event { reload(change.id) }
    ///     }
    ///
    /// After a break the watch connects again with the last revision that it has seen, so the
    /// daemon sends the changes since then. For a slow program the daemon merges several changes of
    /// one id into one. Each watch holds one of the client's 100 connections.
    ///
    /// - Parameter command: Selection of the watch; the default is all changes from now on.
    /// - Returns: The events; the iteration sends the request.
    public func watch(_ command: WatchCommand = WatchCommand()) -> WatchEvents {
        WatchEvents(lines: watchLines(command))
    }

    package func watchLines(_ command: WatchCommand) -> WatchLines {
        WatchLines(client: self, command: command)
    }
}

extension LarderClient {
    /// Follows a URL: the cached answer, the answer of the network, then each later change.
    ///
    ///     for try await update in larder.follow("https://api.example.com/42", as: Article.self) {
    ///         switch update {
    ///         case .value(let article): show(article.value)
    ///         case .deleted: clear()
    ///         case .unchanged, .failed, .origin, .disconnected: break
    ///         }
    ///     }
    ///
    /// A change may come from any client, the daemon or the origin.
    ///
    /// Following asks the network once for each connection, by the policy. With `refresh` in the
    /// options the daemon asks it again at that interval. Meanwhile the daemon does not evict the entry, within its user's share of the cache.
    /// Each follower holds one of the client's 100 connections.
    ///
    /// - Parameters:
    ///   - url: Absolute, http or https, of a host that the daemon has an origin for.
    ///   - type: Type of the body.
    ///   - options: Options that override the origin's settings. `timeout` is for the network's
    ///     first answer.
    ///   - decoder: How dates, keys and the like are spelled.
    /// - Returns: The updates; the iteration sends the request.
    public func follow<Value: Decodable & Sendable>(
        _ url: String,
        as type: Value.Type,
        options: FetchOptions = FetchOptions(),
        decoder: JSONDecoder = JSONDecoder()
    ) -> FollowedUpdates<TypedSnapshot<Value>> {
        FollowedUpdates(frames: followedFrames(url, options), time: time) {
            (snapshot) async throws(LarderError) in
            try await snapshot.decoded(as: type, by: decoder)
        }
    }

    /// Follows a URL, with the bodies as bytes.
    ///
    /// - Parameters:
    ///   - url: Absolute, http or https, of a host that the daemon has an origin for.
    ///   - options: Options that override the origin's settings.
    /// - Returns: The updates; the iteration sends the request.
    public func follow(
        _ url: String,
        options: FetchOptions = FetchOptions()
    ) -> FollowedUpdates<Snapshot> {
        FollowedUpdates(frames: followedFrames(url, options), time: time) {
            (snapshot) async throws(LarderError) in snapshot
        }
    }

    /// Observes the value of a URL: its current state, then each new one.
    ///
    /// This is ``follow(_:as:options:decoder:)`` for a program that shows one value.
    ///
    ///     for try await article in larder.observe(url, as: Article.self) {
    ///         show(article.value, isStale: article.isStale)
    ///         banner.text = article.error.map { "\($0)" }
    ///     }
    ///
    /// Each element is the complete state, so a program does not keep the element before. When the
    /// network or the daemon fails, the last value comes again, with the error. When the daemon is
    /// back, the value comes without that error.
    ///
    /// - Parameters:
    ///   - url: Absolute, http or https, of a host that the daemon has an origin for.
    ///   - type: Type of the body.
    ///   - options: Options that override the origin's settings.
    ///   - decoder: How dates, keys and the like are spelled.
    /// - Returns: The states; the iteration sends the request.
    public func observe<Value: Decodable & Sendable>(
        _ url: String,
        as type: Value.Type,
        options: FetchOptions = FetchOptions(),
        decoder: JSONDecoder = JSONDecoder()
    ) -> ObservedValues<Value> {
        var updates = follow(url, as: type, options: options, decoder: decoder)
        updates.tellsReturn = true
        return ObservedValues(updates: updates)
    }

    private func followedFrames(_ url: String, _ options: FetchOptions) -> FetchFrames {
        FetchFrames(lines: FrameLines(client: self, url: url, options: options, follows: true))
    }
}

extension LarderClient {
    /// Streams one answer to a URL: the network's, or the cached one if the network fails.
    ///
    ///     let answer = try await larder.stream("https://api.example.com/map.bin")
    ///     for try await chunk in answer.chunks { use(chunk) }
    ///
    /// The daemon also passes on an answer that is too large for its cache, as fast as the program
    /// takes the chunks. Releasing the chunks closes the connection.
    ///
    /// - Parameters:
    ///   - url: Absolute, http or https, of a host that the daemon has an origin for.
    ///   - options: Options that override the origin's settings. The default policy is
    ///     `networkFirst`. With `cacheThenNetwork` the answer is the network's if it has one.
    /// - Returns: The answer, as soon as its head has arrived.
    /// - Throws: ``LarderError/deleted(_:)`` if the origin says that the URL is gone,
    ///   ``LarderError/originFailed(_:)`` if it refused, with ``Problem/originStatus``.
    public func stream(
        _ url: String,
        options: FetchOptions = FetchOptions()
    ) async throws(LarderError) -> StreamedAnswer {
        do throws(LarderError) {
            let snapshot = try await finalResult(on: url, options)
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

    /// The bytes of ``stream(_:options:)``, all in memory.
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

    /// Downloads an answer into a file, with only a few chunks in memory.
    ///
    /// The client writes the bytes to a hidden file in the folder of `path`. When all bytes are
    /// synced, it renames the file to `path` and syncs the folder. If the download fails or the
    /// task is cancelled, `path` keeps its file, and the client removes the hidden file. A later
    /// download starts again from the first byte.
    ///
    /// - Parameters:
    ///   - url: Absolute, http or https, of a host that the daemon has an origin for.
    ///   - path: Path of the file; an existing file is replaced.
    ///   - options: As for ``stream(_:options:)``.
    ///   - progress: Called after each chunk, on the task that downloads.
    /// - Returns: The final progress, with all bytes.
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

    /// Streams an answer that the daemon refused to store, through its raw route.
    package func stream(
        passedThrough path: String,
        options: FetchOptions
    ) async throws(LarderError) -> StreamedAnswer {
        // Foundation encodes all of a target that is no URI (RFC 3986), also the `%` of `%20`.
        let target = (try? WebURL("http://larder\(path)"))?.requestTarget ?? path
        var request = SocketRequest(
            .GET,
            target.replacing("[", with: "%5B").replacing("]", with: "%5D")
        )
        for field in options.headers?.members ?? [] {
            request.headers.add(name: field.name, value: field.value)
        }
        if let account = try accountParameter() {
            request.headers.add(name: "Larder-Account", value: account)
        }
        // The daemon has already refused to store this answer, so it need not try again.
        request.headers.add(name: "Cache-Control", value: "no-store")
        let response = try await connection.send(request)
        // Only a cached answer has a revision.
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

    /// The final snapshot of a fetch; it does not wait for the network after a cached answer,
    /// except with `cacheThenNetwork`.
    func finalResult(
        on url: String,
        _ options: FetchOptions
    ) async throws(LarderError) -> Snapshot {
        var options = options
        options.policy = options.policy ?? .networkFirst
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

/// An answer to a URL whose bytes arrive as a stream.
public struct StreamedAnswer: Sendable {
    /// Whether the answer is cached or came from the network.
    public let source: AnswerSource
    /// Whether the answer is past its lifetime.
    public let isStale: Bool
    /// Time since the origin gave or confirmed the answer.
    public let age: Duration
    /// The status of the origin's answer.
    public let status: Int
    /// Content-Type of the bytes.
    public let mediaType: String?
    /// Number of bytes; nil if it is unknown.
    public let byteCount: Int64?
    /// Exact bytes of the answer; iterate them once.
    public let chunks: EntryChunks
}

/// Progress of a download.
public struct DownloadProgress: Equatable, Sendable {
    /// Number of bytes in the file.
    public let receivedBytes: Int64
    /// Number of bytes of the complete file; nil if it is unknown.
    public let totalBytes: Int64?

    package init(receivedBytes: Int64, totalBytes: Int64?) {
        self.receivedBytes = receivedBytes
        self.totalBytes = totalBytes
    }
}
