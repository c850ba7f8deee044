/// The number that a modifier got when it was accepted: later ones are larger, and the order of
/// the queue is theirs.
package struct ModifierNumber: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let value: Int64

    package var description: String { String(value) }

    package init(_ value: Int64) {
        self.value = value
    }

    package static func < (left: ModifierNumber, right: ModifierNumber) -> Bool {
        left.value < right.value
    }
}
