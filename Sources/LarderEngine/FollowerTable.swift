import LarderModel
import LarderStore
import Synchronization

/// Who follows an entry: how many of one user, and how much they keep from being evicted.
///
/// Guarded by a lock.
final class FollowerTable: Sendable {
    private struct State {
        var followers = Shares<UInt32?>(each: Limits.followersPerUserMax)
        /// The accounted bytes of what is held, each follower's counted by itself.
        var bytes: Shares<UInt32?>
        var held = Shares<TargetName>()
    }

    private let state: Mutex<State>

    /// `maxBytes` is what the cache may hold in all.
    init(maxBytes: Int64) {
        let bytes = Shares<UInt32?>(each: Int(maxBytes / Limits.followedShareDivisor))
        state = Mutex(State(bytes: bytes))
    }

    /// The cache may hold something else in all; who holds more goes on.
    func setMaxBytes(_ maxBytes: Int64) {
        state.withLock { $0.bytes.eachMax = Int(maxBytes / Limits.followedShareDivisor) }
    }

    /// Takes a follower in; false when its user has too many.
    func add(_ scope: ScopeKey) -> Bool { state.withLock { $0.followers.take(scope.scope.uid) } }

    func remove(_ scope: ScopeKey) { state.withLock { $0.followers.giveBack(scope.scope.uid) } }

    /// Counts an id as held, with the bytes of its row, which may stand in another scope; false when
    /// its user holds too much.
    func hold(_ scope: ScopeKey, _ id: EntryID, bytes: Int64, in place: ScopeKey) -> Bool {
        state.withLock { state in
            state.bytes.take(scope.scope.uid, Int(bytes))
                && state.held.take(TargetName(place, id))
        }
    }

    func letGo(_ scope: ScopeKey, _ id: EntryID, bytes: Int64, in place: ScopeKey) {
        state.withLock { state in
            state.bytes.giveBack(scope.scope.uid, Int(bytes))
            state.held.giveBack(TargetName(place, id))
        }
    }

    /// How many hold an id.
    func holders(of id: EntryID, in scope: ScopeKey) -> Int {
        state.withLock { $0.held.count(of: TargetName(scope, id)) }
    }

    /// All who follow something.
    var count: Int { state.withLock { $0.followers.count } }
}
