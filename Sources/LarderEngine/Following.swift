import LarderModel
import LarderStore

/// One follower's part in an id: it hears of changes, and keeps the row from being evicted as long
/// as that fits into its user's share.
///
/// Used by one task; over when it is gone.
final class Following {
    let id: EntryID
    private let scope: ScopeKey
    private let store: CacheStore
    private let table: FollowerTable
    private let flag = ChangeFlag()
    private var watch: RowWatch?
    /// The bytes that are counted as held; nil while the row is not protected.
    private var heldBytes: Int64?

    /// `tell` is called when the row has changed, and not again before ``rowIsRead()``.
    init(
        _ id: EntryID,
        _ scope: ScopeKey,
        _ store: CacheStore,
        _ table: FollowerTable,
        _ tell: @escaping @Sendable () -> Void
    ) {
        self.id = id
        self.scope = scope
        self.store = store
        self.table = table
        watch = store.watch(scope, id) { [flag] in
            if flag.raise() { tell() }
        }
    }

    deinit {
        watch = nil
        letGo()
    }

    /// To be called before the row is read: what changes from now on is told.
    func rowIsRead() {
        flag.lower()
    }

    /// The row was read; `bytes` is what it holds, 0 where there is none.
    func rowWasRead(bytes: Int64) {
        guard heldBytes != bytes else { return }
        letGo()
        guard table.hold(scope, id, bytes: bytes) else { return }
        store.protect(scope, id)
        heldBytes = bytes
    }

    private func letGo() {
        guard let bytes = heldBytes else { return }
        store.release(scope, id)
        table.letGo(scope, id, bytes: bytes)
        heldBytes = nil
    }
}
