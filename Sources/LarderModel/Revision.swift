/// The number of one logical step; one counter for the daemon, survives restarts, orders events.
package struct Revision: Hashable, Sendable, Comparable {
    package let number: Int64

    package init(_ number: Int64) {
        self.number = number
    }

    package static func < (left: Revision, right: Revision) -> Bool {
        left.number < right.number
    }
}
