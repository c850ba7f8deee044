import LarderJSON
import LarderModel
import Testing

@Suite("What effects may cost")
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

    @Test("A patch that handles a large value again and again is stopped by the work")
    func work() throws {
        let text = String(repeating: "x", count: Limits.viewBytesMax / 4)
        let base = JSONValue.object([JSONMember(name: "a", value: .string(text))])
        let (here, there) = (try JSONPointer("/a"), try JSONPointer("/b"))
        let moves: [JSONPatchOperation] = [
            .move(from: here, to: there), .move(from: there, to: here),
        ]
        func moved(_ count: Int) -> Effect {
            .patch(Array(repeating: moves, count: count).flatMap { $0 })
        }
        #expect(moved(20).applied(to: .json(base)) == .unchanged)
        #expect(cause(moved(40), on: base) == .tooMuchWork)
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
