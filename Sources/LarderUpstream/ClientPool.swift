import AsyncHTTPClient
import LarderModel
import NIOCore
import Synchronization

/// What makes two origins share connections to the same host.
struct ConnectionSettings: Hashable {
    let connectTimeout: Duration
    let allowsPrivate: Bool

    init(_ origin: OriginSettings) {
        connectTimeout = origin.fetch.connectTimeout
        allowsPrivate = origin.allowPrivate
    }
}

/// One HTTPClient, and so one pool of connections, for each distinct ``ConnectionSettings``.
///
/// A connection that was made without the check of its address is thus never used for an origin
/// that needs it. The clients are as many as the configuration's origins differ.
final class ClientPool: Sendable {
    private enum State {
        case open([ConnectionSettings: HTTPClient])
        case shutDown
    }

    private let eventLoopGroup: any EventLoopGroup
    private let state = Mutex(State.open([:]))

    init(eventLoopGroup: any EventLoopGroup) {
        self.eventLoopGroup = eventLoopGroup
    }

    func client(for settings: ConnectionSettings) throws(UpstreamError) -> HTTPClient {
        let client = state.withLock { state -> HTTPClient? in
            guard case .open(var clients) = state else { return nil }
            if let client = clients[settings] { return client }
            let client = HTTPClient(
                eventLoopGroup: eventLoopGroup,
                configuration: Self.configuration(settings)
            )
            clients[settings] = client
            state = .open(clients)
            return client
        }
        guard let client else { throw .cancelled }
        return client
    }

    /// Closes every connection; requests under way fail as cancelled.
    func shutdown() async {
        let clients = state.withLock { state -> [HTTPClient] in
            guard case .open(let clients) = state else { return [] }
            state = .shutDown
            return Array(clients.values)
        }
        for client in clients {
            // Its one error is that it was shut down before, which nobody else does.
            try? await client.shutdown()
        }
    }

    private static func configuration(_ settings: ConnectionSettings) -> HTTPClient.Configuration {
        // The time between bytes is ours to watch (Answer): async-http-client's own read timeout
        // also runs while a slow reader holds the body up.
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(connect: TimeAmount(settings.connectTimeout), read: nil),
            proxy: nil,
            decompression: .disabled
        )
        configuration.connectionPool.idleTimeout = TimeAmount(Limits.upstreamIdleTime)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit =
            Limits.upstreamConnectionsPerHostMax
        // With retries a refused connection fails only after the connect timeout.
        configuration.connectionPool.retryConnectionEstablishment = false
        if !settings.allowsPrivate {
            configuration.http1_1ConnectionDebugInitializer = AddressCheck.run
            configuration.http2ConnectionDebugInitializer = AddressCheck.run
        }
        return configuration
    }
}
