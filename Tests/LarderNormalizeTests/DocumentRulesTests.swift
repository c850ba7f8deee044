import LarderJSON
import LarderModel
import LarderNormalize
import Testing

/// Effects on documents in which the rules see entities (cases 1 and 28).
@Suite("Objects in lists as the rules see them")
struct DocumentRulesTests {
    private static let byType = NormalizeRules(byType: .standard)
    private static let todo = #"{"type":"Todo","id":7,"title":"milk"}"#

    private func document(
        _ rules: NormalizeRules = Self.byType,
        form: String? = nil
    ) throws -> DocumentRules {
        DocumentRules(EntityRules(rules), path: "/todos", form: try form.map(json))
    }

    private func json(_ text: String) throws -> JSONValue {
        try JSONValue(parsing: Array(text.utf8))
    }

    private func effect(_ text: String) throws -> Effect { try Effect(parsing: Array(text.utf8)) }

    private func view(
        _ document: DocumentRules,
        _ base: String?,
        _ effects: [String],
        showing: (DocumentRules.Placed) -> JSONValue? = { $0.object }
    ) throws -> View {
        var steps = Limits.viewStepsMax
        return document.view(
            of: try base.map { .json(try json($0)) } ?? .unknown,
            try effects.map(effect),
            steps: &steps,
            showing: showing
        )
    }

    @Test("list_add, put, set and patch put entities into a document (case 28)")
    func placed() throws {
        let effects = [
            #"{"type":"list_add","value":{"/items":[\#(Self.todo),{"a":1}]}}"#,
            #"{"type":"put","value":{"items":[\#(Self.todo)]}}"#,
            #"{"type":"set","value":{"set":{"/first":\#(Self.todo)},"unset":[]}}"#,
            #"{"type":"patch","value":[{"op":"add","path":"/items/0","value":\#(Self.todo)}]}"#,
        ]
        for text in effects {
            let placed = try document().placed(by: effect(text))
            #expect(placed.map(\.key.text) == ["Todo:7"], "\(text)")
            #expect(try placed.first?.object == json(Self.todo))
            #expect(try document().named(by: effect(text)).map(\.text) == ["Todo:7"], "\(text)")
        }
        let merge = #"{"type":"merge","value":{"first":\#(Self.todo)}}"#
        let removal = #"{"type":"list_remove","value":{"/items":[\#(Self.todo)]}}"#
        for text in [merge, removal] {
            #expect(try document().placed(by: effect(text)).isEmpty)
        }
        #expect(try document().named(by: effect(merge)).isEmpty)
        #expect(try document().named(by: effect(removal)).map(\.text) == ["Todo:7"])
    }

    @Test("A removal by a member's value names the elements that have it, as the rules see them")
    func removedByMember() throws {
        let removal = try effect(
            #"{"type":"list_remove","value":{"/items":{"by":"id","values":[7]}}}"#
        )
        let list = #"{"items":[{"type":"Todo","id":6},\#(Self.todo)]}"#
        let content = TargetContent.json(try json(list))
        #expect(try document().named(by: removal, on: content).map(\.text) == ["Todo:7"])
        #expect(try document().named(by: removal).isEmpty)
        let rules = NormalizeRules(paths: [
            PathRule(url: "/todos", at: MemberPath(tokens: ["items", "*"]), type: "Todo", key: nil)
        ])
        #expect(try document(rules).named(by: removal).map(\.text) == ["Todo:7"])
    }

    @Test("A rule for a path sees entities without a type at any position (case 28)")
    func paths() throws {
        let rules = NormalizeRules(paths: [
            PathRule(url: "/todos", at: MemberPath(tokens: ["items", "*"]), type: "Todo", key: nil)
        ])
        let text = #"{"type":"list_add","value":{"/items":[{"id":7}],"/other":[{"id":8}]}}"#
        #expect(try document(rules).placed(by: effect(text)).map(\.key.text) == ["Todo:7"])
    }

