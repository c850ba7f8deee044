import LarderJSON
import LarderModel

/// The members of a command's JSON body, none of them but those that the command knows.
///
/// The counterpart of ``QueryParameters`` for bodies. What is unknown or comes twice is refused
/// before anything else is looked at, as it is what explains all the rest: who writes `change` for
/// `changes` is not told that nothing changes. A member that is null counts as not given.
struct CommandMembers {
    private var members: [JSONMember]
    private let names: [String]

    /// Reads a body whose members have these names.
    init(_ json: [UInt8], of names: [String]) throws(Problem) {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(parsing: json)
        } catch {
            throw Problem(.badRequest, "the body cannot be read: \(error.message)")
        }
        try self.init(value, is: "the body", of: names)
    }

    /// Reads a part of it, which `place` names in a refusal.
    init(_ value: JSONValue, is place: String, of names: [String]) throws(Problem) {
        guard let members = value.members else {
            throw Problem(
                .badRequest,
                "\(place) is \(value.kindText), a JSON object is needed"
            )
        }
        self.members = members
        self.names = names
        try refuseUnknown()
    }

    /// Refuses the first member that has none of the names, or comes a second time.
    private func refuseUnknown() throws(Problem) {
        var seen: [String] = []
        for name in members.lazy.map(\.name) {
            guard names.contains(where: { $0.hasSameBytes(as: name) }) else {
                let advice = nearestNameAdvice(on: name, among: names.sorted())
                throw Problem(.unknownMember, "unknown member '\(name)', \(advice)")
            }
            guard !seen.contains(where: { $0.hasSameBytes(as: name) }) else {
                throw Problem(.badRequest, "the member '\(name)' is given twice")
            }
            seen.append(name)
        }
    }

    /// Whether a member of the name is there, be it null.
    func has(_ name: String) -> Bool {
        members.contains { $0.name.hasSameBytes(as: name) }
    }

    /// Refuses members of these names that are null: for commands in which a member that is left
    /// out by mistake would make them do more.
    func refuseNull(_ names: [String]) throws(Problem) {
        let null = members.first { member in
            member.value.isNull && names.contains { $0.hasSameBytes(as: member.name) }
        }
        guard let null else { return }
        throw Problem(.badRequest, "the member '\(null.name)' is null", hint: "Leave it out.")
    }

    mutating func take(_ name: String) -> JSONValue? {
        takeEvenNull(name).flatMap { $0.isNull ? nil : $0 }
    }

    /// The same where null is a value like any other.
    mutating func takeEvenNull(_ name: String) -> JSONValue? {
        assert(names.contains(name), "'\(name)' is taken and not known")
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

    /// Takes an object, whose members have these names, and that `read` takes apart.
    mutating func takeObject<Value>(
        _ name: String,
        of names: [String],
        _ read: (inout CommandMembers) throws(Problem) -> Value
    ) throws(Problem) -> Value? {
        guard let value = take(name) else { return nil }
        var members = try CommandMembers(value, is: "the member '\(name)'", of: names)
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
}
