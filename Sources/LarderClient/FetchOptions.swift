import LarderModel
import LarderWire

/// What a fetch may ask for beyond its URL; what is nil is left to the origin's settings.
public struct FetchOptions: Equatable, Sendable {
    /// In which order the cache and the network are asked.
    public enum Policy: Equatable, Sendable, CaseIterable {
        /// Both at once: what is cached, and after it what the network says.
        case cacheThenNetwork
        /// What is cached while it is fresh, and the server is not asked; else as
        /// ``networkFirst``.
        case cacheFirst
        /// The network, or what is cached if it fails or takes longer than `networkWait`.
        case networkFirst
        /// What is cached, once; the daemon asks the network behind it.
        case staleWhileRevalidate
        /// What is cached, or a miss at once.
        case cacheOnly
        /// What the network says, never what is cached.
        case networkOnly
    }

    /// The policy.
    public var policy: Policy?
    /// How long ``Policy/networkFirst``, and ``Policy/cacheFirst`` with a stale answer, wait for
    /// the network while the cache has one.
    public var networkWait: Duration?
    /// How long to wait in all, in whole milliseconds.
    public var timeout: Duration?
    /// Whether the answer's entities are shared with other answers, by the origin's rules; nil
    /// leaves it to them.
    public var normalizes: Bool?
    /// Whether what is cached is shown without the entities that were evicted of it.
    ///
    /// Else that is a miss. See ``Snapshot/missing``.
    public var allowsPartial: Bool
    /// Header fields for the origin's server.
    public var headers: [String: String]

    /// Options; without arguments all is left to the origin's settings.
    public init(
        policy: Policy? = nil,
        networkWait: Duration? = nil,
        timeout: Duration? = nil,
        normalizes: Bool? = nil,
        allowsPartial: Bool = false,
        headers: [String: String] = [:]
    ) {
        self.policy = policy
        self.networkWait = networkWait
        self.timeout = timeout
        self.normalizes = normalizes
        self.allowsPartial = allowsPartial
        self.headers = headers
    }
}

extension FetchOptions.Policy {
    /// The name, as it stands on the wire and on command lines.
    public var name: String { wire.rawValue }

    /// The policy of this name; nil where there is none.
    public init?(name: String) {
        guard let policy = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = policy
    }

    fileprivate var wire: FetchPolicy {
        switch self {
        case .cacheThenNetwork: .cacheThenNetwork
        case .cacheFirst: .cacheFirst
        case .networkFirst: .networkFirst
        case .staleWhileRevalidate: .staleWhileRevalidate
        case .cacheOnly: .cacheOnly
        case .networkOnly: .networkOnly
        }
    }
}

extension FetchOptions {
    /// The command that asks the daemon for `url` with these options.
    func command(url: WebURL, account: AccountName) -> FetchCommand {
        var command = FetchCommand(url: url)
        command.policy = policy?.wire
        command.networkWait = networkWait
        command.timeout = timeout
        command.account = account
        command.normalizes = normalizes
        command.isPartial = allowsPartial
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
            command.headers.append(name, value)
        }
        return command
    }
}
