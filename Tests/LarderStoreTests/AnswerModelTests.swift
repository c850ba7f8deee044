import Glibc
import LarderJSON
import LarderModel
import LarderNormalize
import LarderTestSupport
import Testing

@testable import LarderStore

/// Random answers over a few entities, modifiers of these and pins of those, against a table in
/// memory of what each entity and each answer is; the rows are audited, and whoever sees something
/// else is told.
@Suite("Normalized answers against a model", .timeLimit(.minutes(10)))
struct AnswerModelTests {
    @Test("Each answer shows what its entities are, and each change is told")
    func lives() async throws {
        let kept = try await SimulationSeeds.run(SimulationSeeds.first(40)) { seed in
            var life = try AnswerLife(seed: seed)
            return try await life.run(steps: 40)
        }
        #expect(kept.held > 0 && kept.void > 0)
    }

    @Test("Whichever operation fails, an answer is stored with all of its entities or not at all")
    func faults() async throws {
        let answers = try AnswerFixture()
        let faults = answers.temporary.faults
        func text(_ name: String) -> String {
            #"{"type":"A","id":1,"n":"\#(name)","u":{"type":"U","id":7,"n":"\#(name)"}}"#
        }
        try await answers.put("a", text("first"))
        var n = 1
        var previous = "first"
        while true {
            faults.arm(n)
            let name = "name \(n)"
            let hasFailed: Bool
            do {
                try await answers.put("a", text(name))
                hasFailed = false
            } catch {
                hasFailed = true
            }
            faults.disarm()
            let shown = try await answers.shown("a")
            #expect(shown == text(name) || shown == text(previous), "\(n)")
            if shown == text(name) { previous = name }
            try await answers.store.requireInvariants()
            try answers.audit()
            // One that met no failure in its own transaction ends it.
            guard hasFailed || n < 60 else { break }
            n += 1
        }
    }
}

private struct AnswerLife {
    private let answers: AnswerFixture
    private var random: SeededRandom
    /// What the model knows of entities, and of answers by their ids.
    private var entities: [EntityKey: HeldEntity] = [:]
    private var kept: [String: (template: Template, skeleton: Skeleton)] = [:]
    private let ids = ["a", "b", "c", "d"]
    /// Modifiers that are not settled, in their order.
    private var open: [(number: ModifierNumber, key: EntityKey, effect: Effect)] = []
    private var accepted = 0
    private var pinned: Set<String> = []
    private var reader: StoreReader
    private var keptReads = KeptReads<String, String>()

    init(seed: UInt64) throws {
        random = SeededRandom(seed: seed)
        answers = try AnswerFixture()
        reader = try answers.store.makeReader()
    }

    mutating func run(steps: Int) async throws -> KeptCounts {
        for step in 0..<steps {
            let before = try await allShown()
            _ = answers.store.changes.take()
            let what = try await self.step()
            do {
                try await judge(what, before, answers.store.changes.take())
                try judgeKept()
                try answers.audit()
            } catch {
                throw Violation("step \(step), \(what): \(error)")
            }
        }
        return keptReads.counts
    }

    private func judge(_ what: String, _ before: [String], _ told: ChangeFeed.Batch) async throws {
        for (id, (old, new)) in zip(ids, zip(before, try await allShown())) {
            let expected = try model(id)
            try require(new == expected, "\(id) shows \(new), not \(expected)")
            let times = told.changes.count { $0.id?.text == id }
            let mayBeUntold = Self.saySame(old, new) || what.hasPrefix("evict") || told.isCut
            try require(times > 0 || mayBeUntold, "\(id) was \(old), is \(new), untold")
            // What comes for a pin is a step, and what it says of entities another.
            let isForPin = pinned.contains(id) && what.hasPrefix("put \(id) ")
            try require(times <= (isForPin ? 2 : 1), "\(id) told \(times) times")
        }
    }

    /// What was kept of reads, where it still counts; what is not kept is read to be kept.
    private mutating func judgeKept() throws {
        let (scope, reader) = (answers.scope, reader)
        defer { reader.endTransaction() }
        for id in ids {
            try keptReads.check(
                id,
                counts: reader.stillSays,
                read: { _ in try reader.shownText(scope, named(id)) }
            )
            guard !keptReads.keys.contains(id) else { continue }
            let (result, stamp) = reader.stamping {
                Result { try reader.shownText(scope, named(id)) }
            }
            keptReads.keep(id, (try result.get(), stamp), now: .epoch)
        }
    }

