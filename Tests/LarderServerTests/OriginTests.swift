import Glibc
import LarderAPI
import LarderEngine
import LarderJSON
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@testable import LarderServer

@Suite("Origins over the socket", .timeLimit(.minutes(5)))
struct OriginTests {
    private func ask(
        _ server: ServerFixture,
        _ method: String,
        _ path: String,
        _ body: String? = nil
    ) async throws -> RawResponse {
        let client = try await server.connect()
        return try await client.ask(method, path, body: body.map { Array($0.utf8) } ?? [])
    }

    private func refusal(
        _ server: ServerFixture,
        _ method: String,
        _ path: String,
        _ body: String? = nil
    ) async throws -> String {
        let problem = try await ask(server, method, path, body).problem()
        return "\(problem.status) \(problem.kind.rawValue)"
    }

    private static let body =
        #"{"base_url":"https://new.example","headers":{"K":"v"}}"#

    @Test("An origin can be added, listed with its secrets redacted, replaced and removed")
    func life() async throws {
        try await ServerFixture.run { server in
            var response = try await ask(server, "PUT", "/v1/origins/new", Self.body)
            #expect(response.status == 201)
            #expect(response.headers["Location"] == "/v1/origins/new")
            #expect(!response.text.contains(#""v""#))
            let added = try OriginReport(decoding: response.body)
            response = try await ask(server, "GET", "/v1/origins")
            let listed = try Page<OriginReport>(decoding: response.body).items
            #expect(listed.map(\.name) == ["example", "new"])
            #expect(listed[1] == added)
            response = try await ask(server, "GET", "/v1/origins/new")
            #expect(try OriginReport(decoding: response.body) == added)
            #expect(listed.map(\.source) == [.file, .api])
            #expect(listed.map(\.file) == ["larder.yaml", nil])
            #expect(added.settings.headers?["K"] == "***")
            response = try await ask(
                server,
                "PUT",
                "/v1/origins/new",
                #"{"base_url":"https://newer.example"}"#
            )
            #expect(response.status == 200)
            let replaced = try OriginReport(decoding: response.body)
            #expect(replaced.baseURL == "https://newer.example/")
            response = try await ask(
                server,
                "PUT",
                "/v1/origins/other",
                #"{"base_url":"https://other.example"}"#
            )
            #expect(response.status == 201)
            for name in ["new", "other"] {
                #expect(try await ask(server, "DELETE", "/v1/origins/\(name)").status == 204)
            }
            #expect(server.engine.origins.reports().count == 1)
        }
    }

