import LarderModel

/// Why an effect does not fit the value that its target has now, so that it is left out of the view.
package struct Inapplicability: Error, Equatable, Sendable {
    package enum Cause: Error, Equatable, Sendable {
        /// The target is unknown, and the effect needs a value.
        case unknownTarget
        case deletedTarget
        /// The target's bytes are not JSON.
        case notJSON
        /// The place has no value.
        case missing
        /// The value at the place has another kind than the effect needs: `a string`.
        case wrongKind(found: String, needed: String)
        /// The value at the place is an array, and the token is not an index of it.
        case notAnIndex(String)
        /// The value is not the one that a `test` names.
        case testFailed
        /// The whole value cannot be removed, and an array's elements cannot be unset.
        case notRemovable
        /// More digits than sums are calculated with.
        case tooManyDigits
        case tooDeep
        case tooLarge
        /// The effects of a view have used all steps.
        case tooMuchWork
    }

    package let cause: Cause
    /// Where in the target; nil where it is about the whole.
    package let pointer: JSONPointer?
    /// Which operation of a patch, counted from 0.
    package let operation: Int?

    package init(_ cause: Cause, at pointer: JSONPointer? = nil, operation: Int? = nil) {
        self.cause = cause
        self.pointer = pointer
        self.operation = operation
    }

    /// A sentence for people, without a full stop.
    package var message: String {
        let place = pointer.map { " at '\($0.text)'" } ?? ""
        let part = operation.map { "operation \($0): " } ?? ""
        return part + cause.message(place)
    }
}

extension Inapplicability.Cause {
    fileprivate func message(_ place: String) -> String {
        switch self {
        case .unknownTarget: "nothing is known of the target yet"
        case .deletedTarget: "the target is deleted"
        case .notJSON: "the target's body is not JSON"
        case .missing: "there is nothing\(place)"
        case .wrongKind(let found, let needed): "there is \(found)\(place), \(needed) is needed"
        case .notAnIndex(let token): "'\(token)' is no index of the array that is there\(place)"
        case .testFailed: "the value\(place) is not the one that is tested for"
        case .notRemovable: "what is\(place) cannot be removed so"
        case .tooManyDigits: "the sum\(place) has more than \(Limits.decimalDigitsMax) digits"
        case .tooDeep: "the value\(place) would be nested more than \(Limits.jsonDepthMax) deep"
        case .tooLarge: "the view would be larger than \(Limits.viewBytesMax) bytes"
        case .tooMuchWork: "the view would take more than \(Limits.viewStepsMax) steps"
        }
    }
}
