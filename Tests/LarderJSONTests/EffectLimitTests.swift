import LarderJSON
import LarderModel
import Testing

@Suite("Limits of effects")
struct EffectLimitTests {
    private func nested(_ depth: Int) -> JSONValue {
        (0..<depth).reduce(.null) { inner, _ in .array([inner]) }
    }

    private func cause(_ effect: Effect, on base: JSONValue) -> Inapplicability.Cause? {
        guard case .inapplicable(let reason) = effect.applied(to: .json(base)) else { return nil }
        return reason.cause
    }

    @Test("A value may be nested as deep as JSON is read, and no deeper")
    func depth() throws {
        let most = Limits.jsonDepthMax
        let base = try json(#"{"a":{}}"#)
        let pointer = try JSONPointer("/a/b")
        #expect(cause(.put(nested(most)), on: base) == nil)
        #expect(cause(.put(nested(most + 1)), on: base) == .tooDeep)
        #expect(cause(.set([JSONAssignment(pointer, nested(most - 2))]), on: base) == nil)
        #expect(cause(.set([JSONAssignment(pointer, nested(most - 1))]), on: base) == .tooDeep)
        #expect(cause(.patch([.add(pointer, nested(most - 2))]), on: base) == nil)
        #expect(cause(.patch([.add(pointer, nested(most - 1))]), on: base) == .tooDeep)
        let list = JSONListChange(pointer, values: [nested(most - 3)])
        #expect(cause(.listAdd([list]), on: base) == nil)
        let deeper = JSONListChange(pointer, values: [nested(most - 2)])
        #expect(cause(.listAdd([deeper]), on: base) == .tooDeep)
        let merge = (0..<most).reduce(JSONValue.null) { inner, _ in
            .object([JSONMember(name: "a", value: inner)])
        }
        #expect(cause(.merge(merge), on: base) == nil)
        #expect(
            cause(.merge(.object([JSONMember(name: "a", value: merge)])), on: base) == .tooDeep
        )
    }

    @Test("A patch that nests a value into itself again and again is stopped by the depth")
    func nesting() throws {
        let step = JSONPatchOperation.copy(from: .whole, to: try JSONPointer("/a"))
        let fitting = Array(repeating: step, count: Limits.jsonDepthMax - 1)
        #expect(cause(.patch(fitting), on: .object([])) == nil)
        #expect(cause(.patch(fitting + [step]), on: .object([])) == .tooDeep)
        let move = try JSONPointer("/b")
        let wrap: [JSONPatchOperation] = [
            .add(move, .object([])), .move(from: try JSONPointer("/a"), to: move.appending("a")),
            .move(from: move, to: try JSONPointer("/a")),
        ]
        let wraps = Array(repeating: wrap, count: Limits.jsonDepthMax).flatMap { $0 }
        #expect(cause(.patch(wraps), on: try json(#"{"a":{}}"#)) == .tooDeep)
    }

    /// Copies the whole into itself, which doubles it, again and again.
    private let doublings: [JSONPatchOperation] = (0..<64).map {
        .copy(from: .whole, to: JSONPointer(tokens: ["\($0)"]))
    }

    private let large = JSONValue.object([
        JSONMember(name: "a", value: .string(String(repeating: "x", count: 65_536)))
    ])

    @Test("A patch that doubles a value again and again is stopped by the size")
    func doubling() throws {
        #expect(cause(.patch(doublings), on: large) == .tooLarge)
    }

    @Test("Effects together cannot make a view larger than its limit")
    func size() throws {
        let text = JSONValue.string(String(repeating: "x", count: Limits.viewBytesMax / 4))
        let effects = (0..<6).map {
            Effect.set([JSONAssignment(JSONPointer(tokens: ["\($0)"]), text)])
        }
        let view = View.of(.json(.object([])), effects)
        #expect(view.leftOut.map(\.place) == [3, 4, 5])
        #expect(view.leftOut.allSatisfy { $0.reason.cause == .tooLarge })
        let same = Array(repeating: effects[0], count: 12)
        #expect(View.of(.json(.object([])), same).leftOut.isEmpty)
    }

    /// A quarter of what a view may be, and a patch that moves it there and back so many times: each
    /// is a 64th of the steps that a view may take.
    private func moved(_ count: Int) throws -> (base: JSONValue, effect: Effect) {
        let text = String(repeating: "x", count: Limits.viewBytesMax / 4)
        let base = JSONValue.object([JSONMember(name: "a", value: .string(text))])
        let (here, there) = (try JSONPointer("/a"), try JSONPointer("/b"))
        let moves: [JSONPatchOperation] = [
            .move(from: here, to: there), .move(from: there, to: here),
        ]
        return (base, .patch(Array(repeating: moves, count: count).flatMap { $0 }))
    }

