package import LarderJSON
package import LarderModel

/// What `POST /v1/origins` and `PUT /v1/origins/{name}` ask for: a name, and the keys of an origin
/// as the configuration has them.
package struct OriginCommand: Equatable, Sendable {
    package var name: OriginName
    /// A JSON object of the keys, compact; the configuration's reader judges it.
    package var settings: [UInt8]

    private init(name: OriginName, settings: [UInt8]) {
        self.name = name
        self.settings = settings
    }

    package init(_ origin: OriginSettings) {
        self.init(name: origin.name, settings: origin.encoded())
    }

    /// Gives the origin these rules in place of its own; the configuration's reader judges them.
    package init(_ origin: OriginSettings, normalize rules: JSONValue) {
        self.init(name: origin.name, settings: origin.encoded(normalize: rules))
    }

    /// Reads the body of a POST, in which `name` stands among the keys.
    package init(json: [UInt8]) throws(Problem) {
        var members = try CommandMembers(json, of: ["name"] + Self.keys)
        guard let name = try members.takeString("name") else {
            throw Problem(.badRequest, "the member 'name' is missing")
        }
        self.init(
            name: try OriginName(command: name),
            settings: members.takeObject(of: Self.keys)
        )
    }

    /// Reads the body of a PUT, where the name stands in the path.
    package init(_ name: OriginName, json: [UInt8]) throws(Problem) {
        var members = try CommandMembers(json, of: Self.keys)
        self.init(name: name, settings: members.takeObject(of: Self.keys))
    }

    /// What stands under an origin's name; a test holds it equal to the configuration's.
    package static let keys = [
        "base_url", "allow_private", "redirect_hosts", "scope", "proxy", "tls", "headers", "fetch",
        "normalize", "modifiers",
    ]

    /// The body that ``init(json:)`` reads back.
    package func encodedJSON() -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("name", name.text)
        // Our own writer's: an opening brace, the members, a closing one.
        let members = settings.dropFirst().dropLast()
        if !members.isEmpty { json.verbatim(members) }
        json.endObject()
        return json.bytes
    }
}
