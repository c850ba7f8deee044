import LarderJSON
import LarderModel

extension ModifiersCommand {
    /// Reads the body of `POST /v1/modifiers`, and refuses every unknown member.
    package init(json: [UInt8]) throws(Problem) {
        var members = try CommandMembers(json, of: ["modifiers"] + ModifierCommand.names)
        guard let list = try members.take("modifiers", "an array", { $0.elements }) else {
            self.init(try ModifierCommand(&members))
            return
        }
        if let name = ModifierCommand.names.first(where: members.has) {
            throw Problem(
                .unknownMember,
                "the member '\(name)' stands beside 'modifiers': put it into each of them"
            )
        }
        guard (1...Limits.modifiersPerCommandMax).contains(list.count) else {
            throw Problem(
                .badRequest,
                "modifiers: \(list.count) are given, 1 to \(Limits.modifiersPerCommandMax) are taken"
            )
        }
        var modifiers: [ModifierCommand] = []
        for (place, value) in list.enumerated() {
            do throws(Problem) {
                var members = try CommandMembers(
                    value,
                    is: "an element of 'modifiers'",
                    of: ModifierCommand.names
                )
                modifiers.append(try ModifierCommand(&members))
            } catch {
                throw error.at("modifiers[\(place)]")
            }
        }
        let accounts = Set(modifiers.map(\.account))
        guard accounts.count == 1 else {
            throw Problem(
                .badRequest,
                "modifiers: they are of several accounts, give one at a time"
            )
        }
        self.init(all: modifiers)
    }

    /// The body that ``init(json:)`` reads back.
    package func encodedJSON() -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            guard isList else {
                modifiers.first?.write(to: &json)
                return
            }
            json.name("modifiers")
            json.beginArray()
            for modifier in modifiers { json.object { modifier.write(to: &$0) } }
            json.endArray()
        }
        return json.bytes
    }
}

extension ModifierCommand {
    init(_ members: inout CommandMembers) throws(Problem) {
        let id = try members.takeModel("id") { text throws(ModelError) in try ModifierID(text) }
        let changes = try Self.changes(&members)
        let derived = Self.derivedRequest(for: changes)
        let given = try members.takeObject("request", of: Request.names) {
            members throws(Problem) in
            try Request(&members, derived)
        }
        guard let request = given ?? derived else {
            throw Problem(
                .noRequest,
                "the modifier has no request, and none follows from its changes"
            )
        }
        self.init(changes: changes, request: request)
        self.id = id
        account = try members.takeAccount()
        lane = try members.takeModel("lane") { text throws(ModelError) in try LaneName(text) }
        dependsOn = try Self.dependencies(&members)
        hold = try members.takeDuration("hold", in: .zero...Limits.modifierHoldMax)
        expires = try members.takeDuration(
            "expires",
            in: .milliseconds(1)...Limits.modifierLifetimeMax
        )
        attemptsMax = try members.take("attempts", "a whole number from 1 on") { value in
            value.integer.flatMap { $0 > 0 ? Int(clamping: $0) : nil }
        }
        if let text = try members.takeString("after_unknown") {
            guard let rule = ModifierRules.UnknownRule(rawValue: text) else {
                throw Problem("after_unknown", text, isNoneOf: ["auto", "resend", "hold"])
            }
            afterUnknown = rule
        }
        try Self.refuseConflictRules(&members)
    }

    fileprivate static let names = [
        "id", "changes", "request", "account", "lane", "depends_on", "hold", "expires", "attempts",
        "if_match", "on_conflict", "after_unknown",
    ]

    private static func changes(_ members: inout CommandMembers) throws(Problem) -> [Change] {
        let list = try members.take("changes", "an array") { $0.elements } ?? []
        guard list.count <= Limits.modifierChangesMax else {
            throw Problem(
                .badRequest,
                "changes: \(list.count) are given, at most \(Limits.modifierChangesMax) are taken"
            )
        }
        var changes: [Change] = []
        for (place, value) in list.enumerated() {
            do throws(Problem) {
                var members = try CommandMembers(
                    value,
                    is: "an element of 'changes'",
                    of: ["target", "effect"]
                )
                changes.append(try change(&members))
            } catch {
                throw error.at("changes[\(place)]")
            }
        }
        guard Set(changes.map(\.target)).count == changes.count else { throw .targetTwice }
        return changes
    }

    private static func change(_ members: inout CommandMembers) throws(Problem) -> Change {
        let target = try members.takeObject("target", of: Target.names) { members throws(Problem) in
            try Target(&members)
        }
        guard let target else { throw Problem(.badRequest, "target is missing") }
        guard let value = members.take("effect") else {
            throw Problem(.badRequest, "effect is missing")
        }
        let effect: Effect
        do throws(EffectError) {
            effect = try Effect(value)
            // That a body which is no JSON takes the target's place, only its PUT can say.
            if case .replace = effect { throw .unknownType(effect.typeName) }
        } catch {
            throw Problem(.badRequest, error.message)
        }
        try target.refuseMisfit(effect)
        return Change(target: target, effect: effect)
    }

