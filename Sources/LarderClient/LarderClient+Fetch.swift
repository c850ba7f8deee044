public import FoundationEssentials
public import LarderAPI

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
