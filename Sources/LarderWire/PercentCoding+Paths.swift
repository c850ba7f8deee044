package import LarderModel

extension PercentCoding {
    /// The id in the rest of a path, `https:%2F%2Fapi.example.com%2F42`; a bare `/` is taken too.
    package static func id(inPath rest: Substring) throws(Problem) -> EntryID {
        guard let text = decoded(rest.utf8) else {
            throw Problem(.badID, "the id in the path is not percent-encoded UTF-8")
        }
        return try EntryID(command: text)
    }

    package static func entryPath(_ id: EntryID) -> String {
        "/v1/entries/" + encode(id.description)
    }

    package static func pinPath(_ id: EntryID) -> String { "/v1/pins/" + encode(id.description) }

    package static func modifierPath(_ id: ModifierID) -> String {
        "/v1/modifiers/" + encode(id.text)
    }

    package static func lanePath(_ lane: Lane) -> String { "/v1/lanes/" + encode(lane.description) }

    package static func modifierID(inPath rest: Substring) throws(Problem) -> ModifierID {
        try Problem.reading(nil, try text(rest), ModifierID.init(_:))
    }

    package static func lane(inPath rest: Substring) throws(Problem) -> Lane {
        try Problem.reading(nil, try text(rest), Lane.init(given:))
    }

    private static func text(_ rest: Substring) throws(Problem) -> String {
        guard let text = decoded(rest.utf8) else {
            throw Problem(.badRequest, "'\(rest)' in the path is not percent-encoded UTF-8")
        }
        return text
    }
}
