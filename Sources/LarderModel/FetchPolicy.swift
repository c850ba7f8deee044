/// In which order a fetch asks the cache and the network, and how long it waits.
package enum FetchPolicy: String, Sendable, CaseIterable {
    /// Both start together; the cache answers immediately, then the network if its answer differs.
    case cacheThenNetwork = "cache-then-network"
    /// A fresh entry, and the network is not asked; else as ``networkFirst``.
    case cacheFirst = "cache-first"
    /// The network; if it fails or has not answered within `network_wait`, the cache.
    case networkFirst = "network-first"
    /// The cached answer, once; the refresh continues in the background.
    case staleWhileRevalidate = "stale-while-revalidate"
    /// The cached answer, or an immediate miss.
    case cacheOnly = "cache-only"
    /// The network; its answer is stored, and the cache is never shown.
    case networkOnly = "network-only"
}
