/// Somebody's wish to be told when an origin is back; it holds until ``end()``.
package final class OriginInterest: Sendable {
    private let ending: Once

    init(_ end: @escaping @Sendable () -> Void) {
        ending = Once(end)
    }

    deinit {
        ending.run()
    }

    /// Nobody wants to know any more; more than once is no harm.
    package func end() {
        ending.run()
    }
}
