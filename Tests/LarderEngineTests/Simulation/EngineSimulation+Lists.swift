import LarderEngine
import LarderModel
import LarderTestSupport
import LarderWire

/// A list whose objects are the entities (cases 1, 16 and 28).
///
/// The files fail only as ``ListFault`` says, and no read is answered before one that departed earlier.
extension EngineSimulation {
    static func addList(to settings: inout OriginSettings, _ seed: UInt64) {
        settings.normalize = NormalizeRules(byType: .standard, types: docs)
        settings.modifiers.answer = .auto
        guard seed % 4 == 1 else { return }
        settings.modifiers.empty = [EmptyForm(path: PlainQueue.list, form: #"{"items":[]}"#)]
    }

    /// Does one thing in a life with a list.
    func actOnList() throws {
        if let fault, randomUnit(1, of: 4) { return try meet(fault) }
        if compares, randomUnit(1, of: 6) { return try acceptOvertaken() }
        switch draw(0..<100) {
        case 0..<6: try acceptObject()
        case 6..<9: try acceptCreate()
        case 9..<13: try acceptOnTemporary()
        case 13..<26: try accept()
        case 26..<56: answerSomething()
        case 56..<65: fetch(pick(readable) ?? "/a", pick(FetchPolicy.allCases) ?? .networkOnly)
        case 65..<72: writeListElsewhere()
        case 72..<81: decide()
        case 81..<83: setLane()
        case 83..<90: return try pass()
        case 90..<93: origin.isOffline.toggle()
        case 93..<97: return try crash()
        default: return try reopen(losingCache: false)
        }
        // A look at a harmed cache has many outcomes, so no more than this comes before it.
        if harmedGeneration != nil { try settle() } else { try goOn() }
    }

    /// Has a write accepted that adds an object to the list.
    func acceptObject() throws {
        let id = String((pick(Self.paths) ?? "/a").dropFirst())
        let (command, modifier) = try object(id, "m\(plain.count + 1)")
        (modifiers[modifier.id], plain[modifier.id]) = (command, modifier)
        accept([(command, modifier)])
    }

    /// Has a write accepted that is held while a client reads another device's change of its target.
    private func acceptOvertaken() throws {
        let path = pick(Self.paths) ?? "/a"
        var (command, modifier) = try modifier("m\(plain.count + 1)", on: path)
        let hold = Duration.seconds(5)
        (command.hold, modifier.holdUntil) = (hold, now + hold)
        (modifiers[modifier.id], plain[modifier.id]) = (command, modifier)
        accept([(command, modifier)])
        try settle()
        origin.server.write(path, value())
        fetch(path, .networkOnly)
        try settle()
        while let read = answerable.first(where: { $0.kind == .read }) {
            answerWell(read)
            try settle()
        }
        clock.advance(by: hold)
        try settle()
    }

    private static let temporaryMax = 3

    /// Has a write accepted that creates an entity under a temporary id, in the list.
    func acceptCreate() throws {
        guard let create = try create() else { return try acceptOnTemporary() }
        accept([create])
    }

    /// A write that creates an entity under a temporary id; nil after enough of them.
    func create() throws -> (ModifierCommand, PlainModifier)? {
        guard temporary.count < Self.temporaryMax else { return nil }
        let id = "tmp:00000000-0000-4000-8000-00000000000\(temporary.count)"
        let (command, modifier) = try object(id, "m\(plain.count + 1)")
        temporary.append((id, modifier.id))
        (modifiers[modifier.id], plain[modifier.id]) = (command, modifier)
        return (command, modifier)
    }

    /// Has a write accepted of an entity under the temporary id that it has or had.
    func acceptOnTemporary() throws {
        let own = temporary.filter { plain[$0.create]?.user == user }
        guard let (id, create) = pick(own), accepted.contains(create) else {
            return try acceptObject()
        }
        let path = PlainQueue.path(of: id)
        var (command, modifier) = try modifier("m\(plain.count + 1)", on: path)
        if !modifier.dependsOn.contains(create) { modifier.dependsOn.append(create) }
        (modifiers[modifier.id], plain[modifier.id]) = (command, modifier)
        accept([(command, modifier)])
    }

    /// Whether it creates an entity with a temporary id, or names one.
    func namesTemporary(_ modifier: PlainModifier) -> Bool {
        modifier.changes.contains { PlainQueue.isTemporary($0.path) }
            || temporary.contains { $0.create == modifier.id }
    }

    /// The answer to a create has the id of the server.
    func confirmCreate(_ request: SimulatedOrigin.Request, _ temporary: String) {
        let id = origin.server.created[temporary] ?? ""
        let path = PlainQueue.path(of: id)
        guard randomUnit(1, of: 2), let value = origin.server[path].value else {
            put(.attemptEnded(request.modifier, .created(id, nil)))
            return reply(request, 201, ["Location": path])
        }
        put(.attemptEnded(request.modifier, .created(id, value)))
        let headers = ["Content-Type": "application/json", "Location": path]
        reply(request, 201, headers, value.text(of: id))
    }

    private func object(
        _ id: String,
        _ name: String
    ) throws -> (ModifierCommand, PlainModifier) {
        let (path, object) = (PlainQueue.path(of: id), value())
        let hasForm = !settings.modifiers.empty.isEmpty
        let effect = PlainEffect.addObject(id: id, object, hasForm: hasForm)
        let list = try Self.id(PlainQueue.list)
        var command = ModifierCommand(
            changes: [ModifierCommand.Change(target: list, effect: effect.effect(of: nil))],
            request: ModifierCommand.Request(
                method: "POST",
                url: try WebURL(list.text),
                body: .bytes(Array("{}".utf8))
            )
        )
        command.id = try ModifierID(name)
        command.ifMatch = compares ? .auto : ModifierRules.MatchRule.none
        var lanes: Set = [PlainModifier.lane(of: PlainQueue.list), PlainModifier.lane(of: path)]
        try drawTerms(&command, &lanes)
        let changes = [
            PlainModifier.Change(path: PlainQueue.list, effect: effect),
            PlainModifier.Change(path: path, effect: .place(object)),
        ]
        if joins {
            command.request.headers.append("Content-Type", MediaType.json)
            command.request.body = .bytes(Array(object.text(of: nil).utf8))
        }
        var modifier = modifier(name, command, changes, lanes: lanes)
        modifier.isCreate = joins
        return (command, modifier)
    }

    private func writeListElsewhere() {
        guard randomUnit(1, of: 2), let path = pick(Self.paths) else { return writeElsewhere() }
        let id = String(path.dropFirst())
        let isListed = !origin.server.listed.contains(id)
        note("another device has \(id) \(isListed ? "in" : "taken out of") the list")
        origin.server.list(id, isListed)
    }

    /// The origin tells what is in the list.
    func tellList(_ request: SimulatedOrigin.Request, _ server: SimulatedServer) {
        guard let reading = reading(request) else { return fail(request, Self.broken) }
        put(.answeredList(server.rows, reading))
        let list = PlainValue(["items": .rows(server.rows)])
        reply(request, 200, ["Content-Type": "application/json"], list.description)
    }

    func isOfList(_ request: SimulatedOrigin.Request) -> Bool {
        hasList && request.path == PlainQueue.list
    }

    /// Checks at the end of a life that the base of the list is the list of the server.
    func requireList(_ index: Int) throws {
        let expected = PlainQueue.Base.value(PlainValue(["items": .rows(origin.server.rows)]))
        let base = judges[index].queues.first?.shownList.base
        try require(
            base == expected || hasUnknownSender,
            "the list is \(String(describing: base)) in the end"
        )
    }
}
