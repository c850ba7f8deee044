extension PlainQueue {
    /// The last value that the server said or confirmed.
    enum Base: Hashable {
        case unknown
        case deleted
        case value(PlainValue)
        /// A part of a value, which only confirmed writes have said.
        case part(PlainValue)

        /// Whether both say the same.
        func isSame(as other: Base) -> Bool {
            PlainQueue.view(self).value == PlainQueue.view(other).value
                && (self == .unknown) == (other == .unknown)
        }
    }

    static func view(_ base: Base) -> PlainView {
        switch base {
        case .unknown: .unknown
        case .deleted: .deleted
        case .value(let value): .value(value, isComplete: true)
        case .part(let value): .value(value, isComplete: false)
        }
    }
}

extension PlainQueue.Base {
    init(_ view: PlainView) {
        switch view {
        case .unknown: self = .unknown
        case .deleted: self = .deleted
        case .value(let value, let isComplete): self = isComplete ? .value(value) : .part(value)
        }
    }

    var view: PlainView { PlainQueue.view(self) }
}
