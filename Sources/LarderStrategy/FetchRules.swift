package import LarderModel

/// What a policy means: the data that ``FetchMachine`` consults.
package struct FetchRules: Equatable, Sendable {
    /// When the network is asked.
    package enum Network: Equatable, Sendable {
        case never
        case atOnce
        /// Once the cache has no answer that is enough.
        case ifNeeded
    }

    /// When a cached answer is shown that is not enough.
    package enum Cache: Equatable, Sendable {
        case never
        case atOnce
        /// When the network fails, or has not answered within `network_wait`.
        case ifNetworkIsSlow
    }

    /// Which cached answer is all that the client gets.
    package enum Enough: Equatable, Sendable {
        case none
        case fresh
        case any
    }

    package let network: Network
    package let cache: Cache
    package let enough: Enough

    private init(_ network: Network, _ cache: Cache, enough: Enough) {
        self.network = network
        self.cache = cache
        self.enough = enough
    }

    package init(_ policy: FetchPolicy) {
        self =
            switch policy {
            case .cacheThenNetwork: FetchRules(.atOnce, .atOnce, enough: .none)
            case .cacheFirst: FetchRules(.ifNeeded, .ifNetworkIsSlow, enough: .fresh)
            case .networkFirst: FetchRules(.atOnce, .ifNetworkIsSlow, enough: .none)
            case .staleWhileRevalidate: FetchRules(.atOnce, .atOnce, enough: .any)
            case .cacheOnly: FetchRules(.never, .atOnce, enough: .any)
            case .networkOnly: FetchRules(.atOnce, .never, enough: .none)
            }
    }
}
