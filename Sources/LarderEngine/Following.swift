import LarderModel
import LarderStore
import LarderStrategy
import Synchronization

/// One follower's part in an id: it hears of changes, and keeps the row from being evicted as long
/// as that fits into its user's share.
///
/// Used by one task; over when it is gone.
final class Following {
    let id: EntryID
    private let sight: Sight
    private let context: EngineContext
    private let flag = Flag()
    private var watches: [RowWatch] = []
    /// The bytes that are counted as held, and where the row stands; nil while it is not protected.
    private var held: (bytes: Int64, place: ScopeKey)?

    /// `tell` is called when the row has changed, and not again before ``rowIsRead()``.
    init(
        _ id: EntryID,
        _ sight: Sight,
        _ context: EngineContext,
        _ tell: @escaping @Sendable () -> Void
    ) {
        self.id = id
        self.sight = sight
        self.context = context
        // What is written to a URL shows in its variants.
        let url = Variants.url(of: id).map { [(sight.own, $0)] } ?? []
        watches = (sight.scopes.map { ($0, id) } + url).map { scope, id in
            context.store.watch(scope, id) { [flag] in
                if flag.raise() { tell() }
            }
        }
    }

    deinit {
        watches = []
        letGo()
    }

    /// To be called before the row is read: what changes from now on is told.
    func rowIsRead() {
        flag.lower()
    }

    /// The row was read; `bytes` is what it holds, and `place` where it stands: 0 and nil where there
    /// is none.
    func rowWasRead(bytes: Int64, in place: ScopeKey?) {
        let place = place ?? sight.own
        if let held, held == (bytes, place) { return }
        // Before the old place is let go, as they may be the same.
        context.store.protect(place, id)
        letGo()
        guard context.followers.hold(sight.own, id, bytes: bytes, in: place) else {
            return context.store.release(place, id)
        }
        held = (bytes, place)
    }

    private func letGo() {
        guard let held else { return }
        context.store.release(held.place, id)
        context.followers.letGo(sight.own, id, bytes: held.bytes, in: held.place)
        self.held = nil
    }
}

/// Who follows entries, and how much each user keeps from being evicted; guarded by a lock.
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

    func setMaxBytes(_ maxBytes: Int64) {
        state.withLock { $0.bytes.eachMax = Int(maxBytes / Limits.followedShareDivisor) }
    }

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

    func holders(of id: EntryID, in scope: ScopeKey) -> Int {
        state.withLock { $0.held.count(of: TargetName(scope, id)) }
    }

    var count: Int { state.withLock { $0.followers.count } }
}
