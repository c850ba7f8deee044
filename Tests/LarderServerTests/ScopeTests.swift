import Glibc
import LarderAPI
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@testable import LarderServer

/// Others' rows over the socket; Tests/scripts/scopes.sh does the same with real users.
@Suite("Rows of other users", .timeLimit(.minutes(5)))
struct ScopeTests {
    private let other = Scope.own(uid: 4_000_000_001, account: .default)

    private func items(_ response: RawResponse) throws -> [EntryItem] {
        #expect(response.status == 200)
        return try response.value(Page<EntryItem>.self).items
    }

    private func evict(_ json: String, _ client: RawClient) async throws -> EvictReport {
        let response = try await client.ask("POST", "/v1/evict", body: Array(json.utf8))
        #expect(response.status == 200)
        return try EvictReport(decoding: response.body)
    }

    @Test("A repeated DELETE never removes the row of all users, which only scope=shared names")
    func removeShared() async throws {
        let sharing: (inout OriginSettings) -> Void = { $0.isShared = true }
        try await ServerFixture.run(adjusting: sharing) { server in
            let client = try await server.connect()
            let url = try ServerFixture.url("/a").text
            let path = "/v1/entries/" + PercentCoding.encode(url)
            try await server.store(url, [1], scope: .shared)
            try await server.store(url, [2])
            #expect(try await client.ask("DELETE", path).status == 204)
            let repeated = try await client.ask("DELETE", path).problem()
            #expect(repeated.kind == .notPermitted)
            #expect(repeated.hint.contains("scope=shared"))
            #expect(try await client.ask("GET", path).body == [1])
            #expect(try await client.ask("DELETE", path + "?scope=all").status == 400)
            #expect(try await client.ask("DELETE", path + "?scope=shared").status == 204)
            #expect(try await client.ask("GET", path).status == 404)
        }
    }

    @Test("An administrator lists, explains and evicts them, and the log says so")
    func administrator() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let work = Scope.own(uid: 4_000_000_001, account: try AccountName("work"))
            for scope in [other, work, .shared] {
                try await server.store("a", [1], kind: .blob, scope: scope)
                try await server.store("b", [2], kind: .blob, scope: scope)
            }
            try await server.store("a", [1], kind: .blob)

            let all = try items(try await client.ask("GET", "/v1/entries?scope=all&prefix=a"))
            let owners = Set(
                all.map { "\($0.user.map(String.init) ?? "shared") \($0.account ?? "")" }
            )
            #expect(
                owners == [
                    "4000000001 default", "4000000001 work", "shared ",
                    "\(getuid()) default",
                ]
            )
            let user = try await client.ask("GET", "/v1/entries?scope=user:4000000001")
            #expect(try items(user).count == 4)
            let one = try await client.ask("GET", "/v1/entries?scope=user:4000000001&account=work")
            #expect(try items(one).map(\.account) == ["work", "work"])
            let shared = try await client.ask("GET", "/v1/entries?scope=shared")
            #expect(try items(shared).map(\.shared) == [nil, nil])

            let path = "/v1/entries/a/explain?scope=user:4000000001"
            #expect(try await client.ask("GET", path).status == 200)
            let several = try await client.ask("GET", "/v1/entries/a/explain?scope=all")
            #expect(try several.problem().kind == .badRequest)

            let ids = try await evict(#"{"ids":["b","x"],"scope":"all","dry_run":true}"#, client)
            #expect(ids.ids == ["b", "b", "b"])
            #expect(try await evict(#"{"ids":["b"],"scope":"all"}"#, client).evicted == 3)
            let theirs = #"{"all":true,"scope":"user:4000000001"}"#
            #expect(try await evict(theirs, client).evicted == 2)
            #expect(try await evict(#"{"to_bytes":0,"scope":"all"}"#, client).evicted == 2)
            #expect(
                server.log.lines.all.filter { $0.contains("administrator") }
                    == [
                        "list prefix=a scope=all", "list scope=user:4000000001",
                        "list scope=user:4000000001 account=work",
                        "explain a scope=user:4000000001 account=default", "explain a scope=all",
                        "evict ids=b,x dry_run=true scope=all", "evict ids=b scope=all",
                        "evict all=true scope=user:4000000001", "evict to_bytes=0 scope=all",
                    ].map { "an administrator's right was used uid=\(getuid()) use=\($0)" }
            )
        }
    }

    @Test("Clients without the right are refused, and learn nothing of the rows")
    func others() async throws {
        let none = Administrators.Group(name: "keepers", number: nil)
        try await ServerFixture.run(administrators: .members(of: none)) { server in
            let client = try await server.connect()
            try await server.store("a", [1], kind: .blob, scope: other)
            try await server.store("s", [1], kind: .blob, scope: .shared)
            for scope in ["all", "user:4000000001", "user:\(getuid())"] {
                for path in ["/v1/entries", "/v1/entries/a/explain", "/v1/entries/x/explain"] {
                    let response = try await client.ask("GET", "\(path)?scope=\(scope)")
                    let problem = try response.problem()
                    #expect(problem.kind == .notPermitted)
                    #expect(problem.hint.contains("keepers"))
                }
                let body = Array(#"{"all":true,"dry_run":true,"scope":"\#(scope)"}"#.utf8)
                let response = try await client.ask("POST", "/v1/evict", body: body)
                #expect(try response.problem().kind == .notPermitted)
            }
            let own = try await client.ask("GET", "/v1/entries?scope=own")
            #expect(try items(own).isEmpty)
            let shared = try await client.ask("GET", "/v1/entries?scope=shared")
            #expect(try items(shared).map(\.id) == ["s"])
            let dry = try await evict(#"{"all":true,"dry_run":true,"scope":"shared"}"#, client)
            #expect(dry.evicted == 1)
            let body = Array(#"{"all":true,"scope":"shared"}"#.utf8)
            let refusal = try await client.ask("POST", "/v1/evict", body: body).problem()
            #expect(refusal.kind == .notPermitted)
            #expect(refusal.detail.contains("seen by all users"))
            // The bytes themselves have no such parameter.
            let bytes = try await client.ask("GET", "/v1/entries/a?scope=all")
            #expect(try bytes.problem().kind == .unknownParameter)
            #expect(server.log.lines.all.isEmpty)
        }
    }

    @Test("Pages of all scopes go on where the page before ended")
    func pages() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            for number in 0..<3 {
                let scope = Scope.own(uid: UInt32(number), account: .default)
                for id in ["a", "b/c", "d"] {
                    try await server.store(id, [1], kind: .blob, scope: scope)
                }
            }
            for sort in ["id", "size", "age", "used"] {
                var found: [EntryItem] = []
                var cursor = ""
                while true {
                    let path = "/v1/entries?scope=all&limit=2&sort=\(sort)\(cursor)"
                    let page = try await client.ask("GET", path).value(Page<EntryItem>.self)
                    found += page.items
                    guard let next = page.next else { break }
                    cursor = "&cursor=" + PercentCoding.encode(next)
                }
                #expect(found.count == 9)
                #expect(
                    Set(found.map { "\($0.user ?? 0) \($0.account ?? "") \($0.id)" }).count == 9
                )
            }
            for cursor in ["x", "1", "1/0:default", "%2F%2F"] {
                let path = "/v1/entries?scope=all&cursor=\(cursor)"
                #expect(try await client.ask("GET", path).problem().kind == .badRequest)
            }
        }
    }
}
