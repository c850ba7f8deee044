import LarderModel
import LarderTestSupport
import LarderUpstream
import Testing

/// An origin that speaks TLS, with a root that no system knows.
@Suite("TLS to an origin", .timeLimit(.minutes(5)))
struct TLSTests {
    private let authority: TestAuthority

    init() throws {
        authority = try TestAuthority()
    }

    private func file(_ path: String) throws -> PEMFile {
        PEMFile(path: path, bytes: try bytes(ofFile: path))
    }

    /// The origin's settings with the test's root.
    private func trusting(_ fixture: UpstreamFixture) throws -> UpstreamFixture {
        let root = try file(authority.root)
        return fixture.with { $0.tls[.caFile] = root }
    }

    private func identified(
        _ fixture: UpstreamFixture,
        as identity: TestAuthority.Identity
    ) throws -> UpstreamFixture {
        let (certificate, key) = (try file(identity.certificate), try file(identity.key))
        return fixture.with {
            $0.tls[.clientCertificate] = certificate
            $0.tls[.clientKey] = key
        }
    }

    private func expectUntrusted(_ failure: UpstreamError?, _ reason: String) {
        #expect(failure == .unreachable(host: "localhost", reason: "TLS failed: \(reason)"))
    }

    private static let notTrusted = "its certificate is not trusted, or its time is over"

    @Test("A configured root is trusted in place of the system's roots")
    func ownRoot() async throws {
        let tls = OriginTLS(try authority.issue("origin", for: ["localhost", "127.0.0.1"]))
        try await withOrigin(tls: tls) { fixture in
            fixture.server.answer("/", with: .text("over TLS"))
            expectUntrusted(await fixture.failure(of: try fixture.request()), Self.notTrusted)
            #expect(fixture.server.requests.all.isEmpty)
            let trusting = try trusting(fixture)
            #expect(try await trusting.ask().text() == "over TLS")
            var byAddress = try trusting.request()
            byAddress.url = try fixture.server.url(host: "127.0.0.1")
            #expect(try await fixture.upstream.ask(byAddress).text() == "over TLS")
            // The connection that is there is not used for an origin that does not trust it.
            expectUntrusted(await fixture.failure(of: try fixture.request()), Self.notTrusted)
        }
    }

    @Test("New roots in the same file count from the next request on")
    func replacedRoots() async throws {
        let tls = OriginTLS(try authority.issue("origin", for: ["localhost"]))
        let other = try TestAuthority()
        let roots = PEMFile(path: authority.root, bytes: try bytes(ofFile: other.root))
        try await withOrigin(tls: tls) { fixture in
            fixture.server.answer("/", with: .text("over TLS"))
            let before = fixture.with { $0.tls[.caFile] = roots }
            expectUntrusted(await fixture.failure(of: try before.request()), Self.notTrusted)
            #expect(try await trusting(fixture).ask().text() == "over TLS")
            expectUntrusted(await fixture.failure(of: try before.request()), Self.notTrusted)
        }
        withExtendedLifetime(other) {}
    }

    @Test("A certificate for another name is refused", arguments: ["localhost", "127.0.0.1"])
    func otherName(host: String) async throws {
        let tls = OriginTLS(try authority.issue("other", for: ["other.example", "127.0.0.2"]))
        try await withOrigin(tls: tls) { fixture in
            var request = try trusting(fixture).request()
            request.url = try fixture.server.url(host: host)
            let reason = "TLS failed: its certificate is another host's"
            #expect(await fixture.failure(of: request) == .unreachable(host: host, reason: reason))
            #expect(fixture.server.requests.all.isEmpty)
        }
    }

    @Test("A certificate whose time is over is refused")
    func expired() async throws {
        let tls = OriginTLS(try authority.issue("old", for: ["localhost"], until: .yesterday))
        try await withOrigin(tls: tls) { fixture in
            let failure = await fixture.failure(of: try trusting(fixture).request())
            expectUntrusted(failure, Self.notTrusted)
        }
    }

    @Test("A certificate of another root is refused")
    func otherRoot() async throws {
        let other = try TestAuthority()
        let tls = OriginTLS(try other.issue("origin", for: ["localhost"]))
        try await withOrigin(tls: tls) { fixture in
            let failure = await fixture.failure(of: try trusting(fixture).request())
            expectUntrusted(failure, Self.notTrusted)
        }
        withExtendedLifetime(other) {}
    }

