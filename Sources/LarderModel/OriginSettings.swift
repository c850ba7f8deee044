/// A named server with its rules, as the configuration or the API gives it.
package struct OriginSettings: Equatable, Sendable {
    package var name: OriginName
    package var baseURL: WebURL
    /// Whether it may live on loopback or a private address.
    package var allowPrivate = false
    package var redirectHosts: [HostPort] = []
    /// Whether all users share its answers.
    package var isShared = false
    package var proxy: ProxySettings?
    package var tls = TLSSettings()
    /// Sent with every request to it.
    package var headers = HeaderFields()
    /// The credential of some users, which comes before ``headers``.
    package var credential: OriginCredential?
    /// The credential of the account for whose requests these settings are; nil in the settings for
    /// all users.
    package var account: AccountCredential?
    package var fetch = FetchSettings()
    /// Which objects in its answers are entities; nil: they are only stored whole.
    package var normalize: NormalizeRules?
    package var modifiers = ModifierRules()

    package init(name: OriginName, baseURL: WebURL) {
        self.name = name
        self.baseURL = baseURL
    }

    /// Whether a URL is on the origin's host, and not on one that it redirects to.
    package func isHost(of url: WebURL) -> Bool { url.originText == baseURL.originText }

    /// The path of a URL after the base URL, without the query; nil for one that is not under it.
    package func path(of url: WebURL) -> String? {
        guard baseURL.isPrefix(of: url) else { return nil }
        let slash = UInt8(ascii: "/")
        let base = baseURL.path.utf8
        let count = base.last == slash ? base.count - 1 : base.count
        let rest = String(Substring(url.path.utf8.dropFirst(count)))
        return rest.isEmpty ? "/" : rest
    }
}

package struct FetchSettings: Equatable, Sendable {
    package var policy = FetchPolicy.cacheThenNetwork
    /// How long `network-first` waits for the network while the cache has an answer.
    package var networkWait = Duration.milliseconds(300)
    /// How long a client waits in all.
    package var timeout = Duration.seconds(30)
    package var connectTimeout = Duration.seconds(5)
    /// The lifetime of every answer; nil leaves it to the answer's own headers.
    package var ttl: Duration?
    /// Whether answers with `Cache-Control: no-store` are kept all the same.
    package var storesNoStore = false
    /// Paths after the base URL where a POST is a read; `*` is any segment.
    package var postReads: [String] = []
    /// Names of request headers, in lower case, by which answers differ although no Vary says so.
    package var vary: [String] = []
    /// A 2xx whose body matches one of these is a refusal, which replaces no answer.
    package var refusedIf: [RefusalRule] = []
    /// The shortest interval at which clients may have a row refreshed.
    package var minRefresh = Duration.seconds(5)
    /// Whether the origin may compress its answers.
    package var compresses = true

    package init() {}

    /// Whether a POST to a path after the base URL is a read.
    package func isPostRead(_ path: String) -> Bool {
        postReads.contains { pattern in
            let (names, segments) = (Self.segments(pattern), Self.segments(path))
            return names.count == segments.count
                && zip(names, segments).allSatisfy { $0 == "*" || $0.utf8.elementsEqual($1.utf8) }
        }
    }

    private static func segments(_ path: String) -> [Substring] {
        path.split(separator: "/", omittingEmptySubsequences: false)
    }
}

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

extension OriginSettings {
    /// The same for a request whose answer is to come without a content coding.
    package var plain: OriginSettings {
        var settings = self
        settings.fetch.compresses = false
        return settings
    }
}

/// The name of a configured server: 1 to 64 letters, digits, `.`, `_` and `-`.
package struct OriginName: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let text: String

    package var description: String { text }

    package init(_ text: String) throws(ModelError) {
        guard (1...Limits.originNameBytesMax).contains(text.utf8.count),
            text.utf8.allSatisfy({ $0.isASCIIAlphanumeric || "._-".utf8.contains($0) })
        else { throw .badOriginName(text) }
        self.text = text
    }

    package static func < (left: OriginName, right: OriginName) -> Bool { left.text < right.text }
}

/// The name that a user gives to a set of entries: 1 to 64 letters, digits, `.`, `_` and `-`.
package struct PrefetchName: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let text: String

    package var description: String { text }

    package init(_ text: String) throws(ModelError) {
        guard let name = try? OriginName(text) else { throw .badPrefetchName(text) }
        self.text = name.text
    }

    package static func < (left: PrefetchName, right: PrefetchName) -> Bool {
        left.text < right.text
    }
}

package enum OriginSource: Hashable, Sendable {
    /// The configuration file, or a file in the folder next to it.
    case file(String)
    /// The API: it was added while the daemon ran, and is kept in the state directory.
    case api
    /// No configuration: a user asked their own daemon for a public URL.
    case implicit
}

package struct KnownOrigin: Equatable, Sendable {
    package var settings: OriginSettings
    package var source: OriginSource

    package var name: OriginName { settings.name }

    package init(_ settings: OriginSettings, from source: OriginSource) {
        self.settings = settings
        self.source = source
    }
}

package enum OriginState: String, Sendable {
    case unknown
    case online
    case offline
    case captive
}
