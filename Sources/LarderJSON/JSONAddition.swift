/// A number that is added to the one at a place.
package struct JSONAddition: Equatable, Sendable {
    package let pointer: JSONPointer
    package let number: JSONNumber

    package init(_ pointer: JSONPointer, _ number: JSONNumber) {
        self.pointer = pointer
        self.number = number
    }

    func apply(
        to value: inout JSONValue,
        _ budget: inout EffectBudget
    ) throws(Inapplicability.Cause) {
        try value.change(at: pointer.tokens[...], &budget) {
            (place, budget) throws(Inapplicability.Cause) in
            guard case .number(let old) = place else {
                throw .wrongKind(found: place.kindText, needed: "a number")
            }
            guard let sum = old.adding(number) else { throw .tooManyDigits }
            try budget.spend(old.text.utf8.count + number.text.utf8.count)
            try budget.admit(.number(sum), below: 0)
            place = .number(sum)
        }
    }
}
