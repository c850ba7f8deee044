import NIOCore
import NIOSSL
import Synchronization

/// Notes the properties of a check's connection, on its event loop, before a request byte leaves.
///
/// A lock guards the notes.
final class ConnectionRecorder: Sendable {
    private let noted = Mutex<UpstreamConnection?>(nil)

    var connection: UpstreamConnection? { noted.withLock { $0 } }

    func note(_ channel: any Channel, httpVersion: String) {
        let address = channel.remoteAddress
        let host = address?.ipAddress ?? "unknown"
        let port = address?.port.map { ":\($0)" } ?? ""
        let handler = try? channel.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
        let connection = UpstreamConnection(
            peer: (host.contains(":") ? "[\(host)]" : host) + port,
            httpVersion: httpVersion,
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
