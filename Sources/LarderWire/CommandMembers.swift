import LarderJSON
import LarderModel

/// The members of a command's JSON body, each of which must be taken by name.
///
/// The counterpart of ``QueryParameters`` for bodies: a route takes what it knows, then calls
/// ``refuseRest()``. A member that is null counts as not given.
struct CommandMembers {
    private var members: [JSONMember]
    private var taken: [String] = []

    init(_ json: [UInt8]) throws(Problem) {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(parsing: json)
        } catch {
            throw Problem(.badRequest, "the body cannot be read: \(error.message)")
        }
        try self.init(value, is: "the body")
    }

    /// Reads a part of it, which `place` names in a refusal.
    init(_ value: JSONValue, is place: String) throws(Problem) {
        guard let members = value.members else {
            throw Problem(
                .badRequest,
                "\(place) is \(value.kindText), a JSON object is needed"
            )
        }
        self.members = members
    }

    mutating func take(_ name: String) -> JSONValue? {
        takeEvenNull(name).flatMap { $0.isNull ? nil : $0 }
    }

    /// The same where null is a value like any other.
    mutating func takeEvenNull(_ name: String) -> JSONValue? {
        taken.append(name)
        guard let index = members.firstIndex(where: { $0.name.hasSameBytes(as: name) }) else {
            return nil
        }
        return members.remove(at: index).value
    }

    mutating func takeString(_ name: String) throws(Problem) -> String? {
        try take(name, "a string") { $0.string }
    }

    /// An array of strings; empty where it is not given.
    mutating func takeStrings(_ name: String) throws(Problem) -> [String] {
        let elements = try take(name, "an array of strings") { $0.elements } ?? []
        return try elements.map { element throws(Problem) in
            guard let text = element.string else {
                throw Problem(
                    .badRequest,
                    "\(name): it holds \(element.kindText), strings are needed"
                )
            }
            return text
        }
    }

    mutating func takeBool(_ name: String) throws(Problem) -> Bool? {
        try take(name, "a boolean") { $0.bool }
    }

    /// Takes what `read` makes a value of; `wanted` says in a refusal what that would be.
    mutating func take<Value>(
        _ name: String,
        _ wanted: String,
        _ read: (JSONValue) -> Value?
    ) throws(Problem) -> Value? {
        guard let json = take(name) else { return nil }
        guard let value = read(json) else {
            throw Problem(
                .badRequest,
                "the member '\(name)' is \(json.kindText), \(wanted) is needed"
            )
        }
        return value
    }

    mutating func takeAccount() throws(Problem) -> AccountName {
        try takeAccountIfGiven() ?? .default
    }

    mutating func takeAccountIfGiven() throws(Problem) -> AccountName? {
        try takeModel("account") { text throws(ModelError) in try AccountName(text) }
    }

    /// Takes a text that `make` makes a value of.
    mutating func takeModel<Value>(
        _ name: String,
        _ make: (String) throws(ModelError) -> Value
    ) throws(Problem) -> Value? {
        guard let text = try takeString(name) else { return nil }
        do throws(ModelError) {
            return try make(text)
        } catch {
            throw Problem(.badRequest, "\(name): \(error.message)")
        }
    }

    /// Takes an object that `read` takes apart.
    mutating func takeObject<Value>(
        _ name: String,
        _ read: (inout CommandMembers) throws(Problem) -> Value
    ) throws(Problem) -> Value? {
        guard let value = take(name) else { return nil }
        var members = try CommandMembers(value, is: "the member '\(name)'")
        return try read(&members)
    }

    mutating func takeDuration(
        _ name: String,
        in range: ClosedRange<Duration>
    ) throws(Problem) -> Duration? {
        guard let text = try takeString(name) else { return nil }
        return try Duration(command: text, of: name, in: range)
    }

    /// Takes every member of these names that is given, as an object again.
    mutating func takeObject(of names: [String]) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            for name in names {
                guard let value = take(name) else { continue }
                json.name(name)
                json.value(value)
            }
        }
        return json.bytes
    }

    /// Refuses the first member that nobody took, or that came a second time.
    func refuseRest() throws(Problem) {
        guard let first = members.first else { return }
        guard !taken.contains(where: { $0.hasSameBytes(as: first.name) }) else {
            throw Problem(.badRequest, "the member '\(first.name)' is given twice")
        }
        throw Problem(
            .unknownMember,
            "the member '\(first.name)' is unknown, \(QueryParameters.known(taken))"
        )
    }
}
