import AsyncHTTPClient
import Glibc
package import LarderModel
import NIOCore
import NIOHTTP1
import NIOSSL
import Synchronization

/// HTTP clients, each with a pool of connections, one for each distinct ``ConnectionSettings``.
///
/// So a connection that was made without the check of its address is never used for an origin that
/// needs the check. There are at most ``Limits/upstreamClientsMax`` clients: beyond that the pool
/// drops the client that was not used for longest.
final class ClientPool: Sendable {
    private enum State {
        case open([ConnectionSettings: (client: HTTPClient, lastUse: Int)], uses: Int)
        case shutDown
    }

    private let eventLoopGroup: any EventLoopGroup
    private let state = Mutex(State.open([:], uses: 0))

    init(eventLoopGroup: any EventLoopGroup) { self.eventLoopGroup = eventLoopGroup }

    var anyEventLoop: any EventLoop { eventLoopGroup.any() }

    func client(
        for settings: ConnectionSettings,
        host: String
    ) throws(UpstreamError) -> HTTPClient {
        if let client = try use(settings, else: { nil }) { return client }
        let configuration = try Self.configuration(settings, host: host)
        let client = try use(settings) {
            HTTPClient(eventLoopGroup: eventLoopGroup, configuration: configuration)
        }
        guard let client else { throw .cancelled }
        return client
    }

    /// A client outside the pool, for one request; the caller must shut it down.
    func newClient(
        _ settings: ConnectionSettings,
        host: String,
        recorder: ConnectionRecorder
    ) throws(UpstreamError) -> HTTPClient {
        HTTPClient(
            eventLoopGroup: eventLoopGroup,
            configuration: try Self.configuration(settings, host: host, recorder: recorder)
        )
    }

    private func use(
        _ settings: ConnectionSettings,
        else make: () -> HTTPClient?
    ) throws(UpstreamError) -> HTTPClient? {
        let used = state.withLock { state -> (client: HTTPClient?, dropped: HTTPClient?)? in
            guard case .open(var clients, let uses) = state else { return nil }
            guard let client = clients[settings]?.client ?? make() else { return (nil, nil) }
            clients[settings] = (client, uses)
            var dropped: HTTPClient?
            if clients.count > Limits.upstreamClientsMax,
                let oldest = clients.min(by: { $0.value.lastUse < $1.value.lastUse })
            {
                dropped = clients.removeValue(forKey: oldest.key)?.client
            }
            state = .open(clients, uses: uses + 1)
            return (client, dropped)
        }
        guard let used else { throw .cancelled }
        // The pool does not wait for this: the connections close, and requests on them fail.
        used.dropped?.shutdown { _ in }
        return used.client
    }

    /// Closes every connection; requests under way fail as cancelled.
    func shutdown() async {
        let clients = state.withLock { state -> [HTTPClient] in
            guard case .open(let clients, _) = state else { return [] }
            state = .shutDown
            return clients.values.map(\.client)
        }
        for client in clients {
            // The only error says that the client was shut down before, and only the pool shuts it
            // down.
            try? await client.shutdown()
        }
    }

    private static func configuration(
        _ settings: ConnectionSettings,
        host: String,
        recorder: ConnectionRecorder? = nil
    ) throws(UpstreamError) -> HTTPClient.Configuration {
        // Answer watches the time between bytes itself: async-http-client's read timeout also runs
        // while a slow reader delays the body.
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(connect: TimeAmount(settings.connectTimeout), read: nil),
            proxy: settings.proxy.map(proxy),
            decompression: .disabled
        )
        do throws(TLSFault) {
            configuration.tlsConfiguration = try TLSMaterial.configuration(settings.tls)
        } catch {
            let reason = "tls.\(error.key.rawValue): the file \(error.reason)"
            throw .unreachable(host: host, reason: reason)
        }
        // RequestHandler tells a dead connection by the requests that it has carried, and connections
        // divide by user. A stream of HTTP/2 shows neither (docs/decisions.md).
        configuration.httpVersion = .http1Only
        configuration.connectionPool.idleTimeout = TimeAmount(Limits.upstreamIdleTime)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit =
            settings.connectionsPerHostMax
        // With retries, a refused connection would fail only after the connect timeout.
        configuration.connectionPool.retryConnectionEstablishment = false
        // The default tracer records nothing, but each request would build its attributes.
        configuration.tracing.tracer = nil
        configuration.http1_1ConnectionDebugInitializer = { channel in
            channel.addRequestHandlers().flatMap { () -> EventLoopFuture<Void> in
                recorder?.note(channel)
                return channel.keepAlive()
            }.flatMap {
                settings.checksAddress
                    ? AddressCheck.run(on: channel) : channel.eventLoop.makeSucceededVoidFuture()
            }
        }
        return configuration
    }

    private static func proxy(_ settings: ProxySettings) -> HTTPClient.Configuration.Proxy {
        let host = settings.host
        return .server(
            // A socket takes an IPv6 address without its brackets.
            host: host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host,
            port: settings.port,
            authorization: settings.credentials.map { credentials in
                .basic(username: credentials.user, password: credentials.password)
            }
        )
    }
}