    @Test("A request about origins that cannot be done is a problem with the reason")
    func refused() async throws {
        try await ServerFixture.run { server in
            _ = try await ask(server, "PUT", "/v1/origins/new", Self.body)
            let cases: [(String, String, String?, String)] = [
                ("PUT", "/v1/origins/other", Self.body, "409 origin-exists"),
                ("PUT", "/v1/origins/other", nil, "400 bad-request"),
                ("PUT", "/v1/origins/other", "[]", "400 bad-request"),
                ("POST", "/v1/origins", Self.body, "405 method-not-allowed"),
                ("PUT", "/v1/origins/new", #"{"name":"new"}"#, "400 unknown-member"),
                ("PUT", "/v1/origins/new", "{}", "400 bad-request"),
                ("PUT", "/v1/origins/a%20b", "{}", "400 bad-request"),
                ("PUT", "/v1/origins/%FF", "{}", "400 bad-request"),
                ("PUT", "/v1/origins/example", #"{"base_url":"http://a"}"#, "409 origin-in-file"),
                ("DELETE", "/v1/origins/example", nil, "409 origin-in-file"),
                ("DELETE", "/v1/origins/none", nil, "404 no-such-origin"),
                ("PATCH", "/v1/origins/none", #"{"offline":true}"#, "404 no-such-origin"),
                ("PATCH", "/v1/origins/new", "{}", "400 bad-request"),
                ("PATCH", "/v1/origins/new", #"{"offline":1}"#, "400 bad-request"),
                ("PATCH", "/v1/origins/new", #"{"path":"/"}"#, "400 unknown-member"),
                ("POST", "/v1/origins/none/check", nil, "404 no-such-origin"),
                ("POST", "/v1/origins/new/check", #"{"path":1}"#, "400 bad-request"),
                ("POST", "/v1/origins/new/check", #"{"url":"/"}"#, "400 unknown-member"),
                ("GET", "/v1/origins?x=1", nil, "400 unknown-parameter"),
                ("GET", "/v1/origins/none", nil, "404 no-such-origin"),
                ("POST", "/v1/origins/new", "{}", "405 method-not-allowed"),
            ]
            for (method, path, body, expected) in cases {
                let found = try await refusal(server, method, path, body)
                #expect(found == expected, "\(method) \(path) \(body ?? "")")
            }
            try await server.expectServing()
        }
    }

    @Test("An origin can be set offline, which makes a fetch a 503 immediately, and online again")
    func offline() async throws {
        try await ServerFixture.run { server in
            var response = try await ask(
                server,
                "PATCH",
                "/v1/origins/example",
                #"{"offline":true}"#
            )
            #expect(try OriginReport(decoding: response.body).condition.offline)
            let fetch = "/v1/fetch?url=https%3A%2F%2Fapi.example.com%2Fx"
            #expect(try await refusal(server, "GET", fetch) == "503 offline")
            let check = try await refusal(server, "POST", "/v1/origins/example/check")
            #expect(check == "503 offline")
            #expect(server.upstream.asked.all.isEmpty)
            response = try await ask(
                server,
                "PATCH",
                "/v1/origins/example",
                #"{"offline":false}"#
            )
            #expect(try !OriginReport(decoding: response.body).condition.offline)
            server.upstream.answer(try ServerFixture.url("/x"), with: .json("[1]"))
            #expect(try await ask(server, "GET", fetch).status == 200)
        }
    }

    @Test("A user sets a credential without an administrator's right, which no answer has")
    func credential() async throws {
        try await ServerFixture.run { server in
            let path = "/v1/origins/example/credential"
            let value = "Bearer 7f3a9c"
            let set = #"{"account":"work","header":"X-Key","value":"\#(value)"}"#
            var response = try await ask(server, "PUT", path, set)
            #expect(response.status == 200)
            #expect(!response.text.contains("7f3a9c"))
            let report = try CredentialReport(decoding: response.body)
            #expect(report.account == "work" && report.header == "X-Key")
            #expect(report.source == .user && !report.refused && report.waiting == 0)
            response = try await ask(server, "GET", path + "?account=work")
            #expect(try CredentialReport(decoding: response.body) == report)
            response = try await ask(server, "GET", path)
            #expect(try CredentialReport(decoding: response.body).source == nil)
            for body in [
                #"{"value":"\#(value)"#, #"{"value":["\#(value)"]}"#, #"{"values":"\#(value)"}"#,
                #"{"value":"\#(value)","header":"Host"}"#, #"{"value":"\#(value) "}"#,
                #"{"value":"\#(value)","expires":"\#(value)"}"#,
            ] {
                response = try await ask(server, "PUT", path, body)
                #expect(response.status == 400, "\(body)")
                guard !body.contains("expires") else { continue }
                #expect(!response.text.contains("7f3a9c"), "\(response.text)")
            }
            #expect(
                try await refusal(server, "GET", "/v1/origins/none/credential").hasPrefix("404")
            )
            response = try await ask(server, "DELETE", path + "?account=work")
            #expect(try CredentialReport(decoding: response.body).source == nil)
        }
    }

    @Test("The order to renew comes on a line, and its answer ends with the next credential")
    func renewal() async throws {
        try await ServerFixture.run { server in
            let path = "/v1/origins/example/credential"
            var response = try await ask(server, "POST", path + "/renewal?wait=0ms")
            #expect(response.status == 204)
            #expect(
                try await refusal(server, "POST", "/v1/origins/none/credential/renewal")
                    == "404 no-such-origin"
            )
            server.upstream.answer(try ServerFixture.url("/r"), with: .reply(status: 401))
            let client = try await server.connect()
            let renewal = "POST \(path)/renewal HTTP/1.1\r\nHost: larder\r\n\r\n"
            try await client.send(renewal)
            _ = try await ask(server, "GET", "/v1/get?url=https%3A%2F%2Fapi.example.com%2Fr")
            let seen = try await client.seen("}\n")
            #expect(seen.hasPrefix("HTTP/1.1 200"))
            #expect(seen.contains(#"{"reason":"refused","lease":""#))
            let lease = try #require(seen.firstMatch(of: /"lease":"(\w+)"/)).output.1
            response = try await ask(server, "PUT", path, #"{"value":"a","lease":"\#(lease)"}"#)
            #expect(response.status == 200)
            let order = try RenewalOrder(decoding: try await client.response().body)
            #expect(order.lease == lease)
            #expect(
                try await refusal(server, "PUT", path, #"{"value":"b","lease":"\#(lease)"}"#)
                    == "409 lease-over"
            )
        }
    }

    @Test("A check answers 200 also where the origin does not answer")
    func check() async throws {
        try await ServerFixture.run { server in
            server.upstream.answer(try ServerFixture.url("/"), with: .reply(status: 404))
            var response = try await ask(server, "POST", "/v1/origins/example/check")
            var report = try OriginCheckReport(decoding: response.body)
            #expect(report.status == 404)
            #expect(report.problem == nil)
            response = try await ask(server, "POST", "/v1/origins/example/check", "{}")
            report = try OriginCheckReport(decoding: response.body)
            #expect(response.status == 200)
            #expect(report.status == nil)
            #expect(report.problem?.type == "urn:larder:unreachable")
        }
    }

    @Test("An origin that is there is not replaced where the request says so")
    func onlyAdded() async throws {
        try await ServerFixture.run { server in
            let body = Array(Self.body.utf8)
            for (field, status) in [("*", 201), ("*", 412), (#""tag""#, 400)] {
                let client = try await server.connect()
                let headers = ["If-None-Match: \(field)"]
                let answer = try await client.ask("PUT", "/v1/origins/new", headers, body: body)
                #expect(answer.status == status, "\(field)")
            }
        }
    }

    @Test("Changes are written down as an administrator's")
    func logged() async throws {
        try await ServerFixture.run { server in
            _ = try await ask(server, "PUT", "/v1/origins/new", Self.body)
            let uses = server.log.lines.all.filter { $0.contains("use=origin put new") }
            #expect(uses.count == 1)
        }
    }

    @Test("The hint says how to add an origin to an administrator, and who does it to others")
    func hints() async throws {
        let nobody = Administrators.Group(name: "keepers", number: nil)
        let own = Administrators.Group(name: "own", number: getgid())
        for (group, words) in [(own, "Add it with: "), (nobody, "An administrator adds it with: ")]
        {
            try await ServerFixture.run(administrators: .members(of: group)) { server in
                let path = "/v1/fetch?url=https://other.example/x"
                let problem = try await server.connect().ask("GET", path).problem()
                #expect(problem.hint.hasPrefix(words + "cachectl origin add "))
            }
        }
    }

    @Test("The hint in a frame depends on the rights of its reader", arguments: [false, true])
    func hintsInFrames(follows: Bool) async throws {
        let nobody = Administrators.Group(name: "keepers", number: nil)
        let own = Administrators.Group(name: "own", number: getgid())
        for (group, words) in [
            (own, "Set it online "), (nobody, "An administrator sets it online "),
        ] {
            try await ServerFixture.run(administrators: .members(of: group)) { server in
                let url = try ServerFixture.url("/42")
                server.upstream.answer(url, with: .json("1"))
                let client = try await server.connect()
                let path = "/v1/fetch?url=\(url)"
                _ = try await client.ask("GET", path)
                _ = try await server.engine.origins.setOffline(
                    OriginName("example"),
                    true,
                    for: getuid()
                )
                let follow = follows ? "&follow=true" : ""
                try await client.send("GET \(path)\(follow) HTTP/1.1\r\nHost: x\r\n\r\n")
                try await client.seen(#""type":"problem""#)
                server.server.drain()
                let hints = try await client.response().frames().compactMap { frame -> String? in
                    if case .problem(let frame) = frame { frame.problem.hint } else { nil }
                }
                #expect(hints == [words + "with: cachectl origin online example"])
            }
        }
    }

    @Test("A client that is not an administrator can list origins, and do nothing else")
    func notPermitted() async throws {
        let nobody = Administrators.Group(name: "keepers", number: nil)
        try await ServerFixture.run(administrators: .members(of: nobody)) { server in
            #expect(try await ask(server, "GET", "/v1/origins").status == 200)
            for (method, path) in [
                ("PUT", "/v1/origins/new"), ("PATCH", "/v1/origins/example"),
                ("DELETE", "/v1/origins/example"), ("POST", "/v1/origins/example/check"),
            ] {
                let found = try await refusal(server, method, path, Self.body)
                #expect(found == "403 not-permitted", "\(method) \(path)")
            }
            #expect(server.engine.origins.reports().count == 1)
        }
    }
}
