package import LarderModel

/// Paths with ids in them.
extension PercentCoding {
    /// Parameters as a query, without the `?`.
    package static func query(_ parameters: [(name: String, value: String)]) -> String {
        parameters.map { "\($0.name)=\(encode($0.value))" }.joined(separator: "&")
    }

    /// The id in the rest of a path, `https:%2F%2Fapi.example.com%2F42`; a bare `/` is taken too.
    package static func id(inPath rest: Substring) throws(Problem) -> EntryID {
        guard let text = decoded(rest.utf8) else {
            throw Problem(.badID, "the id in the path is not percent-encoded UTF-8")
        }
        return try EntryID(command: text)
    }

    /// The path of an entry: `/v1/entries/` and its id.
    package static func entryPath(_ id: EntryID) -> String {
        "/v1/entries/" + encode(id.description)
    }

    /// The path of a pin: `/v1/pins/{id}`.
    package static func pinPath(_ id: EntryID) -> String {
        "/v1/pins/" + encode(id.description)
    }

    /// The path of a modifier: `/v1/modifiers/{id}`.
    package static func modifierPath(_ id: ModifierID) -> String {
        "/v1/modifiers/" + encode(id.text)
    }

    /// The path of a lane: `/v1/lanes/{lane}`.
    package static func lanePath(_ lane: Lane) -> String {
        "/v1/lanes/" + encode(lane.description)
    }

    package static func modifierID(inPath rest: Substring) throws(Problem) -> ModifierID {
        try model(rest) { text throws(ModelError) in try ModifierID(text) }
    }

    package static func lane(inPath rest: Substring) throws(Problem) -> Lane {
        try model(rest) { text throws(ModelError) in try Lane(given: text) }
    }

    private static func model<Value>(
        _ rest: Substring,
        _ make: (String) throws(ModelError) -> Value
    ) throws(Problem) -> Value {
        guard let text = decoded(rest.utf8) else {
            throw Problem(.badRequest, "'\(rest)' in the path is not percent-encoded UTF-8")
        }
        do throws(ModelError) {
            return try make(text)
        } catch {
            throw Problem(.badRequest, error.message)
        }
    }
}