    /// Whether two texts are the same JSON: members may come to stand in another order.
    private static func saySame(_ old: String, _ new: String) -> Bool {
        func value(_ text: String) -> JSONValue? {
            try? JSONValue(parsing: Array(text.utf8.drop { $0 != UInt8(ascii: "[") }))
        }
        guard old != new else { return true }
        guard old.hasPrefix("partly") == new.hasPrefix("partly"), let old = value(old),
            let new = value(new)
        else { return false }
        return old.isSame(as: new)
    }

    private func allShown() async throws -> [String] {
        var shown: [String] = []
        for id in ids { shown.append(try await answers.shown(id)) }
        return shown
    }

    private mutating func step() async throws -> String {
        switch random.next() % 20 {
        case 0:
            let id = random.pick(ids)
            try await answers.temporary.unpin(id)
            _ = try await answers.store.delete(answers.scope, try EntryID(id))
            kept[id] = nil
            pinned.remove(id)
            try await settle()
            return "forget \(id)"
        case 1:
            let key = anyKey()
            guard case .present? = entities[key] else { return "nothing" }
            if try await answers.evict(EntryID(EntityName(key, of: answers.origin))) {
                entities[key] = nil
            }
            try await settle()
            return "evict \(key)"
        case 2:
            let key = anyKey()
            let fetch = try answers.store.nextRevision()
            let removal = EntityRemoval(
                of: EntityName(key, of: answers.origin),
                in: answers.scope,
                fetch: fetch,
                cause: ChangeCause(.network)
            )
            try await answers.store.delete(removal, now: .epoch)
            let known = entities[key] ?? .unknown
            entities[key] = known.deleted(byFetch: fetch.number) ?? known
            try await settle()
            return "delete \(key)"
        case 3:
            keptReads.dropAll()
            let bytes = answers.store.totals.bytes
            try await answers.reopen()
            let (store, findings) = (answers.store, answers.store.files.findings)
            try require(findings.isEmpty && store.totals.bytes == bytes, "opened: \(findings)")
            reader = try answers.store.makeReader()
            return "reopen"
        case 4, 5, 6: return try await accept()
        case 7, 8: return try await settleOne()
        case 9:
            try await answers.store.maintenance.removeReleased(now: .epoch)
            try await settle()
            return "give back"
        case 10:
            let id = random.pick(ids)
            let isPinned = random.next() % 2 == 0
            if isPinned {
                pinned.insert(id)
                try await answers.temporary.pin(id)
            } else {
                pinned.remove(id)
                try await answers.temporary.unpin(id)
            }
            try await settle()
            return "\(isPinned ? "pin" : "unpin") \(id)"
        default:
            return try await put()
        }
    }

    private mutating func accept() async throws -> String {
        let key = anyKey()
        let text =
            switch random.next() % 5 {
            case 0: #"{"type":"delete"}"#
            case 1: #"{"type":"put","value":{"id":1,"x":\#(random.next() % 4)}}"#
            case 2: #"{"type":"set","value":{"set":{"/y/in":7},"unset":["/z"]}}"#
            default: #"{"type":"merge","value":{"x":\#(random.next() % 4),"z":null}}"#
            }
        accepted += 1
        let id = EntryID(EntityName(key, of: answers.origin))
        let effect = try Effect(parsing: Array(text.utf8))
        var new = NewModifier.changing([], "m\(accepted)", answers.scope)
        new.changes = [NewChange(id: id, effect: effect.bytes, isOfSharedRow: false)]
        let number = try await answers.store.modifiers.accept([new], now: .epoch)[0].number
        open.append((number, key, effect))
        try await settle()
        return "accept m\(accepted) on \(key): \(text)"
    }

    private mutating func settleOne() async throws -> String {
        guard let place = open.indices.randomElement(using: &random) else { return "nothing" }
        let (number, key, effect) = open.remove(at: place)
        let origin = answers.origin
        let word: String
        let outcome: Settlement.Outcome
        switch random.next() % 3 {
        case 0: (word, outcome) = ("failed", .refused)
        case 1: (word, outcome) = ("cancelled", .cancelled)
        case _:
            word = "confirmed"
            outcome = .confirmed { id, base in
                let held = EntityView(base.held, [effect]).held
                guard let row = held.row(id, of: origin, .epoch) else { return .keep }
                return .put(row.entry, row.bytes)
            }
            let held = EntityView(entities[key] ?? .unknown, [effect]).held
            if held.stored != nil { entities[key] = held }
        }
        try await answers.temporary.end(number, outcome)
        try await settle()
        return "\(word) \(number) of \(key)"
    }

