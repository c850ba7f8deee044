import LarderModel

extension JSONNumber {
    /// Whether both are worth the same: `1` and `1.0` and `10e-1` are, exactly, without a double.
    package func hasSameValue(as other: JSONNumber) -> Bool {
        text.hasSameBytes(as: other.text) || JSONDecimal(self) == JSONDecimal(other)
    }

    /// Whether it is worth less than the other one, exactly; nil where telling takes more digits
    /// than ``Limits/decimalDigitsMax``.
    package func isLess(than other: JSONNumber) -> Bool? {
        if let left = integer, let right = other.integer { return left < right }
        return JSONDecimal.sum(JSONDecimal(self), JSONDecimal(other).negated)?.isNegative
    }

    /// Whether it can be added: it has at most ``Limits/decimalDigitsMax`` digits on each side of
    /// the point.
    package var isAddable: Bool { JSONDecimal(self).isAddable }

    /// The exact decimal sum, so 0.1 and 0.2 make 0.3.
    ///
    /// Returns nil if the sum takes more digits than ``Limits/decimalDigitsMax``. The sum has no
    /// needless zeros after the point. If the other number is zero, this one keeps its spelling.
    package func adding(_ other: JSONNumber) -> JSONNumber? {
        if let left = integer, let right = other.integer {
            let (sum, isTooLarge) = left.addingReportingOverflow(right)
            if !isTooLarge, right != 0 { return JSONNumber(sum) }
        }
        let addend = JSONDecimal(other)
        guard !addend.digits.isEmpty else { return self }
        return JSONDecimal.sum(JSONDecimal(self), addend).map { JSONNumber(unchecked: $0.text) }
    }
}