    @Test("A list has an entity once, and loses it whatever else the object says (case 28)")
    func asSets() throws {
        let base = #"{"items":[{"type":"Todo","id":7,"title":"milk","done":true},{"x":1}]}"#
        let same = try view(
            document(),
            base,
            [#"{"type":"list_add","value":{"/items":[\#(Self.todo)]}}"#]
        )
        #expect(same.content == .base)
        let removed = try view(
            document(),
            base,
            [#"{"type":"list_remove","value":{"/items":[{"type":"Todo","id":"7"}]}}"#]
        )
        #expect(try removed.content == .json(json(#"{"items":[{"x":1}]}"#)))
    }

    @Test("A document shows the entity's own state, and a deleted one not at all (case 28)")
    func ownState() throws {
        let effects = [
            #"{"type":"list_add","value":{"/items":[\#(Self.todo)]}}"#,
            #"{"type":"patch","value":[{"op":"add","path":"/items/-","value":{"x":2}}]}"#,
        ]
        let base = #"{"items":[{"x":1,"done":false}]}"#
        let now = try json(#"{"type":"Todo","id":7,"title":"oat milk"}"#)
        var beside: Set<String> = []
        let shown = try view(document(), base, effects) { placed in
            beside = placed.neighbours
            return now
        }
        #expect(beside == ["x", "done"])
        let all = #"[{"x":1,"done":false},{"type":"Todo","id":7,"title":"oat milk"},{"x":2}]"#
        #expect(try shown.content == .json(json(#"{"items":\#(all)}"#)))
        let gone = try view(document(), base, effects) { _ in nil }
        #expect(try gone.content == .json(json(#"{"items":[{"x":1,"done":false},{"x":2}]}"#)))
        // Without the other effect it is base itself.
        #expect(try view(document(), base, [effects[0]]) { _ in nil }.content == .base)
    }

    @Test("A list that is not known starts from its empty form, and is not complete (case 1)")
    func form() throws {
        let add = #"{"type":"list_add","value":{"/items":[\#(Self.todo)]}}"#
        let shown = try view(document(form: #"{"items":[]}"#), nil, [add])
        #expect(try shown.content == .json(json(#"{"items":[\#(Self.todo)]}"#)))
        #expect(!shown.isComplete)
        #expect(try view(document(), nil, [add]).content == .unknown)
        // The known value counts, not the form.
        let known = try view(document(form: #"{"items":[1]}"#), #"{"items":[]}"#, [add])
        #expect(try known.content == .json(json(#"{"items":[\#(Self.todo)]}"#)))
        #expect(known.isComplete)
    }

    @Test("An object put into an entity is a reference there (case 28)")
    func inEntity() throws {
        let held = HeldEntity.unknown
        let rules = DocumentRules(ofEntity: EntityRules(Self.byType))
        let put = try effect(#"{"type":"put","value":{"type":"List","id":1,"items":[]}}"#)
        let add = try effect(#"{"type":"list_add","value":{"/items":[\#(Self.todo)]}}"#)
        let view = EntityView(held, [put, add, add], rules)
        guard case .present(let body, _) = view.held else {
            Issue.record("nothing shows")
            return
        }
        #expect(body.references.map(\.key.text) == ["Todo:7"])
        let remove = try effect(
            #"{"type":"list_remove","value":{"/items":[{"type":"Todo","id":7}]}}"#
        )
        guard case .present(let rest, _) = EntityView(held, [put, add, remove], rules).held else {
            Issue.record("nothing shows")
            return
        }
        #expect(rest.references.isEmpty)
    }

    @Test("The places of entities are found in the order of the document, up to a limit")
    func places() throws {
        let value = try json(#"{"items":[{"x":1},\#(Self.todo)],"first":\#(Self.todo)}"#)
        let key = try EntityKey("Todo:7")
        let found = try document().places(of: [key], in: value, atMost: 10)
        #expect(found.map(\.pointer.text) == ["/items/1", "/first"])
        #expect(try document().places(of: [key], in: value, atMost: 1).count == 1)
    }

    @Test("The neighbours of objects that a patch adds are collected one time for each list")
    func manyNeighbours() throws {
        let members = (0..<200).map { "\"n\($0)\":0" }.joined(separator: ",")
        let elements = Array(repeating: "{\(members)}", count: 100).joined(separator: ",")
        let operations = (0..<5_000).map {
            #"{"op":"add","path":"/items/-","value":{"type":"Todo","id":\#($0)}}"#
        }
        let other = #"{"op":"add","path":"/other/0","value":\#(Self.todo)}"#
        let patch = (operations + [other]).joined(separator: ",")
        var neighbours: [String: Set<String>] = [:]
        let shown = try view(
            document(),
            #"{"items":[\#(elements)],"other":[{"x":1}]}"#,
            [#"{"type":"patch","value":[\#(patch)]}"#]
        ) { placed in
            neighbours[placed.key.text] = placed.neighbours
            return placed.object
        }
        guard case .json(let value) = shown.content else {
            Issue.record("the patch does not show")
            return
        }
        #expect(value["items"]?.elements?.count == 5_100)
        #expect(neighbours["Todo:4999"]?.count == 200)
        #expect(neighbours["Todo:7"] == ["x"])
    }

    @Test("Once a view has used its steps, no effect is looked into")
    func noSteps() throws {
        var steps = 0
        var looks = 0
        let put = try effect(#"{"type":"put","value":{"items":[\#(Self.todo)]}}"#)
        let add = try effect(#"{"type":"list_add","value":{"/items":[\#(Self.todo)]}}"#)
        let base = TargetContent.json(try json(#"{"items":[]}"#))
        let view = try document().view(of: base, [put, .all([add, put])], steps: &steps) { placed in
            looks += 1
            return placed.object
        }
        #expect(looks == 0)
        #expect(view.content == .base)
        #expect(view.leftOut.map(\.reason.cause) == [.tooMuchWork, .tooMuchWork])
    }
}
