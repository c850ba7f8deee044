import Synchronization

/// One flag, however often it is raised.
///
/// Whoever is told of something raises it, and whoever looks lowers it before that, so that what
/// changes meanwhile raises it anew.
final class Flag: Sendable {
    // Both orders: what was done before it was raised is seen by whoever lowers it.
    private let flag = Atomic<Bool>(false)

    var isUp: Bool { flag.load(ordering: .acquiring) }

    /// True when it was down: then whoever looks has to be told.
    @discardableResult
    func raise() -> Bool {
        !flag.exchange(true, ordering: .acquiringAndReleasing)
    }

    func lower() {
        _ = flag.exchange(false, ordering: .acquiringAndReleasing)
    }
}
