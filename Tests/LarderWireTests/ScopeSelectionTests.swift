import LarderModel
import LarderWire
import Testing

@Suite("The scope of a command")
struct ScopeSelectionTests {
    @Test("Each scope is read as it is written")
    func roundTrip() throws {
        let work = try AccountName("work")
        let cases: [(ScopeSelection, scope: String?, AccountName?)] = [
            (.own(.default), nil, nil), (.own(work), nil, work), (.shared, "shared", nil),
            (.user(0, nil), "user:0", nil), (.user(.max, work), "user:4294967295", work),
            (.user(7, .default), "user:7", .default), (.all, "all", nil),
        ]
        for (selection, scope, account) in cases {
            #expect(try ScopeSelection(scope: scope, account: account) == selection)
            #expect(selection.text == scope ?? "own")
            #expect(selection.account == account)
        }
        #expect(try ScopeSelection(scope: "own", account: nil) == .own(.default))
    }

    @Test(
        "Text that is not a scope is refused by name",
        arguments: [
            "", "user", "uid:1", "user:", "user:-1", "user:+1", "user:01", "user:4294967296",
            "user:1:x",
            "user:1e3", "everybody", "ALL", "user:\u{667}",
        ]
    )
    func refusals(scope: String) {
        let problem = #expect(throws: Problem.self) {
            try ScopeSelection(scope: scope, account: nil)
        }
        #expect(problem?.kind == .badRequest)
        #expect(problem?.detail.contains("scope") == true)
    }

    @Test("An account does not go with what has none", arguments: ["shared", "all"])
    func account(scope: String) {
        #expect(throws: Problem.self) { try ScopeSelection(scope: scope, account: .default) }
    }
}
