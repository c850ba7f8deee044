/// In which order a fetch asks the cache and the network, and how long it waits.
package enum FetchPolicy: String, Sendable, CaseIterable {
    /// Both start together; the cache's answer at once, then the network's if it differs.
    case cacheThenNetwork = "cache-then-network"
    /// A fresh entry, and the network is not asked; else as ``networkFirst``.
    case cacheFirst = "cache-first"
    /// The network; if it fails or has not answered within `network_wait`, the cache.
    case networkFirst = "network-first"
    /// What is cached, once; the refresh goes on behind it.
    case staleWhileRevalidate = "stale-while-revalidate"
    /// What is cached, or a miss at once.
    case cacheOnly = "cache-only"
    /// The network; its answer is stored, and the cache is never shown.
    case networkOnly = "network-only"
}
