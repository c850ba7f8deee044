import LarderJSON

/// How an entry is stored, as `explain` tells it.
package struct FormExplanation: Equatable, Sendable {
    package enum Form: Equatable, Sendable {
        /// As it came; with the reason where the origin has rules.
        case whole(reason: String?)
        /// As a skeleton, which is told by its name, and the entities that it shows.
        case normalized(skeleton: String, entities: ReferenceList)
    }

    package var form: Form
    /// Objects that are entities by their type or place and have no key: they stay in what holds
    /// them.
    package var keylessCount = 0
    /// A pointer to the first of them.
    package var keylessSample: String?
    /// Entities in which a name stands twice with different values, of which the last counts.
    package var repeatedCount = 0

    package init(_ form: Form) {
        self.form = form
    }

    func write(to json: inout JSONWriter) {
        switch form {
        case .whole(let reason):
            json.member("form", "whole")
            json.member("whole_reason", reason)
            json.member("skeleton", nil as String?)
            json.name("entities")
            json.null()
        case .normalized(let skeleton, let entities):
            json.member("form", "normalized")
            json.member("whole_reason", nil as String?)
            json.member("skeleton", skeleton)
            json.name("entities")
            entities.write(to: &json)
        }
        json.member("keyless") { json in
            json.member("count", keylessCount)
            json.member("sample", keylessSample)
        }
        json.member("repeated", repeatedCount)
    }

    init(_ object: WireObject) throws(WireError) {
        switch try object.string("form") {
        case "whole": form = .whole(reason: try object.optionalString("whole_reason"))
        case "normalized":
            let entities = try ReferenceList(object.object("entities"))
            form = .normalized(skeleton: try object.string("skeleton"), entities: entities)
        case let text: throw .unknownValue(member: "form", text: text)
        }
        let keyless = try object.object("keyless")
        keylessCount = try keyless.integer("count")
        keylessSample = try keyless.optionalString("sample")
        repeatedCount = try object.integer("repeated")
    }
}