    private static func dependencies(
        _ members: inout CommandMembers
    ) throws(Problem) -> [ModifierID] {
        let list = try members.take("depends_on", "an array of modifiers' ids") { value in
            value.elements.flatMap { elements -> [ModifierID]? in
                let ids = elements.compactMap { $0.string.flatMap { try? ModifierID($0) } }
                return ids.count == elements.count ? ids : nil
            }
        }
        guard let list else { return [] }
        guard list.count <= Limits.modifierDependenciesMax else {
            throw Problem(
                .badRequest,
                "depends_on: \(list.count) are given, at most "
                    + "\(Limits.modifierDependenciesMax) are taken"
            )
        }
        return list
    }

    /// Conflicts are settled as refusals, so only what says the same is taken.
    private static func refuseConflictRules(_ members: inout CommandMembers) throws(Problem) {
        for (name, only) in [("if_match", "none"), ("on_conflict", "rebase")] {
            guard let text = try members.takeString(name), text != only else { continue }
            throw Problem(
                .unsupported,
                "\(name): this version takes '\(only)' only, which counts without it"
            )
        }
    }

    fileprivate func write(to json: inout JSONWriter) {
        if let id { json.member("id", id.text) }
        json.name("changes")
        json.beginArray()
        for change in changes {
            json.object { json in
                json.member("target") { change.target.write(to: &$0) }
                json.name("effect")
                json.effect(change.effect)
            }
        }
        json.endArray()
        // Without a URL it is derived again, by whoever reads this.
        if let url = request.url { json.member("request") { request.write(to: &$0, url) } }
        if account != .default { json.member("account", account.text) }
        if let lane { json.member("lane", lane.text) }
        if !dependsOn.isEmpty { json.member("depends_on", dependsOn.map(\.text)) }
        if let hold { json.member("hold", hold.unitText) }
        if let expires { json.member("expires", expires.unitText) }
        if let attemptsMax { json.member("attempts", attemptsMax) }
        if let afterUnknown { json.member("after_unknown", afterUnknown.rawValue) }
    }
}

extension ModifierCommand.Request {
    fileprivate static let names = [
        "method", "url", "headers", "body", "body_text", "body_b64", "body_entry",
    ]

    /// Reads a request; one that says no body takes that of the `derived` one, if their methods are
    /// the same.
    fileprivate init(
        _ members: inout CommandMembers,
        _ derived: ModifierCommand.Request?
    ) throws(Problem) {
        guard let method = try members.takeString("method"),
            let url = try members.takeString("url")
        else { throw Problem(.badRequest, "request: method and url are needed") }
        guard RequestHeaderRules.isWritingMethod(method) else {
            throw Problem(.badRequest, "request: '\(method)' is no method that writes")
        }
        do throws(ModelError) {
            self.init(method: method, url: try WebURL(url))
        } catch {
            throw Problem(.badURL, "request: \(error.message)")
        }
        if let given = try members.take("headers", "an object", { $0.members }) {
            headers = try RequestHeaderRules.modifierFields(given)
        }
        if try !takeBody(&members), let derived, derived.method == method {
            body = derived.body
            if headers["Content-Type"] == nil, let type = derived.headers["Content-Type"] {
                headers.append("Content-Type", type)
            }
        }
    }

    /// Takes the one body that is given; false where none is.
    private mutating func takeBody(_ members: inout CommandMembers) throws(Problem) -> Bool {
        var given: [(name: String, body: Body, type: String?)] = []
        if let value = members.takeEvenNull("body") {
            given.append(("body", .bytes(value.bytes), MediaType.json))
        }
        if let text = try members.takeString("body_text") {
            given.append(("body_text", .bytes(Array(text.utf8)), MediaType.text))
        }
        let bytes = try members.take("body_b64", "base64 (RFC 4648 4)") { value in
            value.string.flatMap(Base64.decode)
        }
        if let bytes { given.append(("body_b64", .bytes(bytes), MediaType.bytes)) }
        let entry = try members.takeModel("body_entry") { text throws(ModelError) in
            try EntryID(given: text)
        }
        // Its type is the entry's own.
        if let entry { given.append(("body_entry", .entry(entry), nil)) }
        guard given.count <= 1 else {
            let names = given.map(\.name).joined(separator: " and ")
            throw Problem(.badRequest, "request: \(names) are given, one body is taken")
        }
        guard let only = given.first else { return false }
        body = only.body
        if headers["Content-Type"] == nil, let type = only.type {
            headers.append("Content-Type", type)
        }
        return true
    }

    fileprivate func write(to json: inout JSONWriter, _ url: WebURL) {
        json.member("method", method)
        json.member("url", url.text)
        json.member("headers") { json in
            for field in headers.fields { json.member(field.name, field.value) }
        }
        switch body {
        case .none: break
        case .entry(let id): json.member("body_entry", id.text)
        case .bytes(let bytes): json.member("body_b64", Base64.encode(bytes))
        }
    }
}

extension Problem {
    /// The same, said of a part of the command.
    fileprivate func at(_ place: String) -> Problem {
        var problem = self
        problem.detail = "\(place): \(detail)"
        return problem
    }
}