    @Test("A client's certificate is shown where the origin asks for it")
    func clientCertificate() async throws {
        let tls = OriginTLS(
            try authority.issue("origin", for: ["localhost"]),
            clientRoot: authority.root
        )
        let client = try authority.issue("client", for: ["client.example"])
        let other = try TestAuthority()
        let stranger = try other.issue("stranger", for: ["client.example"])
        try await withOrigin(tls: tls) { fixture in
            fixture.server.answer("/", with: .text("known"))
            let trusting = try trusting(fixture)
            #expect(try await identified(trusting, as: client).ask().text() == "known")
            // In TLS 1.3 the server says so only when the request is on its way.
            for fixture in [trusting, try identified(trusting, as: stranger)] {
                let failure = await fixture.failure(of: try fixture.request())
                #expect(failure?.isRefusalOfTLS == true, "\(String(describing: failure))")
            }
            #expect(fixture.server.requests.all.count == 1)
        }
        withExtendedLifetime(other) {}
    }

    @Test("A client's certificate is not shown to another host")
    func clientCertificateElsewhere() async throws {
        let tls = OriginTLS(
            try authority.issue("origin", for: ["localhost", "127.0.0.1"]),
            clientRoot: authority.root
        )
        let client = try authority.issue("client", for: ["client.example"])
        try await withOrigin(tls: tls) { fixture in
            fixture.server.answer("/", with: .text("known"))
            let known = try identified(trusting(fixture), as: client)
            var request = try known.request()
            request.url = try fixture.server.url(host: "127.0.0.1")
            let failure = await known.failure(of: request)
            #expect(failure?.isRefusalOfTLS == true, "\(String(describing: failure))")
            #expect(await known.failure(of: try known.request()) == nil)
        }
    }

    @Test("A check tells the connection's peer, protocol and version of TLS")
    func check() async throws {
        let tls = OriginTLS(try authority.issue("origin", for: ["localhost"]))
        try await withOrigin(tls: tls) { fixture in
            fixture.server.answer("/", with: .text("there", status: 503))
            let trusting = try trusting(fixture)
            let check = await fixture.upstream.check(try trusting.request())
            let connection = UpstreamConnection(
                peer: "127.0.0.1:\(fixture.server.port)",
                httpVersion: "HTTP/1.1",
                tlsVersion: "TLS 1.3"
            )
            #expect(check.connection == connection)
            guard case .answered(503, let headers) = check.outcome else {
                Issue.record("\(check.outcome)")
                return
            }
            #expect(headers["Content-Type"] == "text/plain")
            // Its connection is its own.
            _ = try await fixture.server.closed.element(0)
            let failed = await fixture.upstream.check(try fixture.request())
            #expect(failed.connection == nil)
            guard case .failed(let failure) = failed.outcome else {
                Issue.record("\(failed.outcome)")
                return
            }
            expectUntrusted(failure, Self.notTrusted)
        }
    }

    @Test("A fault of a file is named")
    func faults() throws {
        let identity = try authority.issue("client", for: ["client.example"])
        let other = try authority.issue("other", for: ["client.example"])
        let (root, certificate) = (try file(authority.root), try file(identity.certificate))
        let key = try file(identity.key)
        let noise = PEMFile(path: "/noise", bytes: Array("noise".utf8))
        let empty = PEMFile(path: "/empty", bytes: [])
        var tls = TLSSettings()
        #expect(TLSMaterial.fault(in: tls) == nil)
        tls[.caFile] = root
        tls[.clientCertificate] = certificate
        tls[.clientKey] = key
        #expect(TLSMaterial.fault(in: tls) == nil)
        func fault(_ change: (inout TLSSettings) -> Void) -> TLSFault? {
            var copy = tls
            change(&copy)
            return TLSMaterial.fault(in: copy)
        }
        let noCertificate = "holds no certificates in PEM"
        let noKey = "holds no private key in PEM without a passphrase"
        for bad in [noise, empty, key] {
            #expect(fault { $0[.caFile] = bad } == TLSFault(.caFile, noCertificate))
            #expect(
                fault { $0[.clientCertificate] = bad }
                    == TLSFault(.clientCertificate, noCertificate)
            )
        }
        for bad in [noise, empty, root] {
            #expect(fault { $0[.clientKey] = bad } == TLSFault(.clientKey, noKey))
        }
        let protected = try file(try authority.protectKey(identity.key))
        #expect(fault { $0[.clientKey] = protected } == TLSFault(.clientKey, noKey))
        let otherKey = try file(other.key)
        #expect(
            fault { $0[.clientKey] = otherKey }
                == TLSFault(.clientKey, "does not hold the key of client_cert")
        )
    }
}

extension UpstreamError {
    /// Whether the connection was ended by the other side's TLS.
    fileprivate var isRefusalOfTLS: Bool {
        switch self {
        case .unreachable(_, let reason), .brokenOff(let reason):
            reason.hasPrefix("TLS failed: it ")
        case .closed, .addressRefused, .timedOut, .undecodable, .expandsTooMuch, .headTooLarge,
            .shortage, .cancelled:
            false
        }
    }
}
