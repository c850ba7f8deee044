/// A number as it was written, so that nothing of it is lost.
package struct JSONNumber: Hashable, Sendable {
    package let text: String

    init(unchecked text: String) {
        self.text = text
    }

    package init(_ number: Int64) {
        text = String(number)
    }

    /// The number where it is written as an integer (`1`, not `1.0` or `1e0`) that fits.
    package var integer: Int64? { Int64(text) }

    /// The nearest double; nil where that is infinite.
    package var double: Double? {
        guard let double = Double(text), double.isFinite else { return nil }
        return double
    }
}
