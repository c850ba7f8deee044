public import FoundationEssentials
public import LarderAPI

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
