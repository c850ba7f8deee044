import LarderJSON
import LarderModel
import LarderNormalize
import LarderTestSupport
import Testing

@Suite("Answers that share entities, against a model")
struct NormalizePropertyTests {
    /// What was stored of one answer, and what the model makes of it.
    private struct Pair {
        let text: String
        let stored: PlainStore.Answer
        let model: ModelAnswer
    }

    private struct World {
        var store: PlainStore
        var model: ModelStore
        var pairs: [Pair] = []
        var counts: [String: Int] = [:]
        let variesSpelling: Bool

        init(variesSpelling: Bool) throws {
            self.variesSpelling = variesSpelling
            let rules = NormalizeRules(
                byType: .standard,
                types: [
                    TypeRule(type: "B", onDeleted: .omit), TypeRule(type: "C", onDeleted: .cascade),
                ]
            )
            store = try PlainStore(rules)
            model = ModelStore(rules)
        }

        /// Stores an answer if it has an entity.
        mutating func put(_ text: String) throws {
            let outcome = Splitter(store.rules).split(Array(text.utf8), path: "/")
            guard case .split(let split) = outcome else { return }
            let stored = try store.put(split)
            let answer = model.put(try JSONValue(parsing: Array(text.utf8)))
            #expect(split.keys == answer.occurrences.map(\.key).unique)
            pairs.append(Pair(text: text, stored: stored, model: answer))
        }

        /// Compares what is shown of each answer; false if something differs.
        mutating func check(isPartial: Bool, _ context: String) throws -> Bool {
            for pair in pairs {
                var show = ModelShow(pair.model, in: model, isPartial: isPartial)
                let expected = show.outcome()
                let outcome = try store.rebuild(pair.stored, isPartial: isPartial)
                guard !variesSpelling || !show.hasReturned else { continue }
                switch (expected, outcome) {
                case (.deleted, .deleted): counts["deleted", default: 0] += 1
                case (.evicted, .evicted): counts["evicted", default: 0] += 1
                case (.shown(let value), .shown(let answer)):
                    let shown = try JSONValue(parsing: answer.bytes)
                    let isExact = answer.bytes == Array(pair.text.utf8)
                    counts[show.isUntouched ? "untouched" : "changed", default: 0] += 1
                    if show.missingCount > 0 { counts["incomplete", default: 0] += 1 }
                    guard shown.isSame(as: value), isExact || !show.isUntouched,
                        answer.isComplete == (show.missingCount == 0),
                        answer.missing.count == show.missingCount
                    else {
                        let text = String(decoding: answer.bytes, as: UTF8.self)
                        let isSame = shown.isSame(as: value)
                        let missing = "\(answer.missing.map(\.text)), \(show.missingCount)"
                        let judged = "same \(isSame), exact \(isExact), missing \(missing)"
                        var json = JSONWriter()
                        json.value(value)
                        let wanted = String(decoding: json.bytes, as: UTF8.self)
                        Issue.record(
                            "\(context): \(judged): \(pair.text)\nshows \(text)\nnot \(wanted)"
                        )
                        return false
                    }
                default:
                    Issue.record("\(context): \(pair.text) is \(outcome), not \(expected)")
                    return false
                }
            }
            return true
        }
    }

    @Test(
        "An answer is rebuilt byte for byte until a shown member has changed (P-11)",
        arguments: 1...40
    )
    func exactness(seed: UInt64) throws {
        var world = try World(variesSpelling: true)
        var answers = RandomAnswers(seed: seed, variesSpelling: true)
        for step in 0..<14 {
            try world.put(answers.answer())
            guard try world.check(isPartial: false, "seed \(seed), step \(step)") else { return }
        }
    }

    @Test(
        "Deleted and evicted entities are told apart, and no list is shortened silently (P-10)",
        arguments: 1...60
    )
    func evictions(seed: UInt64) throws {
        var world = try World(variesSpelling: false)
        var answers = RandomAnswers(seed: seed &+ 1_000, variesSpelling: false)
        for step in 0..<16 {
            let context = "seed \(seed), step \(step)"
            switch answers.random.count(0...5) {
            case 0...3: try world.put(answers.answer())
            case let number:
                let type = answers.random.pick(["A", "B", "C"])
                let key = "\(type):\(answers.random.count(1...3))"
                if number == 4 {
                    try world.store.delete(key)
                    world.model.delete(try EntityKey(key))
                } else {
                    try world.store.evict(key)
                    world.model.evict(try EntityKey(key))
                }
            }
            guard try world.check(isPartial: false, context),
                try world.check(isPartial: true, context + ", partial")
            else { return }
        }
    }

    @Test("The worlds have all that is to be told apart")
    func coverage() throws {
        var world = try World(variesSpelling: false)
        var answers = RandomAnswers(seed: 7, variesSpelling: false)
        for step in 0..<40 {
            try world.put(answers.answer())
            let key = "\(answers.random.pick(["A", "B", "C"])):\(answers.random.count(1...3))"
            if step.isMultiple(of: 9) {
                try world.store.delete(key)
                world.model.delete(try EntityKey(key))
            } else if step.isMultiple(of: 7) {
                try world.store.evict(key)
                world.model.evict(try EntityKey(key))
            }
            guard try world.check(isPartial: false, "whole"),
                try world.check(isPartial: true, "partial")
            else { return }
        }
        for kind in ["untouched", "changed", "deleted", "evicted", "incomplete"] {
            #expect(world.counts[kind, default: 0] > 10, "\(kind): \(world.counts)")
        }
    }
}