    @Test("A patch that handles a large value again and again is stopped by the work")
    func work() throws {
        let (base, much) = try moved(20)
        #expect(much.applied(to: .json(base)) == .unchanged)
        #expect(cause(try moved(40).effect, on: base) == .tooMuchWork)
    }

    @Test("The effects of a view share its steps: what goes beyond them is left out, and told")
    func workOfAll() throws {
        let (base, some) = try moved(10)
        let small = Effect.set([JSONAssignment(try JSONPointer("/c"), .bool(true))])
        let view = View.of(.json(base), [some, small, some, some, some, small, .delete])
        #expect(view.leftOut.map(\.place) == [4, 5])
        #expect(view.leftOut.allSatisfy { $0.reason.cause == .tooMuchWork })
        #expect(view.isCut)
        #expect(view.content == .deleted)
        #expect(!View.of(.json(base), [some, small, some]).isCut)
    }

    @Test("Several views can share steps, of which each leaves what it did not take")
    func stepsOfSeveral() throws {
        let (base, some) = try moved(10)
        var steps = Limits.viewStepsMax
        #expect(!View.of(.json(base), [some], steps: &steps).isCut)
        let left = steps
        #expect(left < Limits.viewStepsMax)
        #expect(!View.of(.json(.null), [.put(.null)], steps: &steps).isCut)
        #expect(left - steps < 16)
        #expect(View.of(.json(base), [some, some, some], steps: &steps).isCut)
        #expect(steps == 0)
    }

    @Test("An effect that reaches into a long array pays for the copy of it, once")
    func copies() throws {
        let elements = (0..<80_000).map { _ in JSONValue.null }
        let base = JSONValue.object([JSONMember(name: "a", value: .array(elements))])
        let operation = JSONPatchOperation.replace(try JSONPointer("/a/0"), .bool(true))
        var before = Limits.viewStepsMax
        _ = View.of(.json(base), [.patch([operation])], steps: &before)
        var two = Limits.viewStepsMax
        _ = View.of(.json(base), [.patch([operation]), .patch([operation])], steps: &two)
        #expect(before - two > elements.count / 8)
        var long = Limits.viewStepsMax
        let operations = Array(repeating: operation, count: 100)
        #expect(!View.of(.json(base), [.patch(operations)], steps: &long).isCut)
        #expect(before - long < elements.count / 8)
    }

    @Test("Each intermediate view is the result of the effects up to there")
    func onTheWay() throws {
        let base = TargetContent.json(try json(#"{"n":1}"#))
        let texts = [
            #"{"type":"add","value":{"/n":1}}"#, #"{"type":"add","value":{"/m":1}}"#,
            #"{"type":"replace"}"#, #"{"type":"add","value":{"/n":1}}"#,
            #"{"type":"put","value":{"n":1}}"#, #"{"type":"delete"}"#,
        ]
        let effects = try texts.map { try Effect(parsing: Array($0.utf8)) }
        var run = ViewRun(base)
        for (place, effect) in effects.enumerated() {
            let reason = run.add(effect)
            let view = View.of(base, effects[...place])
            #expect(run.view == view)
            #expect(reason == view.leftOut.first { $0.place == place }?.reason)
        }
    }

    @Test("Lists and merges of thousands fit within the work that is allowed")
    func many() throws {
        let numbers = (0..<5_000).map { JSONValue.number(JSONNumber($0)) }
        let members = (0..<5_000).map { JSONMember(name: "\($0)", value: .bool(true)) }
        let list = JSONListChange(try JSONPointer("/list"), values: numbers)
        let added = Effect.listAdd([list]).applied(to: .json(.object([])))
        guard case .json(let value, _) = added else {
            Issue.record("not added")
            return
        }
        #expect(value["list"]?.elements?.count == 5_000)
        #expect(Effect.listAdd([list]).applied(to: .json(value)) == .unchanged)
        let removed = Effect.listRemove([list]).applied(to: .json(value))
        #expect(removed == .json(try json(#"{"list":[]}"#), isComplete: true))
        let merged = Effect.merge(.object(members)).applied(to: .json(.object(members.reversed())))
        #expect(merged == .unchanged)
    }

    @Test("Where an effect was too much, those after it still have what they need")
    func afterwards() throws {
        let view = View.of(
            .json(large),
            [
                .put(nested(Limits.jsonDepthMax + 1)), .patch(doublings),
                .set([JSONAssignment(try JSONPointer("/a"), .bool(true))]),
            ]
        )
        #expect(view.content == .json(try json(#"{"a":true}"#)))
        #expect(view.leftOut.map(\.reason.cause) == [.tooDeep, .tooLarge])
    }
}
