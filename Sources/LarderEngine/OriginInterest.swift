/// Somebody's wish to be told when an origin is back; it holds until ``end()``, or until this goes.
final class OriginInterest: Sendable {
    private let leave: @Sendable () -> Void

    init(_ leave: @escaping @Sendable () -> Void) { self.leave = leave }

    deinit { leave() }

    /// Nobody wants to know any more; more than once is no harm.
    func end() { leave() }
}
