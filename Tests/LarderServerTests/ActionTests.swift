import LarderAPI
import LarderEngine
import LarderModel
import LarderTestSupport
import Testing

@Suite("Actions on modifiers, and lanes", .timeLimit(.minutes(5)))
struct ActionTests {
    private static let json = ["Content-Type: application/json"]

    private func accept(_ ids: [String], _ server: ServerFixture) async throws {
        for id in ids {
            let url = "\(ServerFixture.baseURL)/\(id)"
            let body = #"{"id":"\#(id)","request":{"method":"POST","url":"\#(url)"},"hold":"1h"}"#
            let client = try await server.connect()
            let answer = try await client.ask(
                "POST",
                "/v1/modifiers",
                Self.json,
                body: Array(body.utf8)
            )
            #expect(answer.status == 202, "\(answer.text)")
        }
    }

    private func act(_ body: String, _ server: ServerFixture) async throws -> RawResponse {
        let client = try await server.connect()
        return try await client.ask(
            "POST",
            "/v1/modifiers/actions",
            Self.json,
            body: Array(body.utf8)
        )
    }

    @Test("Each modifier of an action has its own result")
    func byIDs() async throws {
        try await ServerFixture.run { server in
            try await accept(["a", "b"], server)
            let answer = try await act(#"{"action":"cancel","ids":["a","none"]}"#, server)
            #expect(answer.status == 200)
            let items = try Page<ModifierActionResult>(decoding: answer.body).items
            #expect(items.map(\.id) == ["a", "none"])
            #expect(items.map(\.state) == [.cancelled, nil])
            #expect(items.map { $0.problem?.kind } == [nil, .noSuchModifier])
            let client = try await server.connect()
            let rest = try await client.ask("GET", "/v1/modifiers")
            #expect(try Page<ModifierReport>(decoding: rest.body).items.map(\.id) == ["b"])
        }
    }

    @Test("An action takes all in a state, of one origin if it is named")
    func byState() async throws {
        try await ServerFixture.run { server in
            try await accept(["a", "b", "c"], server)
            let other = #"{"action":"cancel","state":"held","origin":"other"}"#
            #expect(try await act(other, server).problem().kind == .noSuchOrigin)
            let none = try await act(#"{"action":"drop","state":"failed"}"#, server)
            #expect(try Page<ModifierActionResult>(decoding: none.body).items.isEmpty)
            let answer = try await act(
                #"{"action":"cancel","state":"held","origin":"example"}"#,
                server
            )
            let page = try Page<ModifierActionResult>(decoding: answer.body)
            #expect(page.items.map(\.id) == ["a", "b", "c"])
            #expect(page.items.allSatisfy { $0.state == .cancelled })
        }
    }

    @Test("drop is for a failed modifier, and discard for one that is not settled")
    func dropAndDiscard() async throws {
        try await ServerFixture.run { server in
            try await accept(["a"], server)
            let steps: [(ModifierAction, LarderAPI.ModifierState?, ProblemKind?)] = [
                (.drop, nil, .inUse), (.discard, .cancelled, nil), (.discard, nil, .alreadySettled),
                (.cancel, nil, .alreadySettled), (.drop, nil, .alreadySettled),
            ]
            for (action, state, kind) in steps {
                let body = #"{"action":"\#(action.rawValue)","ids":["a"]}"#
                let answer = try await act(body, server)
                let items = try Page<ModifierActionResult>(decoding: answer.body).items
                #expect(items.map(\.state) == [state], "\(action)")
                #expect(items.map { $0.problem?.kind } == [kind], "\(action)")
                if let kind { #expect(kind.status == 409) }
                guard kind == .inUse else { continue }
                #expect(items[0].problem?.detail.contains("'a' is held") == true)
                #expect(items[0].problem?.hint.contains("cancel") == true)
            }
            let client = try await server.connect()
            let rest = try await client.ask("GET", "/v1/modifiers")
            #expect(try Page<ModifierReport>(decoding: rest.body).items.isEmpty)
        }
    }

    @Test(
        "An action that selects no modifiers, or selects them twice, is refused",
        arguments: [
            #"{"action":"retry"}"#, #"{"action":"retry","ids":[]}"#, #"{"ids":["a"]}"#,
            #"{"action":"undo","ids":["a"]}"#, #"{"action":"retry","ids":["a"],"state":"held"}"#,
            #"{"action":"retry","state":"settled"}"#, #"{"action":"retry","ids":["\u0000"]}"#,
        ]
    )
    func refused(body: String) async throws {
        try await ServerFixture.run { server in
            let answer = try await act(body, server)
            #expect(answer.status == 400, "\(answer.text)")
        }
    }

    @Test("A paused lane is listed until it is resumed")
    func lanes() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let path = "/v1/lanes/name%3Acart"
            for (body, count) in [(#"{"paused":true}"#, 1), (#"{"paused":false}"#, 0)] {
                let answer = try await client.ask("PUT", path, Self.json, body: Array(body.utf8))
                #expect(answer.status == 204)
                let listed = try await client.ask("GET", "/v1/lanes")
                let items = try Page<LaneItem>(decoding: listed.body).items
                #expect(items.map(\.lane) == Array(repeating: "name:cart", count: count))
                #expect(items.allSatisfy { $0.paused })
            }
            let bad = try await client.ask("PUT", path, Self.json, body: Array("{}".utf8))
            #expect(bad.status == 400)
        }
    }

    @Test("A user pauses no more lanes than the limit")
    func tooManyLanes() async throws {
        try await ServerFixture.run { server in
            let modifiers = server.engine.modifiers
            for number in 0..<Limits.pausedLanesMax {
                let lane = Lane.name(try LaneName("l\(number)"))
                try await modifiers.setLane(lane, server.scope, isPaused: true)
            }
            let client = try await server.connect()
            let body = Array(#"{"paused":true}"#.utf8)
            let answer = try await client.ask("PUT", "/v1/lanes/name%3Aone", Self.json, body: body)
            #expect(try answer.problem().kind == .overloaded)
            #expect(answer.headers["Retry-After"] == "1")
        }
    }
}
