import LarderModel
import LarderStore
import Synchronization

/// Who follows an entry: how many of one user, and how much they keep from being evicted.
///
/// Guarded by a lock.
final class FollowerTable: Sendable {
    private struct Share {
        var followers = 0
        var watchers = 0
        /// The accounted bytes of what is held, each follower's counted by itself.
        var heldBytes: Int64 = 0

        var isUnused: Bool { followers == 0 && watchers == 0 }
    }

    private struct Held: Hashable {
        let scope: ScopeKey
        let id: EntryID
    }

    private struct State {
        var shares: [Scope.Owner: Share] = [:]
        var held: [Held: Int] = [:]
    }

    private let state = Mutex(State())
    private let heldBytesMax: Int64

    /// `maxBytes` is what the cache may hold in all.
    init(maxBytes: Int64) {
        heldBytesMax = maxBytes / Limits.followedShareDivisor
    }

    /// Takes a follower in; false when its user has too many.
    func add(_ scope: ScopeKey) -> Bool {
        enter(scope, \.followers, atMost: Limits.followersPerUserMax)
    }

    func remove(_ scope: ScopeKey) { leave(scope, \.followers) }

    /// One that watches, and may hold what it names; how many there are the hub bounds.
    func addWatcher(_ scope: ScopeKey) { _ = enter(scope, \.watchers, atMost: .max) }

    func removeWatcher(_ scope: ScopeKey) { leave(scope, \.watchers) }

    private func enter(
        _ scope: ScopeKey,
        _ count: WritableKeyPath<Share, Int>,
        atMost limit: Int
    ) -> Bool {
        state.withLock { state in
            var share = state.shares[scope.scope.owner, default: Share()]
            guard share[keyPath: count] < limit else { return false }
            share[keyPath: count] += 1
            state.shares[scope.scope.owner] = share
            return true
        }
    }

    private func leave(_ scope: ScopeKey, _ count: WritableKeyPath<Share, Int>) {
        state.withLock { state in
            guard var share = state.shares[scope.scope.owner] else { return }
            share[keyPath: count] -= 1
            state.shares[scope.scope.owner] = share.isUnused ? nil : share
        }
    }

    /// Counts an id as held, with the bytes of its row, which may stand in another scope; false when
    /// its user holds too much.
    func hold(_ scope: ScopeKey, _ id: EntryID, bytes: Int64, in place: ScopeKey) -> Bool {
        state.withLock { state in
            let held = state.shares[scope.scope.owner]?.heldBytes ?? 0
            guard held + bytes <= heldBytesMax else { return false }
            state.shares[scope.scope.owner]?.heldBytes += bytes
            state.held[Held(scope: place, id: id), default: 0] += 1
            return true
        }
    }

    func letGo(_ scope: ScopeKey, _ id: EntryID, bytes: Int64, in place: ScopeKey) {
        state.withLock { state in
            state.shares[scope.scope.owner]?.heldBytes -= bytes
            let held = Held(scope: place, id: id)
            let left = state.held[held, default: 1] - 1
            state.held[held] = left == 0 ? nil : left
        }
    }

    /// How many hold an id.
    func holders(of id: EntryID, in scope: ScopeKey) -> Int {
        state.withLock { $0.held[Held(scope: scope, id: id)] ?? 0 }
    }

    /// All who follow something.
    var count: Int { state.withLock { $0.shares.values.reduce(0) { $0 + $1.followers } } }
}

extension Scope {
    /// Whose share of what there is a scope's use counts against.
    enum Owner: Hashable, Sendable {
        case user(UInt32)
        case everybody
    }

    var owner: Owner {
        switch self {
        case .own(let uid, _): .user(uid)
        case .shared: .everybody
        }
    }
}
