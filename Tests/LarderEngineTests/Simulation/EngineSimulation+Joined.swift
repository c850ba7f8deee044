import LarderEngine
import LarderModel
import LarderTestSupport
import LarderWire

/// Writes that may be one request (case 17), in every third life.
extension EngineSimulation {
    static func joining(_ seed: UInt64) -> ModifierRules.CoalesceRule {
        guard seed % 3 == 1 else { return .none }
        return seed % 2 == 0 ? .writes : .net
    }

    /// Whether writes are compared with other devices' edits (case 19): in every second life in which
    /// none are joined, and in every second one in which they are.
    static func comparing(_ seed: UInt64, _ rule: ModifierRules.CoalesceRule) -> Bool {
        rule == .none ? seed % 2 == 0 : [1, 4].contains(seed % 12)
    }

    /// Does one thing that makes writes wait for each other, or ends the wait.
    func actOnJoined() throws {
        if compares, randomUnit(1, of: 3) { return try meetOthers() }
        switch draw(0..<10) {
        case 0..<4: accept(try burst())
        case 4..<8:
            guard let write = pick(answerable.filter { $0.kind == .write }) else {
                accept(try burst())
                break
            }
            answerWrite(write)
        case 8:
            let joined = judge.queues.first?.modifiers.filter { $0.joinedInto != nil } ?? []
            guard let member = pick(joined) else { return decide() }
            decide(member, pick([.cancel, .discard, .retry]) ?? .cancel)
        default: return try crash()
        }
        try goOn()
    }

    /// Writes of one target that come together, most of which may be joined.
    private func burst() throws -> [(ModifierCommand, PlainModifier)] {
        var path = pick(Self.paths) ?? "/a"
        let lane = randomUnit(1, of: 6) ? "x" : nil
        let attemptsMax = randomUnit(1, of: 8) ? draw(1..<4) : nil
        let unclear: ModifierRules.UnknownRule? =
            randomUnit(1, of: 5) ? pick([.resend, .hold]) : nil
        let rules: [ModifierRules.ConflictRule?] = [nil, .rebase, .manual, .server, .client]
        let onConflict: ModifierRules.ConflictRule? = compares ? pick(rules) ?? nil : nil
        var new: [(ModifierCommand, PlainModifier)] = []
        if hasList, randomUnit(1, of: 2), let create = try create() {
            new.append(create)
            path = create.1.changes[1].path
        }
        let createID = new.first?.1.id
        for index in new.count..<draw(2..<5) {
            var isCreate = false
            var effect = joinable()
            if index == 0, randomUnit(1, of: 4) {
                isCreate = true
                effect = .put(value())
            }
            var (command, changes) = try command(path, effect, isCreate: isCreate)
            command.id = try ModifierID("m\(plain.count + 1)")
            command.ifMatch = compares ? .auto : ModifierRules.MatchRule.none
            if compares { command.onConflict = randomUnit(9, of: 10) ? onConflict : .client }
            var lanes: Set = ["id:\(try Self.id(path).text)"]
            if let lane, randomUnit(5, of: 6) {
                command.lane = try LaneName(lane)
                lanes.insert("name:\(lane)")
            }
            command.attemptsMax = randomUnit(9, of: 10) ? attemptsMax : 2
            command.afterUnknown = randomUnit(9, of: 10) ? unclear : .auto
            let open = judge.queues.first?.unsettled.filter { !$0.changes(path).isEmpty } ?? []
            if randomUnit(1, of: 6), let parent = pick(open) {
                command.dependsOn = [try ModifierID(parent.id)]
            }
            if randomUnit(1, of: 12) { command.hold = .seconds(draw(1..<30)) }
            if randomUnit(1, of: 10) { command.expires = .seconds(draw(5..<90)) }
            var modifier = modifier("m\(plain.count + 1)", command, changes, lanes: lanes)
            if let createID { modifier.dependsOn.append(createID) }
            modifier.isCreate = isCreate
            (modifiers[modifier.id], plain[modifier.id]) = (command, modifier)
            new.append((command, modifier))
        }
        return new
    }

    /// Another device changes a target while writes of it wait, before they are sent as one request or
    /// after such a request was not applied for now.
    private func meetOthers() throws {
        let sent = answerable.filter { request in
            request.kind == .write
                && judge.queues.first?.members(of: request.modifier).isEmpty == false
        }
        guard let request = pick(sent) else { return try acceptOvertakenBurst() }
        put(.attemptEnded(request.modifier, .notNow))
        reply(request, 429)
        try settle()
        try readEdit(of: request.path)
        try pass()
    }

    private func acceptOvertakenBurst() throws {
        var new = try burst()
        let (hold, path) = (Duration.seconds(5), new[0].1.changes[0].path)
        (new[0].0.hold, new[0].1.holdUntil) = (hold, now + hold)
        (modifiers[new[0].1.id], plain[new[0].1.id]) = (new[0].0, new[0].1)
        accept(new)
        try settle()
        if Self.paths.contains(path) { try readEdit(of: path) }
        clock.advance(by: hold)
        try settle()
    }

    /// Another device changes members of a target, and a client reads it.
    private func readEdit(of path: String) throws {
        var new = value()
        if randomUnit(2, of: 3), var old = origin.server[path].value {
            let name = pick(PlainValue.names) ?? "count"
            if let member = new.members[name] { old.members[name] = member }
            new = old
        }
        note("another device writes \(path) \(new)")
        origin.server.write(path, new)
        fetch(path, .networkOnly)
        try settle()
        while let read = answerable.first(where: { $0.kind == .read }) {
            answerWell(read)
            try settle()
        }
    }

    private func joinable() -> PlainEffect {
        switch draw(0..<12) {
        case 0, 1: .put(value())
        case 2...4: .merge("count", .number(draw(0..<9)))
        case 5, 6: .merge("liked", .number(draw(0..<2)))
        case 7: .merge("tags", hasEntities ? .list([]) : nil)
        case 8, 9: .append("tags", draw(0..<9))
        case 10: .patch("liked", expected: draw(0..<2), draw(0..<2))
        default: .delete
        }
    }

    /// A command whose request follows from its effect, or is a POST of the new object.
    func command(
        _ path: String,
        _ effect: PlainEffect,
        isCreate: Bool = false
    ) throws -> (ModifierCommand, [PlainModifier.Change]) {
        let change = ModifierCommand.Change(
            target: try target(path),
            effect: effect.effect(of: entity(path))
        )
        let url = try WebURL("https://api.example.com" + path)
        var request =
            isCreate ? nil : ModifierCommand.derivedRequest(for: [change])
        if request == nil {
            request = ModifierCommand.Request(method: "POST", url: url)
            if isCreate, case .put(let value) = effect {
                request?.headers.append("Content-Type", MediaType.json)
                request?.body = .bytes(Array(value.text(of: entity(path)).utf8))
            }
        }
        let command = ModifierCommand(
            changes: [change],
            request: request ?? ModifierCommand.Request(method: "POST", url: url)
        )
        return (command, [PlainModifier.Change(path: path, effect: effect)])
    }
}

extension ModifierRules.CoalesceRule {
    var joins: PlainQueue.Joins {
        switch self {
        case .none: .none
        case .writes: .writes
        case .net: .net
        }
    }
}
