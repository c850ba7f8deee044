import LarderAPI
package import LarderJSON
package import LarderModel

extension ModifierCommand {
    /// What a change is of, as it was given.
    package enum Target: Hashable, Sendable {
        /// An entry, by its id.
        case id(EntryID)
        /// An entity; without an origin that of the only one that has rules.
        case key(EntityKey, origin: OriginName?)
    }
}

extension ModifierCommand.Target {
    /// Reads an id, or a key and perhaps its origin.
    init(_ name: LarderAPI.TargetName) throws(Problem) {
        switch (name.id, name.key) {
        case (let id?, nil):
            guard name.origin == nil else {
                throw Problem(.badRequest, "target: origin says whose a key is, and none is given")
            }
            self = .id(try Self.id(id))
        case (nil, let text?):
            let key: EntityKey
            do throws(ModelError) {
                key = try EntityKey(text)
            } catch {
                throw Problem(.badID, "target: \(error.message)", hint: Self.keyHint)
            }
            do throws(ModelError) {
                self = .key(
                    key,
                    origin: try name.origin.map { text throws(ModelError) in
                        try OriginName(text)
                    }
                )
            } catch {
                throw Problem(.badRequest, "target: origin: \(error.message)")
            }
        case (_?, _?):
            throw Problem(
                .badRequest,
                "target: id and key are given, one of them is taken",
                hint: "Name an entry by its id, an entity by its key."
            )
        case (nil, nil):
            throw Problem(.badRequest, "target: id is missing, or the key of an entity")
        }
    }

    private static let keyHint =
        "Give Type:id as GET /v1/entities lists it: in both parts /, : and % are percent-encoded."

    /// An id, as ``WebURL`` spells it where it is a URL.
    private static func id(_ text: String) throws(Problem) -> EntryID {
        do throws(ModelError) {
            guard text.hasScheme, let url = try? WebURL(text) else {
                return try EntryID(given: text)
            }
            return try EntryID(url)
        } catch {
            throw Problem(.badID, "target: \(error.message)")
        }
    }

    func write(to json: inout JSONWriter) {
        switch self {
        case .id(let id): json.member("id", id.text)
        case .key(let key, let origin):
            json.member("key", key.text)
            if let origin { json.member("origin", origin.text) }
        }
    }

    /// Refuses an effect that makes something else of an entity than an object.
    package func refuseMisfit(_ effect: Effect) throws(Problem) {
        guard case .key(let key, _) = self else { return }
        switch effect {
        case .put(let value), .merge(let value):
            guard value.members == nil else { return }
            throw Problem(
                .badRequest,
                "effect: '\(key)' is an entity, which \(value.kindText) cannot be",
                status: 422,
                hint: "Give a JSON object."
            )
        case .replace, .patch, .set, .add, .listAdd, .listRemove, .delete, .none: return
        }
    }
}

extension Problem {
    /// Two changes of one modifier are of the same target.
    package static var targetTwice: Problem {
        Problem(
            .badRequest,
            "changes: a target is given twice",
            hint: "Put both changes of it into one effect, or into two modifiers."
        )
    }
}
