import LarderModel
import LarderTestSupport
import LarderUpstream
import Testing

@Suite("Requests through a proxy", .timeLimit(.minutes(5)))
struct ProxyTests {
    /// Runs `test` with the origin's requests going through a proxy.
    private func withProxy(
        user: String = "",
        tls: OriginTLS? = nil,
        _ test: (UpstreamFixture, ProxyServer) async throws -> Void
    ) async throws {
        let proxy = try await ProxyServer.start()
        let settings = try ProxySettings("http://\(user)127.0.0.1:\(proxy.port)")
        let result: Result<Void, any Error>
        do {
            try await withOrigin(tls: tls) { fixture in
                try await test(fixture.with { $0.proxy = settings }, proxy)
            }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await proxy.stop()
        try result.get()
    }

    @Test("Plain http goes through CONNECT, and the proxy looks the name up")
    func plain() async throws {
        try await withProxy { fixture, proxy in
            fixture.server.answer("/x", with: .text("through"))
            var request = try fixture.request("/x")
            request.url = try WebURL("http://only.the.proxy.invalid:\(fixture.server.port)/x")
            #expect(try await fixture.upstream.ask(request).text() == "through")
            let head = try await proxy.requests.element(0)
            let target = "only.the.proxy.invalid:\(fixture.server.port)"
            #expect(head.hasPrefix("CONNECT \(target) HTTP/1.1\r\n"))
            #expect(!head.lowercased().contains("proxy-authorization"))
            #expect(fixture.server.requests.all.map(\.path) == ["/x"])
        }
    }

    @Test("A proxy's user and password go to the proxy, and nowhere else")
    func credentials() async throws {
        try await withProxy(user: "us%3Aer:p%40ss@") { fixture, proxy in
            fixture.server.answer("/", with: .text("through"))
            #expect(try await fixture.ask().text() == "through")
            let head = try await proxy.requests.element(0)
            // us:er:p@ss
            #expect(head.lowercased().contains("proxy-authorization: basic "))
            #expect(head.contains("dXM6ZXI6cEBzcw=="))
            let sent = try await fixture.server.requests.element(0)
            #expect(sent.headers["Proxy-Authorization"] == nil)
        }
    }

    @Test("TLS goes through to the origin, whose certificate counts")
    func overTLS() async throws {
        let authority = try TestAuthority()
        let root = PEMFile(path: authority.root, bytes: try bytes(ofFile: authority.root))
        let tls = OriginTLS(try authority.issue("origin", for: ["localhost"]))
        try await withProxy(tls: tls) { fixture, proxy in
            fixture.server.answer("/", with: .text("through"))
            let trusting = fixture.with { $0.tls[.caFile] = root }
            let text = try await trusting.ask().text()
            #expect(text == "through")
            let reason =
                way(proxy) + "TLS failed: its certificate is not trusted, or its time is over"
            #expect(
                await fixture.failure(of: try fixture.request())
                    == .unreachable(host: "localhost", reason: reason)
            )
            #expect(proxy.requests.all.count == 2)
        }
    }

    @Test("A proxy can have any address, but an address in the URL is still checked")
    func addresses() async throws {
        try await withProxy { fixture, proxy in
            fixture.server.answer("/", with: .text("through"))
            let fixture = fixture.with { $0.allowPrivate = false }
            var request = try fixture.request()
            request.url = try WebURL("http://public.example:\(fixture.server.port)/")
            #expect(try await fixture.upstream.ask(request).text() == "through")
            for host in ["127.0.0.1", "[::1]", "127.1", "169.254.169.254"] {
                request.url = try WebURL("http://\(host):\(fixture.server.port)/")
                #expect(
                    await fixture.failure(of: request)
                        == .addressRefused(host: host, address: host)
                )
            }
            #expect(proxy.requests.all.count == 1)
        }
    }

    @Test(
        "A proxy that refuses makes the origin unreachable",
        arguments: [
            ("403 Forbidden", "the proxy refused the connection"),
            ("407 Proxy Authentication Required", "the proxy wants a user and a password"),
        ]
    )
    func refused(status: String, reason: String) async throws {
        try await withProxy { fixture, proxy in
            proxy.refuse(with: status)
            let failure = await fixture.failure(of: try fixture.request())
            #expect(failure == .unreachable(host: "127.0.0.1", reason: way(proxy) + reason))
            #expect(fixture.server.requests.all.isEmpty)
        }
    }

    @Test("A proxy that cannot be reached is named in place of the origin, without its password")
    func unreachable() async throws {
        try await withProxy { fixture, proxy in
            let settings = try ProxySettings("http://user:s3cret@127.0.0.1:\(proxy.port)")
            let reason = way(proxy) + "Connection refused"
            await proxy.stop()
            let fixture = fixture.with { $0.proxy = settings }
            let failure = await fixture.failure(of: try fixture.request())
            #expect(failure == .unreachable(host: "127.0.0.1", reason: reason))
        }
    }

    /// The beginning of the reason of a request that did not get through.
    private func way(_ proxy: ProxyServer) -> String {
        "through the proxy 127.0.0.1:\(proxy.port): "
    }
}