extension Channel {
    /// Makes the kernel detect a dead peer of an idle connection, and end a connection whose bytes
    /// the peer does not acknowledge (tcp(7)).
    fileprivate func keepAlive() -> EventLoopFuture<Void> {
        let options = [
            (TCP_KEEPIDLE, Limits.keepaliveIdleSeconds),
            (TCP_KEEPINTVL, Limits.keepaliveIntervalSeconds),
            (TCP_KEEPCNT, Limits.keepaliveProbesMax),
            (TCP_USER_TIMEOUT, Limits.unacknowledgedMilliseconds),
        ]
        let set = options.map { name, value in
            let option = ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: name))
            return setOption(option, value: .init(value))
        }
        let keptAlive = setOption(.socketOption(.so_keepalive), value: 1)
        return EventLoopFuture.andAllComplete([keptAlive] + set, on: eventLoop)
    }

    fileprivate func addRequestHandlers() -> EventLoopFuture<Void> {
        eventLoop.submit {
            let pipeline = self.pipeline.syncOperations
            let head = ResponseHeadHandler()
            let encoder = try pipeline.handler(type: HTTPRequestEncoder.self)
            let decoder = try pipeline.handler(
                type: ByteToMessageHandler<HTTPResponseDecoder>.self
            )
            try pipeline.addHandler(head, position: .before(encoder))
            try pipeline.addHandler(RequestHandler(head: head), position: .after(decoder))
        }
    }
}

/// Notes the properties of a check's connection, on its event loop, before a request byte leaves.
///
/// A lock guards the notes.
final class ConnectionRecorder: Sendable {
    private let noted = Mutex<UpstreamConnection?>(nil)

    var connection: UpstreamConnection? { noted.withLock { $0 } }

    func note(_ channel: any Channel) {
        let address = channel.remoteAddress
        let host = address?.ipAddress ?? "unknown"
        let port = address?.port.map { ":\($0)" } ?? ""
        let handler = try? channel.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
        let connection = UpstreamConnection(
            peer: (host.contains(":") ? "[\(host)]" : host) + port,
            httpVersion: "HTTP/1.1",
            tlsVersion: handler?.tlsVersion.map(Self.name)
        )
        noted.withLock { $0 = connection }
    }

    private static func name(_ version: TLSVersion) -> String {
        switch version {
        case .tlsv1: "TLS 1.0"
        case .tlsv11: "TLS 1.1"
        case .tlsv12: "TLS 1.2"
        case .tlsv13: "TLS 1.3"
        }
    }
}

/// The settings that two requests must have in common to share connections to the same host.
struct ConnectionSettings: Hashable {
    let connectTimeout: Duration
    let allowsPrivate: Bool
    let proxy: ProxySettings?
    let tls: TLSSettings
    let purpose: UpstreamRequest.Purpose
    /// So that long answers of one user hold up none of others; nil for queued writes.
    let user: UInt32?

    /// Only the origin sees the client's certificate, and no host that it redirects to.
    init(for request: UpstreamRequest) {
        let origin = request.origin
        connectTimeout = origin.fetch.connectTimeout
        allowsPrivate = origin.allowPrivate
        proxy = origin.proxy
        var tls = origin.tls
        if request.url.originText != origin.baseURL.originText {
            tls[.clientCertificate] = nil
            tls[.clientKey] = nil
        }
        self.tls = tls
        purpose = request.purpose
        user =
            switch request.purpose {
            case .write: nil
            case .read, .passingOn, .passedWrite, .upload: request.user
            }
    }

    var connectionsPerHostMax: Int {
        switch purpose {
        case .read, .write: Limits.upstreamConnectionsPerHostMax
        case .passingOn, .passedWrite, .upload: Limits.upstreamConnectionsPerUserMax
        }
    }

    /// Whether the connection's peer is the host of the URL, so that its address counts.
    var checksAddress: Bool { !allowsPrivate && proxy == nil }
}

/// An origin's `tls` settings, in the form that connections take.
package enum TLSMaterial {
    /// The fault of a file, if there is one.
    @Sendable
    package static func fault(in settings: TLSSettings) -> TLSFault? {
        do throws(TLSFault) {
            _ = try configuration(settings)
            return nil
        } catch {
            return error
        }
    }

    static func configuration(
        _ settings: TLSSettings
    ) throws(TLSFault) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        if settings[.caFile] != nil {
            configuration.trustRoots = .certificates(try certificates(settings, .caFile))
        }
        guard let key = settings[.clientKey] else { return configuration }
        let chain = try certificates(settings, .clientCertificate)
        configuration.certificateChain = chain.map { .certificate($0) }
        configuration.privateKey = .privateKey(try privateKey(key))
        do {
            // Only a context shows whether a key belongs to its certificate.
            _ = try NIOSSLContext(configuration: configuration)
        } catch {
            throw TLSFault(.clientKey, "does not hold the key of client_cert")
        }
        return configuration
    }

    private static func certificates(
        _ settings: TLSSettings,
        _ key: TLSKey
    ) throws(TLSFault) -> [NIOSSLCertificate] {
        let found = (try? NIOSSLCertificate.fromPEMBytes(settings[key]?.bytes ?? [])) ?? []
        guard !found.isEmpty else { throw TLSFault(key, "holds no certificates in PEM") }
        return found
    }

    private static func privateKey(_ file: PEMFile) throws(TLSFault) -> NIOSSLPrivateKey {
        do {
            // Without the callback the library would ask for a passphrase on the terminal.
            return try NIOSSLPrivateKey(bytes: file.bytes, format: .pem) {
                (_: NIOSSLPassphraseSetter<[UInt8]>) in
                throw PassphraseNeeded()
            }
        } catch {
            throw TLSFault(.clientKey, "holds no private key in PEM without a passphrase")
        }
    }
}

private struct PassphraseNeeded: Error {}
