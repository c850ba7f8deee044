import AsyncHTTPClient
import Glibc
import LarderModel
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// The reason why an origin gave no answer, or not all of it.
package enum UpstreamError: Error, Equatable, Sendable {
    /// No request byte can have left.
    ///
    /// The name was not found, the connection was not made in time, or TLS failed.
    case unreachable(host: String, reason: String)
    /// The connection was closed before a byte of an answer came, also when the request was
    /// repeated.
    ///
    /// With `hasLeft` the request may have arrived.
    case closed(host: String, hasLeft: Bool)
    /// The host has an address that its origin does not allow; no request byte left.
    case addressRefused(host: String, address: String)
    /// The request's time was over, or the origin fell silent during its answer.
    case timedOut(UpstreamPhase)
    /// After the request had left, the connection was lost, or its bytes were not HTTP.
    case brokenOff(reason: String)
    /// The body is not in the coding that its Content-Encoding names, or it is damaged.
    case undecodable(reason: String)
    /// The coded body expands more than ``Limits/decodedRatioMax`` times.
    case expandsTooMuch
    /// The answer's head is above ``Limits/responseHeadBytesMax`` or ``Limits/headerFieldsMax``.
    case headTooLarge
    /// The daemon had no file descriptor, port, memory or free connection for the request.
    ///
    /// No request byte left.
    case shortage(reason: String)
    /// The caller gave the request up, or the upstream was shut down.
    case cancelled
}

/// The part of an answer that a request waited for.
package enum UpstreamPhase: Equatable, Sendable {
    case head
    case body
}

extension UpstreamError {
    /// Makes an upstream error of an error of async-http-client or of a layer below it.
    ///
    /// The progress of the request says whether a byte can have left, not the error. The same lost
    /// connection is `unreachable` before that and `brokenOff` after it. Before that the proxy may
    /// be the reason, which names it.
    init(_ failure: AnswerFailure, host: String, proxy: ProxySettings? = nil) {
        switch failure.error {
        case let error as UpstreamError:
            self = error
        case let refusal as AddressCheck.Refusal:
            self = .addressRefused(host: host, address: refusal.address)
        case let error as HTTPClientError where Self.givingUp.contains(error):
            self = .cancelled
        case let error as HTTPClientError where Self.timeOver.contains(error):
            self = .timedOut(failure.progress == .readingBody ? .body : .head)
        case let error where failure.progress == .connecting && Self.isShortage(error):
            self = .shortage(reason: Self.reason(error))
        case let stale as StaleConnection:
            self = .closed(host: host, hasLeft: stale == .silent)
        case HTTPParserError.headerOverflow:
            self = .headTooLarge
        case _ where failure.isOfClosedConnection:
            self = .closed(host: host, hasLeft: failure.progress != .connecting)
        case let error:
            let reason = Self.reason(error)
            guard failure.progress == .connecting else {
                self = .brokenOff(reason: reason)
                return
            }
            let way = proxy.map { "through the proxy \($0.host):\($0.port): " } ?? ""
            self = .unreachable(host: host, reason: way + reason)
        }
    }

    private static let givingUp: [HTTPClientError] = [.cancelled, .alreadyShutdown]
    private static let timeOver: [HTTPClientError] = [
        .deadlineExceeded, .readTimeout, .getConnectionFromPoolTimeout,
    ]
    private static let connectTimeOver: [HTTPClientError] = [
        .connectTimeout, .tlsHandshakeTimeout, .httpProxyHandshakeTimeout,
    ]

    private static func isShortage(_ error: any Error) -> Bool {
        switch error {
        case let error as IOError:
            [EMFILE, ENFILE, ENOBUFS, ENOMEM, EADDRNOTAVAIL].contains(error.errnoCode)
        case let error as NIOConnectionError:
            error.connectionErrors.contains { isShortage($0.error) }
        default: false
        }
    }

    private static func reason(_ error: any Error) -> String {
        switch error {
        case let error as IOError:
            return String(cString: strerror(error.errnoCode))
        case let error as NIOConnectionError:
            if let attempt = error.connectionErrors.first { return reason(attempt.error) }
            return error.dnsAError == nil && error.dnsAAAAError == nil
                ? "no connection within the connect timeout" : "the name was not found"
        case let error as HTTPClientError where Self.connectTimeOver.contains(error):
            return "no connection within the connect timeout"
        case let error as HTTPClientError where error == .remoteConnectionClosed:
            return "the connection was closed"
        case HTTPParserError.invalidEOFState:
            return "the connection was closed"
        case let error as HTTPClientError where error == .proxyAuthenticationRequired:
            return "the proxy wants a user and a password"
        case let error as HTTPClientError where error == .invalidProxyResponse:
            return "the proxy refused the connection"
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            return "TLS failed: \(tlsReason(error))"
        default:
            return String(describing: error)
        }
    }
}

/// Texts for those of BoringSSL's error codes that a person can act on.
private let tlsReasons = [
    ("CERTIFICATE_VERIFY_FAILED", "its certificate is not trusted, or its time is over"),
    ("CERTIFICATE_REQUIRED", "it wants a client certificate"),
    ("UNKNOWN_CA", "it does not trust the client certificate"),
    ("BAD_CERTIFICATE", "it refuses the client certificate"),
    ("WRONG_VERSION_NUMBER", "it does not speak TLS"),
    ("PROTOCOL_VERSION", "it speaks no version of TLS from 1.2 on"),
]

private func tlsReason(_ error: any Error) -> String {
    if let error = error as? NIOSSLExtraError, error == .failedToValidateHostname {
        return "its certificate is another host's"
    }
    let text = String(describing: error)
    return tlsReasons.first { text.contains($0.0) }?.1 ?? text
}

extension AnswerFailure {
    /// Whether the pool failed and not the origin, so that no byte has left.
    ///
    /// Every connection was busy for the connect timeout.
    var isOfPool: Bool {
        progress == .connecting && error as? HTTPClientError == .getConnectionFromPoolTimeout
    }

    /// Whether the connection was closed before a byte of an answer came.
    ///
    /// Usually this was an idle connection of the pool. Otherwise the origin closes each new
    /// connection.
    var isOfClosedConnection: Bool {
        guard progress != .readingBody else { return false }
        switch error {
        case let error as HTTPClientError: return error == .remoteConnectionClosed
        case let error as ChannelError: return error == .ioOnClosedChannel
        case let error as IOError: return [ECONNRESET, EPIPE, ETIMEDOUT].contains(error.errnoCode)
        // The connection was closed while handlers were put into its pipeline.
        case let error as ChannelPipelineError: return error == .notFound
        default: return false
        }
    }
}
