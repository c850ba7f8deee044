package import LarderModel

/// The meaning of a policy, as data for ``FetchMachine``.
package struct FetchRules: Equatable, Sendable {
    package enum Network: Equatable, Sendable {
        case never
        case atOnce
        /// If the cache has no answer that is enough.
        case ifNeeded
    }

    /// When the client gets a cached answer that is not enough.
    package enum Cache: Equatable, Sendable {
        case never
        case atOnce
        /// If the network fails, or has not answered within `network_wait`.
        case ifNetworkIsSlow
    }

    /// The cached answers after which the client gets no other.
    package enum SufficientHit: Equatable, Sendable {
        case none
        case fresh
        case any
    }

    package let network: Network
    package let cache: Cache
    package let sufficient: SufficientHit
}

extension FetchRules {
    package init(_ policy: FetchPolicy) {
        self =
            switch policy {
            case .cacheThenNetwork: Self(network: .atOnce, cache: .atOnce, sufficient: .none)
            case .cacheFirst: Self(network: .ifNeeded, cache: .ifNetworkIsSlow, sufficient: .fresh)
            case .networkFirst: Self(network: .atOnce, cache: .ifNetworkIsSlow, sufficient: .none)
            case .staleWhileRevalidate: Self(network: .atOnce, cache: .atOnce, sufficient: .any)
            case .cacheOnly: Self(network: .never, cache: .atOnce, sufficient: .any)
            case .networkOnly: Self(network: .atOnce, cache: .never, sufficient: .none)
            }
    }
}
