import LarderJSON
package import LarderModel
import LarderNormalize
import LarderStore
import LarderWire

/// What is said of an entry beside its bytes, while modifiers touch it.
package struct Overlay: Equatable, Sendable {
    package static let none = Overlay(pending: [], failed: 0, isComplete: true)

    /// The modifiers that are not settled and touch it, in their order.
    package let pending: [ModifierID]
    /// Dead letters that touched it.
    package internal(set) var failed: Int
    package let isComplete: Bool
    /// JSON pointers (RFC 6901) to what is missing of a normalized answer.
    package internal(set) var missing: [String] = []

    /// What is said of modifiers here, with what is said of a normalized answer there.
    package func adding(_ answer: Overlay) -> Overlay {
        let known = Set(pending)
        return Overlay(
            pending: pending + answer.pending.filter { !known.contains($0) },
            failed: failed + answer.failed,
            isComplete: isComplete && answer.isComplete,
            missing: missing + answer.missing
        )
    }
}

extension Overlay {
    init(_ pending: PendingChanges) {
        self.init(pending: pending.ids, failed: pending.failed, isComplete: pending.isComplete)
    }

    /// What is to be said of a normalized answer: as modifiers have changed its entities, and where
    /// some are missing.
    init(missing answer: RebuiltAnswer, _ pending: PendingChanges) {
        self.init(
            pending: pending.ids,
            failed: pending.failed,
            isComplete: answer.isComplete && pending.isComplete,
            missing: answer.missing.map(\.text)
        )
    }
}

extension PendingChanges {
    /// The modifiers, in their order.
    var ids: [ModifierID] {
        modifiers.sorted { $0.key < $1.key }.compactMap { try? ModifierID($0.value) }
    }
}
