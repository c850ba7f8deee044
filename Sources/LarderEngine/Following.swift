import LarderModel
import LarderStore
import LarderStrategy
import Synchronization

/// Follows one id: hears of changes, and keeps the row from eviction.
///
/// The row is kept only while its bytes fit into the share of its user.
///
/// One task uses the value, and following ends when that task drops it.
final class Following {
    let id: EntryID
    private let lookupScopes: LookupScopes
    private let context: EngineContext
    private let flag = Flag()
    private var watches: [RowWatch] = []
    /// The bytes counted as held, and the scope of the row; nil while the row is not protected.
    private var held: (bytes: Int64, place: ScopeKey)?

    /// `tell` is called when the row has changed, and not again before ``rowIsRead()``.
    init(
        _ id: EntryID,
        _ lookupScopes: LookupScopes,
        _ context: EngineContext,
        _ tell: @escaping @Sendable () -> Void
    ) {
        self.id = id
        self.lookupScopes = lookupScopes
        self.context = context
        // A write to a URL also shows in its variants.
        let url = Variants.url(of: id).map { [(lookupScopes.own, $0)] } ?? []
        watches = (lookupScopes.scopes.map { ($0, id) } + url).map { scope, id in
            context.store.watch(scope, id) { [flag] in
                if flag.raise() { tell() }
            }
        }
    }

    deinit {
        watches = []
        letGo()
    }

    /// Call this before the row is read; later changes are then told.
    func rowIsRead() {
        flag.lower()
    }

    /// Call this after a read, with the byte count and the scope of the row; 0 and nil if there is
    /// none.
    func rowWasRead(bytes: Int64, in place: ScopeKey?) {
        let place = place ?? lookupScopes.own
        if let held, held == (bytes, place) { return }
        // Before the old place is let go, as they may be the same.
        context.store.protect(place, id)
        letGo()
        guard context.followers.hold(lookupScopes.own, id, bytes: bytes, in: place) else {
            return context.store.release(place, id)
        }
        held = (bytes, place)
    }

    private func letGo() {
        guard let held else { return }
        context.store.release(held.place, id)
        context.followers.letGo(lookupScopes.own, id, bytes: held.bytes, in: held.place)
        self.held = nil
    }
}

/// Followers of entries, and the bytes that each user keeps from eviction; guarded by a lock.
final class FollowerTable: Sendable {
    private struct State {
        var followers = Quota<UInt32?>(each: Limits.followersPerUserMax)
        /// The accounted bytes of what is held, each follower's counted by itself.
        var bytes: Quota<UInt32?>
        var held = Quota<TargetName>()
    }

    private let state: Mutex<State>

    /// `maxBytes` is what the cache may hold in all.
    init(maxBytes: Int64) {
        let bytes = Quota<UInt32?>(each: Int(maxBytes / Limits.followedShareDivisor))
        state = Mutex(State(bytes: bytes))
    }

    func setMaxBytes(_ maxBytes: Int64) {
        state.withLock { $0.bytes.eachMax = Int(maxBytes / Limits.followedShareDivisor) }
    }

    func add(_ scope: ScopeKey) -> Bool { state.withLock { $0.followers.take(scope.scope.uid) } }

    func remove(_ scope: ScopeKey) { state.withLock { $0.followers.release(scope.scope.uid) } }

    /// Counts an id and the bytes of its row as held; false if its user holds too much.
    ///
    /// The row may be of another scope.
    func hold(_ scope: ScopeKey, _ id: EntryID, bytes: Int64, in place: ScopeKey) -> Bool {
        state.withLock { state in
            state.bytes.take(scope.scope.uid, Int(bytes))
                && state.held.take(TargetName(place, id))
        }
    }

    func letGo(_ scope: ScopeKey, _ id: EntryID, bytes: Int64, in place: ScopeKey) {
        state.withLock { state in
            state.bytes.release(scope.scope.uid, Int(bytes))
            state.held.release(TargetName(place, id))
        }
    }

    func holders(of id: EntryID, in scope: ScopeKey) -> Int {
        state.withLock { $0.held.count(of: TargetName(scope, id)) }
    }

    var count: Int { state.withLock { $0.followers.count } }
}
