import LarderJSON
import LarderModel

/// A value as it came, with the entities in it.
indirect enum ModelCame {
    case value(JSONValue)
    case array([ModelCame])
    case object([ModelMember])
    case entity(ModelOccurrence)
}

struct ModelMember {
    let name: String
    let value: ModelCame
}

/// One place of an answer where an entity stands.
final class ModelOccurrence {
    let key: EntityKey
    let type: String
    let place: ModelAnswer.Place
    /// In the order of the text; of a name that comes twice the last one counts.
    var members: [ModelMember] = []
    /// What was held of it when the answer had been stored.
    var then = ModelStore.Members()

    init(key: EntityKey, type: String, place: ModelAnswer.Place) {
        self.key = key
        self.type = type
        self.place = place
    }

    /// The values of a name, of which the last one counts.
    func values(of name: String) -> [ModelCame] {
        members.filter { $0.name == name }.map(\.value)
    }

    func place(of name: String) -> ModelAnswer.Place {
        place + ["type " + type, "member " + name]
    }
}

extension ModelCame {
    /// What an entity holds whose member this is.
    var held: ModelStore.Held {
        switch self {
        case .value(let value): .value(value)
        case .array(let elements): .array(elements.map(\.held))
        case .object(let members):
            .object(ModelStore.Members(members.map { ($0.name, $0.value.held) }))
        case .entity(let occurrence): .reference(occurrence.key)
        }
    }

    /// The entities that stand in it, but those within them.
    var outermost: [ModelOccurrence] {
        switch self {
        case .value: []
        case .array(let elements): elements.flatMap(\.outermost)
        case .object(let members): members.flatMap { $0.value.outermost }
        case .entity(let occurrence): [occurrence]
        }
    }
}
