package import LarderAPI
import LarderJSON
import LarderModel

/// The body of `POST /v1/modifiers`: a modifier, or several.
private struct Given: Decodable {
    @OmittedWhenNil var modifiers: [LarderAPI.ModifierCommand]?
    @Flattened var modifier: LarderAPI.ModifierCommand
}

extension ModifiersCommand {
    /// Reads the body of `POST /v1/modifiers`, and refuses every unknown member.
    ///
    /// `account` gives the account of a modifier, by what its member says.
    package init(
        json: [UInt8],
        account: (String?) throws(Problem) -> String? = { $0 }
    ) throws(Problem) {
        let given: Given = try Problem.decoding { () throws(APIDecodingError) in
            try APIDecoder(.strict).decode(from: json)
        }
        guard let list = given.modifiers else {
            var modifier = given.modifier
            modifier.account = try account(modifier.account)
            self.init(try ModifierCommand(modifier))
            return
        }
        guard given.modifier == LarderAPI.ModifierCommand() else {
            throw Problem(
                .unknownMember,
                "'modifiers' is given with other members: put them into each modifier"
            )
        }
        try list.checkCount("modifiers", in: 1...Limits.modifiersPerCommandMax)
        let modifiers = try list.checkedElements("modifiers") { modifier throws(Problem) in
            var modifier = modifier
            modifier.account = try account(modifier.account)
            return try ModifierCommand(modifier)
        }
        guard Set(modifiers.map(\.account)).count == 1 else {
            throw Problem(
                .badRequest,
                "modifiers: they are of several accounts, give one at a time"
            )
        }
        self.init(all: modifiers)
    }
}

extension ModifierCommand {
    /// Reads the body of `PATCH /v1/modifiers/ID`, and refuses every unknown member.
    package init(editing json: [UInt8]) throws(Problem) {
        let given: ModifierEdit = try Problem.decoding { () throws(APIDecodingError) in
            try APIDecoder(.strict).decode(from: json)
        }
        try self.init(given.command)
    }

    /// Checks what the types of its members do not.
    package init(_ given: LarderAPI.ModifierCommand) throws(Problem) {
        let changes = try Self.changes(given.changes ?? [])
        let derived = Self.derivedRequest(for: changes)
        var request = derived
        if let own = given.request { request = try Request(own, derived) }
        guard let request else { throw .noRequest(for: changes) }
        self.init(changes: changes, request: request)
        id = try Problem.checking("id") { () throws(ModelError) in
            try given.id.map { text throws(ModelError) in try ModifierID(text) }
        }
        account = try AccountName(command: given.account)
        lane = try Problem.checking("lane") { () throws(ModelError) in
            try given.lane.map { text throws(ModelError) in try LaneName(text) }
        }
        let parents = given.dependsOn ?? []
        try parents.checkCount("depends_on", in: 0...Limits.modifierDependenciesMax)
        dependsOn = try Problem.checking("depends_on") { () throws(ModelError) in
            try parents.map { text throws(ModelError) in try ModifierID(text) }
        }
        hold = try given.hold?.checked("hold", in: .zero...Limits.modifierHoldMax)
        expires = try given.expires?.checked(
            "expires",
            in: .milliseconds(1)...Limits.modifierLifetimeMax
        )
        guard given.maxAttempts ?? 1 > 0 else {
            throw Problem(.badRequest, "max_attempts: a whole number from 1 on is needed")
        }
        attemptsMax = given.maxAttempts
        afterUnknown = given.afterUnknown.flatMap { .init(rawValue: $0.rawValue) }
        ifMatch = given.ifMatch.flatMap { .init(rawValue: $0.rawValue) }
        onConflict = given.onConflict.flatMap { .init(rawValue: $0.rawValue) }
    }

    private static func changes(
        _ list: [LarderAPI.ModifierChange]
    ) throws(Problem) -> [Change] {
        try list.checkCount("changes", in: 0...Limits.modifierChangesMax)
        let changes = try list.checkedElements("changes") { change throws(Problem) in
            let target = try EntryID(command: change.target.id, of: "target")
            let effect = try Effect(of: change)
            if target.isEntity { try effect.refuseMisfit(of: target) }
            return Change(target: target, effect: effect)
        }
        guard Set(changes.map(\.target)).count == changes.count else { throw .targetTwice }
        return changes
    }

    /// The command as canonical JSON, to recognize a repeated command.
    package func encodedJSON() -> [UInt8] {
        var json = JSONWriter()
        json.object { write(to: &$0) }
        return json.bytes
    }

    private func write(to json: inout JSONWriter) {
        if let id { json.member("id", id.text) }
        json.name("changes")
        json.beginArray()
        for change in changes {
            json.object { json in
                json.member("target") { $0.member("id", change.target.description) }
                if case .all = change.effect { json.name("effects") } else { json.name("effect") }
                json.effect(change.effect)
            }
        }
        json.endArray()
        // A reader of this JSON derives a request without a URL again.
        if let url = request.url { json.member("request") { request.write(to: &$0, url) } }
        if account != .default { json.member("account", account.text) }
        if let lane { json.member("lane", lane.text) }
        if !dependsOn.isEmpty { json.member("depends_on", dependsOn.map(\.text)) }
        if let hold { json.member("hold", hold.unitText) }
        if let expires { json.member("expires", expires.unitText) }
        if let attemptsMax { json.member("max_attempts", attemptsMax) }
        if let afterUnknown { json.member("after_unknown", afterUnknown.rawValue) }
        if let ifMatch { json.member("if_match", ifMatch.rawValue) }
        if let onConflict { json.member("on_conflict", onConflict.rawValue) }
    }
}

