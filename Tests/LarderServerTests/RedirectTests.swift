import Glibc
import LarderEngine
import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderWire
import Testing

import struct LarderAPI.CredentialCommand

/// Redirects over several hops, between two real hosts of which one is the origin.
@Suite("Redirects to another host", .timeLimit(.minutes(5)))
struct RedirectTests {
    /// The origin sends on to the other host, that to a place beside, and that back.
    private func withChain(
        _ statuses: [Int],
        _ body: (GatewayFixture, OriginServer) async throws -> Void
    ) async throws {
        let other = try await OriginServer.start()
        var setup = GatewayFixture.Setup()
        setup.adjust = { origin in
            origin.redirectHosts = [try HostPort("127.0.0.1:\(other.port)")]
            origin.headers = HeaderFields([.init(name: "X-Api", value: "own")])
        }
        let result: Result<Void, any Error>
        do {
            try await GatewayFixture.run(setup) { gateway in
                let (there, back) = (try other.url("/deep/one"), try gateway.url("/end"))
                gateway.answer("/doc", with: .redirect(to: there.text, status: statuses[0]))
                other.answer("/deep/one", with: .redirect(to: "two", status: statuses[1]))
                other.answer("/deep/two", with: .redirect(to: back.text, status: statuses[2]))
                gateway.answer("/end", with: .json(#"{"n":1}"#))
                try await body(gateway, other)
            }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await other.stop()
        try result.get()
    }

    @Test("A failure of a host that the origin redirects to is none of the origin")
    func elsewhere() async throws {
        let other = try await OriginServer.start()
        other.answer("/busy", with: .text("", status: 503, headers: ["Retry-After": "300"]))
        var setup = GatewayFixture.Setup()
        setup.adjust = { origin in
            origin.redirectHosts = try [other.port, 1].map { try HostPort("127.0.0.1:\($0)") }
        }
        let result: Result<Void, any Error>
        do {
            try await GatewayFixture.run(setup) { gateway in
                for place in [try other.url("/busy").text, "http://127.0.0.1:1/"] {
                    gateway.answer("/doc", with: .redirect(to: place, status: 302))
                    #expect(try await gateway.raw("/doc").status >= 500)
                    let origins = try await gateway.connect().ask("GET", "/v1/origins").text
                    #expect(origins.contains(#""state":"online""#), "\(origins)")
                    #expect(origins.contains(#""retry_after_until":null"#), "\(origins)")
                }
            }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await other.stop()
        try result.get()
    }

    @Test(
        "A write stays the same write over all hops, and loses credentials only",
        arguments: [[307, 308, 307], [308, 307, 308]]
    )
    func write(statuses: [Int]) async throws {
        try await withChain(statuses) { gateway, other in
            let url = try gateway.url("/doc")
            let change = ModifierCommand.Change(
                target: try EntryID(url),
                effect: .merge(.object([]))
            )
            var request = try #require(ModifierCommand.derivedRequest(for: [change]))
            for (name, value) in [("If-Match", "\"a1\""), ("X-Own", "1")] {
                request.headers.append(name, value)
            }
            var command = ModifierCommand(changes: [change], request: request)
            command.id = try ModifierID("w-1")
            let scope = gateway.store.key(for: .own(uid: getuid(), account: .default))
            let credential = CredentialCommand(value: "Bearer s")
            let name = try OriginName(GatewayFixture.name)
            _ = try await gateway.engine.credentials.set(credential, at: name, scope)
            _ = try await gateway.engine.modifiers.accept(ModifiersCommand(command), scope)
            let id = try ModifierID("w-1")
            let report = try await gateway.engine.modifiers.modifier(id, scope, wait: .seconds(60))
            #expect(report.state == .confirmed)
            // What is asked for behind it takes the same way, as soon as it is confirmed.
            let elsewhere = other.requests.all.filter { $0.method != "GET" }
            #expect(elsewhere.map(\.path) == ["/deep/one", "/deep/two"])
            let last = try #require(gateway.origin.requests.all.first { $0.path == "/base/end" })
            for sent in elsewhere + [last] {
                #expect(sent.method == "PATCH")
                #expect(sent.body == Array("{}".utf8))
                #expect(sent.headers["Content-Type"] == "application/merge-patch+json")
                #expect(sent.headers["Idempotency-Key"] == "w-1")
                #expect(sent.headers["If-Match"] == "\"a1\"")
                #expect(sent.headers["X-Own"] == "1")
            }
            for sent in elsewhere {
                for name in ["X-Api", "Authorization"] {
                    #expect(sent.headers[name] == nil, "\(name) at \(sent.path)")
                }
            }
            #expect(last.headers["X-Api"] == "own")
            let first = try #require(gateway.origin.requests.all.first { $0.path == "/base/doc" })
            #expect(first.headers["Authorization"] == "Bearer s")
        }
    }

    @Test(
        "A read is led the same way, and takes along what holds no credential",
        arguments: [[302, 307, 308], [301, 308, 302]]
    )
    func read(statuses: [Int]) async throws {
        try await withChain(statuses) { gateway, other in
            let headers = ["Authorization: Bearer s", "Accept-Language: fr", "X-Own: 1"]
            let answer = try await gateway.raw("/doc", headers)
            #expect(answer.status == 200)
            #expect(answer.text == #"{"n":1}"#)
            let end = try gateway.url("/end").text
            #expect(answer.headers["Larder-Source"] == end)
            let elsewhere = other.requests.all
            #expect(elsewhere.map(\.path) == ["/deep/one", "/deep/two"])
            for sent in elsewhere {
                #expect(sent.headers["Accept-Language"] == "fr")
                for name in ["X-Api", "Authorization", "X-Own"] {
                    #expect(sent.headers[name] == nil, "\(name) at \(sent.path)")
                }
            }
        }
    }
}
