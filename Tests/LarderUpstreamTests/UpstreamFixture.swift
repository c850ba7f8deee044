import LarderModel
import LarderTestSupport
import LarderUpstream
import NIOCore
import NIOPosix

/// A real origin and a real upstream, there for one test.
struct UpstreamFixture {
    let server: OriginServer
    let upstream: HTTPUpstream
    private(set) var origin: OriginSettings

    /// A request to the origin.
    ///
    /// The timeout is far above what any test but those of it takes.
    func request(
        _ path: String = "/",
        headers: [(String, String)] = [],
        timeout: Duration = .seconds(120)
    ) throws -> UpstreamRequest {
        let fields = headers.map { HeaderFields.Field(name: $0.0, value: $0.1) }
        return UpstreamRequest(
            origin: origin,
            url: try server.url(path),
            headers: HeaderFields(fields),
            timeout: timeout
        )
    }

    /// The same, but that the origin's settings differ.
    func with(
        _ change: (inout OriginSettings) throws -> Void
    ) rethrows -> UpstreamFixture {
        var fixture = self
        try change(&fixture.origin)
        return fixture
    }

    func ask(_ path: String = "/") async throws -> UpstreamReply {
        try await upstream.ask(request(path))
    }

    /// The error that asking ends with, before or in the body; nil where all went well.
    func failure(of request: UpstreamRequest) async -> UpstreamError? {
        do throws(UpstreamError) {
            _ = try await upstream.ask(request).bytes()
            return nil
        } catch {
            return error
        }
    }
}

/// Runs `test` against a server that it scripts, and takes both down after it.
func withOrigin(
    readTime: Duration = Limits.upstreamReadTime,
    reportingStallsAfter stallTime: Duration? = nil,
    tls: OriginTLS? = nil,
    lookUp: (@Sendable (String) -> EventLoopFuture<[SocketAddress]>)? = nil,
    _ test: (UpstreamFixture) async throws -> Void
) async throws {
    let server = try await OriginServer.start(reportingStallsAfter: stallTime, tls: tls)
    let upstream = HTTPUpstream(
        eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
        userAgent: "larderd/test",
        readTime: readTime,
        lookUp: lookUp
    )
    var origin = OriginSettings(name: try OriginName("scripted"), baseURL: try server.url())
    origin.allowPrivate = true
    // A busy machine may take longer than the default.
    origin.fetch.connectTimeout = .seconds(60)
    let result: Result<Void, any Error>
    do {
        try await test(UpstreamFixture(server: server, upstream: upstream, origin: origin))
        result = .success(())
    } catch {
        result = .failure(error)
    }
    await upstream.shutdown()
    await server.stop()
    try result.get()
}

extension UpstreamReply {
    /// The whole body.
    func bytes() async throws(UpstreamError) -> [UInt8] {
        var bytes: [UInt8] = []
        while let piece = try await body.next() { bytes += piece }
        return bytes
    }

    func text() async throws(UpstreamError) -> String {
        String(decoding: try await bytes(), as: UTF8.self)
    }
}