extension ModifierCommand.Request {
    /// Reads a request; one without a body takes the body of `derived` if their methods are equal.
    fileprivate init(
        _ given: ModifierRequestCommand,
        _ derived: ModifierCommand.Request?
    ) throws(Problem) {
        guard RequestHeaderRules.isWritingMethod(given.method) else {
            throw Problem(.badRequest, "request: '\(given.method)' is no method that writes")
        }
        let url = try Problem.reading("request", given.url, WebURL.init(_:), .badURL)
        self.init(method: given.method, url: url)
        headers = try RequestHeaderRules.modifierFields(given.headers)
        if try !takeBody(given), let derived, derived.method == method {
            body = derived.body
            if headers["Content-Type"] == nil, let type = derived.headers["Content-Type"] {
                headers.append("Content-Type", type)
            }
        }
    }

    /// Takes the body of the request; false if there is none.
    private mutating func takeBody(_ request: ModifierRequestCommand) throws(Problem) -> Bool {
        let json = request.body.map { (try? JSONValue(parsing: $0.bytes))?.bytes ?? $0.bytes }
        let entry = try request.bodyEntry.map { text throws(Problem) in
            try EntryID(command: text, of: "body_entry")
        }
        let given = try GivenBody(
            json,
            request.bodyText,
            base64: request.bodyB64,
            besides: entry == nil ? [] : ["body_entry"],
            of: "request: "
        )
        // The media type of an entry's body is that of the entry.
        if let entry { body = .entry(entry) }
        guard let given else { return entry != nil }
        body = .bytes(given.bytes)
        if headers["Content-Type"] == nil { headers.append("Content-Type", given.type) }
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
        case .entry(let id): json.member("body_entry", id.description)
        case .bytes(let bytes): json.member("body_b64", Base64.encode(bytes))
        }
    }
}

extension Effect {
    /// Reads the one effect of a change, or its several.
    fileprivate init(of change: LarderAPI.ModifierChange) throws(Problem) {
        let bytes: [UInt8]
        switch (change.effect, change.effects) {
        case (let effect?, nil): bytes = effect.bytes
        case (nil, let effects?):
            let list = effects.map(\.bytes).joined(separator: [UInt8(ascii: ",")])
            bytes = [UInt8(ascii: "[")] + list + [UInt8(ascii: "]")]
        case (nil, nil), (.some, .some):
            throw Problem(.badRequest, "a change has either 'effect' or 'effects'")
        }
        // A list is the form of 'effects'.
        guard change.effects != nil || bytes.first != UInt8(ascii: "[") else {
            throw Problem(.badRequest, "effect: it is an object", hint: "A list is 'effects'.")
        }
        do throws(EffectError) {
            self = try Effect(parsing: bytes)
            // Only a raw PUT can replace the target by a body that is not JSON.
            if case .replace = self { throw .unknownType(typeName) }
        } catch {
            throw Problem(.badRequest, error.message)
        }
    }

    /// Refuses an effect that makes an entity anything but a JSON object.
    fileprivate func refuseMisfit(of entity: EntryID) throws(Problem) {
        switch self {
        case .put(let value), .merge(let value):
            guard value.members == nil else { return }
            throw Problem(
                .badRequest,
                "effect: '\(entity)' is an entity, which \(value.kindText) cannot be",
                status: 422,
                hint: "Give a JSON object."
            )
        case .all(let effects):
            for effect in effects { try effect.refuseMisfit(of: entity) }
        case .replace, .patch, .set, .add, .listAdd, .listRemove, .delete, .none: return
        }
    }
}

extension Problem {
    /// The problem of a modifier without a request, from whose changes none follows.
    fileprivate static func noRequest(for changes: [ModifierCommand.Change]) -> Problem {
        guard changes.count == 1, let target = changes.first?.target,
            !target.isEntity, target.temporary == nil, (try? WebURL(target.text)) == nil
        else {
            return Problem(
                .noRequest,
                "the modifier has no request, and none follows from its changes"
            )
        }
        return Problem(
            .noRequest,
            "the target '\(target)' is a name and not a URL, so no request follows from it",
            hint: "Give the URL or entity:ORIGIN/TYPE:KEY as the target, or the member request."
        )
    }

    /// The problem of a modifier with two changes of the same target.
    package static var targetTwice: Problem {
        Problem(
            .badRequest,
            "changes: a target is given twice",
            hint: "Put both into the list 'effects' of one change."
        )
    }
}

extension Array {
    /// The results of `check` for the elements; a problem names the index of its element.
    package func checkedElements<Value>(
        _ name: String,
        _ check: (Element) throws(Problem) -> Value
    ) throws(Problem) -> [Value] {
        var values: [Value] = []
        for (place, element) in enumerated() {
            do throws(Problem) {
                values.append(try check(element))
            } catch {
                var problem = error
                problem.detail = "\(name)[\(place)]: \(error.detail)"
                throw problem
            }
        }
        return values
    }
}
