import Synchronization

/// Whether a followed row has changed since it was last read: one flag, however often it did.
///
/// Raised by the store's writer, lowered by the follower before it reads, so that what changes
/// while it reads raises it anew.
final class ChangeFlag: Sendable {
    // Both orders: what was committed before it was raised is seen by whoever lowers it.
    private let isUp = Atomic<Bool>(false)

    /// True when it was down: then the follower has to be told.
    func raise() -> Bool {
        !isUp.exchange(true, ordering: .acquiringAndReleasing)
    }

    func lower() {
        _ = isUp.exchange(false, ordering: .acquiringAndReleasing)
    }
}
