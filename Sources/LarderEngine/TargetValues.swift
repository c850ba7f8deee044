import LarderJSON
import LarderModel
import LarderNormalize
import LarderStore

/// A target's base as effects are applied to it, and what they make of it as it is told.
struct TargetValues {
    let content: TargetContent
    /// An entity's; in its content references stand as effects cannot name them.
    private let entity: EntityValue?

    /// `effects` are all that are to be applied.
    init(_ base: TargetBase, of id: EntryID, _ effects: [Effect]) {
        guard id.isEntity, let values = base.held.values(for: effects) else {
            content = TargetContent(base)
            entity = nil
            return
        }
        (entity, content) = values
    }

    /// A value as it is told: the key stands for each reference.
    func bytes(_ value: JSONValue) -> [UInt8] { (entity?.told(value) ?? value).bytes }

    /// The entity that a value is which effects have made; nil where it is none.
    func body(_ value: JSONValue) -> EntityBody? {
        entity?.body(value)
    }
}

extension Effect {
    /// Whether what it makes of a base that has it already is wrong.
    var counts: Bool {
        switch self {
        case .patch, .add: true
        case _: false
        }
    }
}

extension TargetContent {
    /// Nil for what is no JSON.
    var json: JSONValue? { if case .json(let value) = self { value } else { nil } }

    /// Of an entity, what it is compared by.
    init(_ base: TargetBase) {
        switch base {
        case .unknown: self = .unknown
        case .deleted: self = .deleted
        case .value(_, let bytes):
            let value = bytes.flatMap { try? JSONValue(parsing: $0) }
            self = value.map { .json($0) } ?? .opaque
        case .entity(_, let held):
            self = held.values(for: [])?.content ?? .unknown
        }
    }
}

extension TargetBase {
    var isKnown: Bool {
        if case .unknown = self { false } else { true }
    }

    /// The value; nil where there is none.
    var entry: Entry? {
        switch self {
        case .unknown, .deleted, .entity(_, .deleted), .entity(_, .unknown): nil
        case .value(let entry, _), .entity(let entry, .present): entry
        }
    }

    /// What it says, to tell whether it still says that; of an entity apart from when it was said.
    var said: BodySummary? {
        guard case .entity(_, .present(let body, _)) = self else { return entry?.body }
        return BodySummary(of: body.bytes, isJSON: false)
    }

    /// Whether what the origin gives of it is JSON.
    var isJSON: Bool {
        if case .entity = self { true } else { entry?.body.isJSON ?? false }
    }
}
