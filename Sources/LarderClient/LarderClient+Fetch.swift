import AsyncHTTPClient
public import FoundationEssentials
import LarderModel
import NIOHTTP1

extension LarderClient {
    /// What is known of a URL: what is cached at once, and what the network says after it.
    ///
    /// What the network fails with after a cached answer is an update, ``FetchUpdate/failed(_:)``;
    /// with nothing cached it is thrown, as ``LarderError/offline(_:)``,
    /// ``LarderError/originFailed(_:)`` or ``LarderError/deleted(_:)``. A URL that no origin has is
    /// ``LarderError/unknownOrigin(_:)``.
    ///
    /// - Parameters:
    ///   - url: Absolute, http or https, of a host that the daemon has an origin for.
    ///   - options: What differs from the origin's settings.
    /// - Returns: The updates; nothing is asked before they are iterated.
    public func fetch(_ url: String, options: FetchOptions = FetchOptions()) -> FetchFrames {
        FetchFrames(lines: frameLines(url, options: options))
    }

    /// The same with each body decoded from JSON.
    ///
    /// - Parameters:
    ///   - url: Absolute, http or https, of a host that the daemon has an origin for.
    ///   - type: What the body is.
    ///   - options: What differs from the origin's settings.
    ///   - decoder: How dates, keys and the like are spelled.
    /// - Returns: The updates; nothing is asked before they are iterated.
    public func fetch<Value: Decodable & Sendable>(
        _ url: String,
        as type: Value.Type,
        options: FetchOptions = FetchOptions(),
        decoder: JSONDecoder = JSONDecoder()
    ) -> TypedUpdates<Value> {
        TypedUpdates(frames: fetch(url, options: options), decoder: decoder)
    }

    /// The lines as they come, for those that pass them on.
    package func frameLines(_ url: String, options: FetchOptions) -> FrameLines {
        FrameLines(client: self, url: url, options: options)
    }
}

extension LarderClient {
    /// What changes in the cache, whoever brings it.
    ///
    ///     var command = WatchCommand()
    ///     command.prefixes = ["https://api.example.com/articles/"]
    ///     for try await event in larder.watch(command) {
    ///         if case .frame(.put(let change)) = event { reload(change.id) }
    ///     }
    ///
    /// It connects again by itself, with the last revision that it has seen, so that what changes
    /// meanwhile is told then. A program that takes its events slowly is told of several changes of
    /// one id as one. Each watch holds a connection, of which a client has a hundred.
    ///
    /// - Parameter command: What the watch is about; without it everything, from now on.
    /// - Returns: The events; nothing is asked before they are iterated.
    public func watch(_ command: WatchCommand = WatchCommand()) -> WatchEvents {
        WatchEvents(lines: watchLines(command))
    }

    package func watchLines(_ command: WatchCommand) -> WatchLines {
        WatchLines(client: self, command: command)
    }
}

extension LarderClient {
    /// What is known of a URL, now and whenever it changes: what is cached, what the network says,
    /// and after that each new view of it, whoever brought it.
    ///
    ///     for try await update in larder.follow("https://api.example.com/42", as: Article.self) {
    ///         switch update {
    ///         case .value(let article): show(article.value)
    ///         case .deleted: clear()
    ///         case .unchanged, .failed, .origin, .disconnected: break
    ///         }
    ///     }
    ///
    /// Following asks the network once for each connection, by the policy; it does not ask again by
    /// itself. The entry is not evicted meanwhile, within its user's share of the cache. Each
    /// holds a connection, of which a client has a hundred.
    ///
    /// - Parameters:
    ///   - url: Absolute, http or https, of a host that the daemon has an origin for.
    ///   - type: What the body is.
    ///   - options: What differs from the origin's settings. `timeout` is for the network's first
    ///     answer.
    ///   - decoder: How dates, keys and the like are spelled.
    /// - Returns: The updates; nothing is asked before they are iterated.
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

    /// The same with the bodies as they are.
    ///
    /// - Parameters:
    ///   - url: Absolute, http or https, of a host that the daemon has an origin for.
    ///   - options: What differs from the origin's settings.
    /// - Returns: The updates; nothing is asked before they are iterated.
    public func follow(
        _ url: String,
        options: FetchOptions = FetchOptions()
    ) -> FollowedUpdates<Snapshot> {
        FollowedUpdates(frames: followedFrames(url, options), time: time) {
            (snapshot) async throws(LarderError) in snapshot
        }
    }

    /// The value behind a URL, now and each new one, whoever brought it: ``follow(_:as:options:decoder:)``
    /// for a program that shows one thing.
    ///
    ///     for try await article in larder.observe(url, as: Article.self) {
    ///         show(article.value, isStale: article.isStale)
    ///         banner.text = article.error.map { "\($0)" }
    ///     }
    ///
    /// Each element is all that is known then, so that nothing has to be kept beside it: when the
    /// network or the daemon fails, the value before comes again, with the error.
    ///
    /// - Parameters:
    ///   - url: Absolute, http or https, of a host that the daemon has an origin for.
    ///   - type: What the body is.
    ///   - options: What differs from the origin's settings.
    ///   - decoder: How dates, keys and the like are spelled.
    /// - Returns: What is known; nothing is asked before it is iterated.
    public func observe<Value: Decodable & Sendable>(
        _ url: String,
        as type: Value.Type,
        options: FetchOptions = FetchOptions(),
        decoder: JSONDecoder = JSONDecoder()
    ) -> ObservedValues<Value> {
        ObservedValues(updates: follow(url, as: type, options: options, decoder: decoder))
    }

    private func followedFrames(_ url: String, _ options: FetchOptions) -> FetchFrames {
        FetchFrames(lines: FrameLines(client: self, url: url, options: options, follows: true))
    }
}

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

/// One answer to a URL, whose bytes are still coming.
public struct StreamedAnswer: Sendable {
    /// Whether it was cached or the origin gave it now.
    public let source: AnswerSource
    /// Whether it is past its lifetime.
    public let isStale: Bool
    /// How long ago the origin gave or confirmed it.
    public let age: Duration
    /// The status of the origin's answer.
    public let status: Int
    /// Its Content-Type.
    public let mediaType: String?
    /// How many bytes it has; nil where nobody said.
    public let byteCount: Int64?
    /// Its exact bytes, to be iterated once.
    public let chunks: EntryChunks
}

/// How far a download has come.
public struct DownloadProgress: Equatable, Sendable {
    /// The bytes that are in the file.
    public let receivedBytes: Int64
    /// How many there will be; nil where nobody said.
    public let totalBytes: Int64?

    package init(receivedBytes: Int64, totalBytes: Int64?) {
        self.receivedBytes = receivedBytes
        self.totalBytes = totalBytes
    }
}
