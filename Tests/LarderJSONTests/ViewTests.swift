import LarderJSON
import Testing

@Suite("The view of a target")
struct ViewTests {
    private func effects(_ texts: String...) throws -> [Effect] {
        try texts.map { try Effect(parsing: Array($0.utf8)) }
    }

    @Test("Effects apply in their order, each to what those before it made")
    func order() throws {
        let base = TargetContent.json(try json(#"{"n":1}"#))
        let add = #"{"type":"add","value":{"/n":1}}"#
        let set = #"{"type":"set","value":{"set":{"/n":10}}}"#
        let first = View.of(base, try effects(add, set))
        #expect(first.content == .json(try json(#"{"n":10}"#)))
        let second = View.of(base, try effects(set, add))
        #expect(second.content == .json(try json(#"{"n":11}"#)))
        #expect(second.isComplete && second.isChanged && second.leftOut.isEmpty)
    }

    @Test("Without effects, and where they say what base says, base shows with its own bytes")
    func base() throws {
        let base = TargetContent.json(try json(#"{"liked":true,"n":1.0}"#))
        let put = #"{"type":"put","value":{"n":1,"liked":true}}"#
        let undone = [
            #"{"type":"add","value":{"/n":1}}"#, #"{"type":"add","value":{"/n":-1}}"#,
        ]
        for effects in [[], try effects(put), try effects(undone[0], undone[1])] {
            let view = View.of(base, effects)
            #expect(view.content == .base && view.leftOut.isEmpty)
            #expect(view.isComplete && !view.isChanged)
        }
        #expect(View.of(.opaque, []).content == .base)
    }

    @Test("The like that was liked elsewhere stays liked after its own like is gone (case 12)")
    func likedElsewhere() throws {
        let like = try effects(#"{"type":"merge","value":{"liked":true}}"#)
        let before = TargetContent.json(try json(#"{"liked":false}"#))
        #expect(View.of(before, like).content == .json(try json(#"{"liked":true}"#)))
        let after = TargetContent.json(try json(#"{"liked":true}"#))
        #expect(!View.of(after, like).isChanged)
        #expect(View.of(after, []).content == .base)
    }

    @Test("An effect that does not fit is left out and named; the others show (case 13)")
    func leftOut() throws {
        let view = View.of(
            .json(try json(#"{"a":1}"#)),
            try effects(
                #"{"type":"add","value":{"/b":1}}"#,
                #"{"type":"set","value":{"set":{"/b":1}}}"#,
                #"{"type":"patch","value":[{"op":"test","path":"/a","value":"1"}]}"#,
                #"{"type":"add","value":{"/b":1}}"#
            )
        )
        #expect(view.content == .json(try json(#"{"a":1,"b":2}"#)))
        #expect(view.leftOut.map(\.place) == [0, 2])
        #expect(view.leftOut.map(\.reason.cause) == [.missing, .testFailed])
        #expect(view.leftOut[0].reason.message == "there is nothing at '/b'")
    }

    @Test("A target without a base and without a view is a miss (case 1)")
    func miss() throws {
        let view = View.of(
            .unknown,
            try effects(#"{"type":"add","value":{"/a":1}}"#, #"{"type":"none"}"#)
        )
        #expect(view.content == .unknown)
        #expect(!view.isComplete && !view.isChanged)
        #expect(view.leftOut.map(\.place) == [0])
    }

    @Test("A view on nothing is incomplete until an effect says the whole (case 1)")
    func completeness() throws {
        let merge = #"{"type":"merge","value":{"a":1}}"#
        let partial = View.of(.unknown, try effects(merge, #"{"type":"add","value":{"/a":1}}"#))
        #expect(partial.content == .json(try json(#"{"a":2}"#)))
        #expect(!partial.isComplete && partial.isChanged)
        let put = #"{"type":"put","value":{"b":1}}"#
        let whole = View.of(.unknown, try effects(merge, put, merge))
        #expect(whole.content == .json(try json(#"{"b":1,"a":1}"#)))
        #expect(whole.isComplete)
    }

    @Test("A list that may be there unseen is not created (case 1)")
    func unseenList() throws {
        let view = View.of(
            .unknown,
            try effects(
                #"{"type":"merge","value":{"a":1}}"#,
                #"{"type":"list_add","value":{"/t":["x"]}}"#
            )
        )
        #expect(view.content == .json(try json(#"{"a":1}"#)))
        #expect(view.leftOut.map(\.reason.cause) == [.missing])
    }

    @Test("A deleted target stays deleted until a put (case 20)")
    func deleted() throws {
        let base = TargetContent.json(try json("{}"))
        let delete = #"{"type":"delete"}"#
        let merge = #"{"type":"merge","value":{"a":1}}"#
        let gone = View.of(base, try effects(delete, merge))
        #expect(gone.content == .deleted)
        #expect(gone.isChanged && gone.leftOut.map(\.reason.cause) == [.deletedTarget])
        let put = #"{"type":"put","value":{"b":1}}"#
        #expect(
            View.of(base, try effects(delete, put, merge)).content
                == .json(try json(#"{"b":1,"a":1}"#))
        )
        #expect(!View.of(.deleted, try effects(delete)).isChanged)
        #expect(View.of(.unknown, try effects(merge, delete)).content == .deleted)
    }

    @Test("A body that is no JSON shows as the last modifier's that brought one")
    func body() throws {
        let replace = #"{"type":"replace"}"#
        let merge = #"{"type":"merge","value":{"a":1}}"#
        let view = View.of(.unknown, try effects(replace, merge, replace, merge))
        #expect(view.content == .body(of: 2))
        #expect(view.isComplete && view.isChanged)
        #expect(view.leftOut.map(\.place) == [1, 3])
        let put = #"{"type":"put","value":1}"#
        #expect(View.of(.opaque, try effects(replace, put)).content == .json(try json("1")))
    }

    @Test("The result of one modifier on an unknown base is marked as incomplete")
    func outcome() throws {
        let merge = Effect.merge(try json(#"{"a":1}"#))
        #expect(
            merge.applied(to: .unknown) == .json(try json(#"{"a":1}"#), isComplete: false)
        )
    }
}