    /// An entity as it is shown.
    private func view(_ key: EntityKey) -> HeldEntity {
        let effects = open.filter { $0.key == key }.map(\.effect)
        return EntityView(entities[key] ?? .unknown, effects).held
    }

    private mutating func put() async throws -> String {
        let id = random.pick(ids)
        let isLate = random.next() % 6 == 0
        let fetch = isLate ? Int64(random.next() % 50) : try answers.store.nextRevision().number
        let text =
            "[" + (0..<(1 + Int(random.next() % 3))).map { _ in object(2) }.joined(separator: ", ")
            + "]"
        let answer = try answers.answer(id, text, fetch: fetch)
        _ = try await answers.store.put(answer, now: .epoch)
        let split = answer.entities.split
        var merged: [MergedEntity] = []
        for (number, key) in split.keys.enumerated() {
            let entity = split.merged(number, into: entities[key] ?? .unknown, fetch: fetch)
            entities[key] = entity.held
            merged.append(entity)
        }
        if let template = split.template(merged) {
            kept[id] = (try Template(template, split.skeleton), split.skeleton)
        }
        try await settle()
        return "put \(id) \(text)"
    }

    /// Has what nothing refers to any more swept, in the model as in the store.
    private mutating func settle() async throws {
        try await answers.store.commits.settle()
        let rows = Set(try await keys())
        let gone = entities.filter { key, held in
            if case .unknown = held { return false }
            return !rows.contains(key)
        }
        for key in gone.keys { entities[key] = nil }
        for key in gone.keys where isReferred(key) {
            throw Violation("\(key) is gone, and something refers to it")
        }
    }

    private func isReferred(_ key: EntityKey) -> Bool {
        let byAnswer = kept.values.contains { answer in
            answer.template.references(answer.skeleton).contains { $0.key == key }
        }
        return byAnswer
            || entities.values.contains { held in
                guard case .present(let body, _) = held else { return false }
                return body.references.contains { $0.key == key }
            }
    }

    private func keys() async throws -> [EntityKey] {
        var filter = RowFilter(scope: answers.scope)
        filter.part = .entities
        return try await answers.store.rows(filter).compactMap { $0.entry.id.entity?.key }
    }

    private func model(_ id: String) throws -> String {
        guard let answer = kept[id] else { return "miss" }
        let outcome = Rebuilder(answers.rules, bytesMax: 1 << 24).rebuild(
            answer.template,
            answer.skeleton,
            { view($0) }
        )
        switch outcome {
        case .shown(let shown):
            let text = String(decoding: shown.bytes, as: UTF8.self)
            return shown.isComplete ? text : "partly " + text
        case .deleted: return "deleted"
        case .evicted, .tooLarge: return "missing"
        }
    }

    // MARK: Drawing

    private mutating func anyKey() -> EntityKey {
        let type = random.pick(["A", "B"])
        let id = String(random.next() % 3)
        guard let key = EntityKey(type: type, id: id) else { preconditionFailure("it is one") }
        return key
    }

    private mutating func object(_ depth: Int) -> String {
        var members = [#""type":"\#(random.pick(["A", "B"]))""#, #""id":\#(random.next() % 3)"#]
        for name in ["x", "y", "z"] where random.next() % 2 == 0 {
            members.append(#""\#(name)":\#(value(depth))"#)
        }
        if random.next() % 4 == 0 { members.reverse() }
        return "{" + members.joined(separator: ",") + "}"
    }

    private mutating func value(_ depth: Int) -> String {
        switch random.next() % 6 {
        case 0 where depth > 0: object(depth - 1)
        case 1 where depth > 0: "[" + object(depth - 1) + "," + object(depth - 1) + "]"
        case 2 where depth > 0: #"{"in":\#(object(depth - 1))}"#
        case 3: random.pick(["1", "1.0", "1e0"])
        default: String(random.next() % 4)
        }
    }
}
