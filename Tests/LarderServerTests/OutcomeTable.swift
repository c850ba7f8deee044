import LarderModel

/// What is cached when a request comes.
enum CachedState: String, CaseIterable, Sendable {
    case fresh
    case stale
    case nothing
}

/// What the network comes to, told apart where clients see a difference.
enum NetworkResult: Hashable, Sendable {
    /// A new answer, before `network_wait` is over.
    case brings
    /// The same after it.
    case bringsLate
    /// A 304 to the condition that was asked.
    case confirms
    /// 404.
    case deletes
    /// No answer, or one that cannot be used: the problem's kind.
    case fails(ProblemName)
    /// The origin's 500, 502, 503, 504, and Cloudflare's 520 to 526 and 530.
    case breaksDown(Int)
    /// Any other of its refusals.
    case refuses(Int)
    /// More than is kept.
    case brings413
}

typealias ProblemName = String

/// What a client gets by each policy, written out by hand from the contract: on the left the policy
/// and what is cached, then a column for each result of the network.
///
/// A problem that ends a fetch before its first frame is `!`, and one behind a cached answer `?`.
struct OutcomeTable {
    struct Line: Sendable {
        let policy: FetchPolicy
        let cached: CachedState
        let brings: String
        let late: String
        let confirms: String
        let deletes: String
        let fails: String
        /// The same, but that the origin lives and says no; as `fails` unless it differs.
        let refuses: String

        init(
            _ policy: FetchPolicy,
            _ cached: CachedState,
            _ brings: String,
            _ late: String,
            _ confirms: String,
            _ deletes: String,
            _ fails: String,
            _ refuses: String? = nil
        ) {
            self.policy = policy
            self.cached = cached
            self.brings = brings
            self.late = late
            self.confirms = confirms
            self.deletes = deletes
            self.fails = fails
            self.refuses = refuses ?? fails
        }

        func expected(_ result: NetworkResult) -> String {
            switch result {
            case .brings: brings
            case .bringsLate: late
            case .confirms: confirms
            case .deletes: deletes
            case .fails, .breaksDown, .brings413: fails
            case .refuses: refuses
            }
        }
    }

    /// The frames of `/v1/fetch`; every stream ends with its `end`, which is left out.
    static let fetch: [Line] = [
        Line(.cacheThenNetwork, .fresh, "old new", "old new", "old same", "old gone", "old ?"),
        Line(.cacheThenNetwork, .stale, "old new", "old new", "old same", "old gone", "old ?"),
        Line(.cacheThenNetwork, .nothing, "new", "new", "-", "!deleted", "!"),
        Line(.cacheFirst, .fresh, "old", "old", "old", "old", "old"),
        Line(.cacheFirst, .stale, "new", "old new", "old", "!deleted", "old ?"),
        Line(.cacheFirst, .nothing, "new", "new", "-", "!deleted", "!"),
        Line(.networkFirst, .fresh, "new", "old new", "old", "!deleted", "old ?"),
        Line(.networkFirst, .stale, "new", "old new", "old", "!deleted", "old ?"),
        Line(.networkFirst, .nothing, "new", "new", "-", "!deleted", "!"),
        Line(.staleWhileRevalidate, .fresh, "old", "old", "old", "old", "old"),
        Line(.staleWhileRevalidate, .stale, "old", "old", "old", "old", "old"),
        Line(.staleWhileRevalidate, .nothing, "new", "new", "-", "!deleted", "!"),
        Line(.cacheOnly, .fresh, "old", "old", "old", "old", "old"),
        Line(.cacheOnly, .stale, "old", "old", "old", "old", "old"),
        Line(.cacheOnly, .nothing, "!miss", "!miss", "-", "!miss", "!miss"),
        Line(.networkOnly, .fresh, "new", "new", "old", "!deleted", "!"),
        Line(.networkOnly, .stale, "new", "new", "old", "!deleted", "!"),
        Line(.networkOnly, .nothing, "new", "new", "-", "!deleted", "!"),
    ]

    /// The one answer of the raw routes; `!` is the problem or the origin's own refusal.
    static let raw: [Line] = [
        Line(.cacheThenNetwork, .fresh, "new", "old", "old", "!", "old", "!"),
        Line(.cacheThenNetwork, .stale, "new", "old", "old", "!", "old", "!"),
        Line(.cacheThenNetwork, .nothing, "new", "new", "-", "!", "!"),
        Line(.cacheFirst, .fresh, "old", "old", "old", "old", "old"),
        Line(.cacheFirst, .stale, "new", "old", "old", "!", "old", "!"),
        Line(.cacheFirst, .nothing, "new", "new", "-", "!", "!"),
        Line(.networkFirst, .fresh, "new", "old", "old", "!", "old", "!"),
        Line(.networkFirst, .stale, "new", "old", "old", "!", "old", "!"),
        Line(.networkFirst, .nothing, "new", "new", "-", "!", "!"),
        Line(.staleWhileRevalidate, .fresh, "old", "old", "old", "old", "old"),
        Line(.staleWhileRevalidate, .stale, "old", "old", "old", "old", "old"),
        Line(.staleWhileRevalidate, .nothing, "new", "new", "-", "!", "!"),
        Line(.cacheOnly, .fresh, "old", "old", "old", "old", "old"),
        Line(.cacheOnly, .stale, "old", "old", "old", "old", "old"),
        Line(.cacheOnly, .nothing, "!miss", "!miss", "-", "!miss", "!miss"),
        Line(.networkOnly, .fresh, "new", "new", "old", "!", "!"),
        Line(.networkOnly, .stale, "new", "new", "old", "!", "!"),
        Line(.networkOnly, .nothing, "new", "new", "-", "!", "!"),
    ]
}
