import LarderEngine
import LarderModel
import LarderWire

/// A list whose objects are the entities (cases 1 and 28), in every sixth life.
extension EngineSimulation {
    static func hasList(_ seed: UInt64) -> Bool { seed % 6 == 5 }

    static func addList(to settings: inout OriginSettings, _ seed: UInt64) {
        settings.normalize = NormalizeRules(byType: .standard, types: docs)
        settings.modifiers.answer = .auto
        guard seed % 4 == 1 else { return }
        settings.modifiers.empty = [EmptyForm(path: PlainQueue.list, form: #"{"items":[]}"#)]
    }

    /// Does one thing in a life with a list.
    func actOnList() throws {
        switch draw(0..<100) {
        case 0..<12: try acceptObject()
        case 12..<26: try accept()
        case 26..<56: answerSomething()
        case 56..<65: fetch(pick(paths) ?? "/a", pick(FetchPolicy.allCases) ?? .networkOnly)
        case 65..<72: writeListElsewhere()
        case 72..<81: decide()
        case 81..<83: setLane()
        case 83..<90: return try pass()
        case 90..<93: origin.isOffline.toggle()
        case 93..<97: return try crash()
        default: return try reopen(losingCache: false)
        }
        try goOn()
    }

    /// Has a write accepted that adds an object to the list.
    private func acceptObject() throws {
        let id = String((pick(Self.paths) ?? "/a").dropFirst())
        let (command, modifier) = try object(id, "m\(plain.count + 1)")
        (modifiers[modifier.id], plain[modifier.id]) = (command, modifier)
        accept([(command, modifier)])
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
        command.ifMatch = ModifierRules.MatchRule.none
        var lanes: Set = ["id:\(list.text)", "id:\(try Self.id(path).text)"]
        try drawTerms(&command, &lanes)
        let changes = [
            PlainModifier.Change(path: PlainQueue.list, effect: effect),
            PlainModifier.Change(path: path, effect: .place(object)),
        ]
        return (command, modifier(name, command, changes, lanes: lanes))
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
        guard let reading = reading(request) else { return }
        put(.answeredList(server.rows, reading))
        let list = PlainValue(["items": .rows(server.rows)])
        reply(request, 200, ["Content-Type": "application/json"], list.description)
    }

    func isOfList(_ request: SimulatedOrigin.Request) -> Bool {
        hasList && request.path == PlainQueue.list
    }

    /// What the server has of the list, as the base of it.
    func requireList(_ index: Int) throws {
        let expected = PlainQueue.Base.value(PlainValue(["items": .rows(origin.server.rows)]))
        let base = judges[index].queues.first?.shownList.base
        try require(base == expected, "the list is \(String(describing: base)) in the end")
    }
}
