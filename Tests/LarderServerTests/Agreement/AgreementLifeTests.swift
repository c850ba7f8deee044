import LarderModel
import LarderTestSupport
import LarderWire
import Testing

/// Lives by randomUnit, after each step of which all routes are asked for all ids.
@Suite("Every route tells the same, all along", .timeLimit(.minutes(10)))
struct AgreementLifeTests {
    private static let paths = ["/a", "/list", "/users/7", "/users/8", "draft"]
    private static let keys = ["User:7", "User:8"]
    private static let ids = paths + keys
    private static let steps = 24

    @Test("By seed", arguments: SimulationSeeds.first(12))
    func life(seed: UInt64) async throws {
        let isShared = seed % 3 == 2
        let adjust = { (origin: inout OriginSettings) in
            origin.normalize = AgreementTests.rules
            if isShared { origin.isShared = true }
        }
        try await ServerFixture.run(adjusting: adjust) { server in
            var random = SeededRandom(seed: seed)
            let life = try await ScriptedLife(server)
            let other = try await RouteRound(server, AccountName("work"))
            var notes: [String] = []
            for step in 0..<Self.steps {
                notes.append(try await Self.act(life, isShared: isShared, &random))
                let ids = try Self.ids.map(ScriptedLife.idOrKey)
                let note = "\(SimulationSeeds.advice(seed)), step \(step)"
                for round in isShared ? [life.round, other] : [life.round] {
                    for (id, tellings) in try await round.tellings(ids) {
                        let problems = Telling.disagreements(tellings)
                        guard !problems.isEmpty else { continue }
                        Issue.record("\(note): \(id): \(problems) behind \(notes)")
                        return
                    }
                }
            }
        }
    }

    private static func act(
        _ life: ScriptedLife,
        isShared: Bool,
        _ random: inout SeededRandom
    ) async throws -> String {
        let path = random.pick(Array(paths.dropLast()))
        switch random.next() % 20 {
        case 0..<5:
            let json = random.next() % 5 == 0 ? nil : json(path, &random)
            let normalize = random.next() % 4 != 0
            try await life.cache(path, json, normalize: normalize)
            return "\(path) is \(json ?? "gone"), normalize \(normalize)"
        case 5..<11:
            let target = random.pick(ids)
            let effect = effect(target, &random)
            try await life.accept(target, effect)
            return "\(effect) on \(target)"
        case 11..<14:
            let status = random.pick([204, 403])
            try await life.settle(status)
            return "settled by \(status)"
        case 14:
            try await life.cancel(&random)
            return "cancelled"
        case 15:
            try await life.evict(#""ids":["\#(ServerFixture.baseURL)\#(path)"]"#, shared: isShared)
            return "\(path) evicted"
        case 16:
            let key = random.pick(keys)
            try await life.evict(#""ids":["entity:example/\#(key)"]"#, shared: isShared)
            return "\(key) evicted"
        case 17:
            try await life.pin(path)
            return "\(path) pinned"
        case 18:
            try await life.unpin(path)
            return "\(path) unpinned"
        default:
            try await life.maintain()
            return "maintained"
        }
    }

    private static func json(_ path: String, _ random: inout SeededRandom) -> String {
        let names = ["Ann", "Bea", "Cleo"]
        let name = random.pick(names)
        return switch path {
        case "/users/7": AgreementTests.user(7, name)
        case "/users/8": AgreementTests.user(8, name)
        case "/list":
            "[\(AgreementTests.user(7, name)),\(AgreementTests.user(8, random.pick(names)))]"
        default: #"{"n":\#(random.next() % 3)}"#
        }
    }

    private static func effect(_ target: String, _ random: inout SeededRandom) -> String {
        let isUser = target.contains("ser")
        let name = random.pick(["Ann", "Dora"])
        switch random.next() % 6 {
        case 0: return #"{"type":"delete"}"#
        case 1:
            let user = AgreementTests.user(target.hasSuffix("7") ? 7 : 8, name)
            return #"{"type":"put","value":\#(isUser ? user : #"{"put":1}"#)}"#
        case 2: return #"{"type":"set","value":{"set":{"/s":1}}}"#
        case 3: return #"{"type":"patch","value":[{"op":"test","path":"/n","value":1}]}"#
        default: return #"{"type":"merge","value":{"name":"\#(name)"}}"#
        }
    }
}
