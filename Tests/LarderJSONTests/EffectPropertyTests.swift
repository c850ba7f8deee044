import LarderJSON
import LarderModel
import LarderTestSupport
import Testing

@Suite("Effects on any value")
struct EffectPropertyTests {
    @Test("Every effect has an outcome on everything, and what it makes is JSON", arguments: 1...6)
    func totality(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var counts: [String: Int] = [:]
        for _ in 0..<3_000 {
            let base = try random.anyValue(depth: 3)
            let content = random.pick(
                [
                    .json(base), .json(base), .json(base), .json(base), .unknown, .deleted, .opaque,
                ] as [TargetContent]
            )
            let effect = try random.effect(on: base)
            switch effect.applied(to: content) {
            case .json(let value, let isComplete):
                counts["json \(effect.typeName)", default: 0] += 1
                let isJSON = JSONValidator.accepts(Array(value.text.utf8))
                #expect(isJSON && (isComplete || content == .unknown), "seed \(seed)")
            case .unchanged: counts["unchanged", default: 0] += 1
            case .deleted, .body: counts["whole", default: 0] += 1
            case .inapplicable(let reason):
                counts["inapplicable", default: 0] += 1
                #expect(!reason.message.isEmpty)
            }
        }
        for name in ["merge", "put", "patch", "set", "add", "list_add", "list_remove"] {
            #expect(counts["json \(name)", default: 0] > 2, "seed \(seed): \(name) \(counts)")
        }
        #expect(counts["inapplicable", default: 0] > 100, "seed \(seed)")
    }

    @Test("A view of many effects is what they make one by one", arguments: 1...4)
    func oneByOne(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for _ in 0..<1_000 {
            let base = try random.anyValue(depth: 3)
            var effects: [Effect] = []
            for _ in 0..<random.count(0...6) { effects.append(try random.effect(on: base)) }
            var content = TargetContent.json(base)
            var left: [Int] = []
            for (place, effect) in effects.enumerated() {
                switch effect.applied(to: content) {
                case .json(let value, _): content = .json(value)
                case .body: content = .opaque
                case .deleted: content = .deleted
                case .unchanged: break
                case .inapplicable: left.append(place)
                }
            }
            let view = View.of(.json(base), effects)
            #expect(view.leftOut.map(\.place) == left, "seed \(seed)")
            switch (view.content, content) {
            case (.json(let shown), .json(let made)):
                #expect(shown.isSame(as: made) && !shown.isSame(as: base), "seed \(seed)")
            case (.base, .json(let made)): #expect(made.isSame(as: base), "seed \(seed)")
            case (.deleted, .deleted), (.body, .opaque): break
            default: Issue.record("seed \(seed): \(view.content), not \(content)")
            }
        }
    }

    @Test("To set twice is to set once", arguments: 1...4)
    func setTwice(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var counts = [true: 0, false: 0]
        for _ in 0..<3_000 {
            let base = try random.anyValue(depth: 3)
            let effect = try random.set(on: base)
            guard case .json(let once, _) = effect.applied(to: .json(base)) else { continue }
            // It may fit no more, where it put an array in the way of its own first step.
            switch effect.applied(to: .json(once)) {
            case .unchanged: counts[true, default: 0] += 1
            case .inapplicable: counts[false, default: 0] += 1
            case .json, .body, .deleted:
                let text = String(decoding: effect.bytes, as: UTF8.self)
                Issue.record("seed \(seed): \(text) on \(base.text) and then \(once.text)")
                return
            }
        }
        #expect(counts[true, default: 0] > 500, "seed \(seed): \(counts)")
        #expect(counts[false, default: 0] < 50, "seed \(seed): \(counts)")
    }

    @Test("Elements added to a list without any of them can be removed again", arguments: 1...4)
    func listAddAndRemove(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let pointer = try JSONPointer("/list")
        for _ in 0..<2_000 {
            var elements: [JSONValue] = []
            for _ in 0..<random.count(0...8) { elements.append(try random.anyValue(depth: 2)) }
            var added: [JSONValue] = []
            for _ in 0..<random.count(0...4) {
                let value = try random.anyValue(depth: 2)
                if !elements.contains(where: { $0.isSame(as: value) }) { added.append(value) }
            }
            let base = JSONValue.object([JSONMember(name: "list", value: .array(elements))])
            let change = JSONListChange(pointer, values: added)
            let view = View.of(.json(base), [.listAdd([change])])
            if case .json(let value) = view.content {
                let list = value.value(at: pointer)?.elements ?? []
                #expect(added.allSatisfy { value in list.contains { $0.isSame(as: value) } })
                #expect(list.count <= elements.count + added.count)
                #expect(Array(list.prefix(elements.count)) == elements)
            } else {
                #expect(added.isEmpty && view.content == .base, "seed \(seed)")
            }
            let both = View.of(.json(base), [.listAdd([change]), .listRemove([change])])
            #expect(both.content == .base, "seed \(seed): \(base.text)")
        }
    }
}
