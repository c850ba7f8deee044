import AsyncHTTPClient
import Glibc
import LarderModel
import NIOCore
import NIOHTTP1
import NIOPosix

extension UpstreamError {
    /// What an error of async-http-client and of what lies below it means to us.
    ///
    /// Whether a request byte can have left is told by how far the request had come, not by the
    /// error: the same lost connection is `unreachable` before and `brokenOff` after.
    init(_ failure: AnswerFailure, host: String) {
        switch failure.error {
        case let error as UpstreamError:
            self = error
        case let refusal as AddressCheck.Refusal:
            self = .addressRefused(host: host, address: refusal.address)
        case let error as HTTPClientError where Self.givingUp.contains(error):
            self = .cancelled
        case let error as HTTPClientError where Self.timeOver.contains(error):
            self = .timedOut(failure.progress == .readingBody ? .body : .head)
        case HTTPParserError.headerOverflow:
            self = .headTooLarge
        case let error:
            let reason = Self.reason(error)
            self =
                failure.progress == .connecting
                ? .unreachable(host: host, reason: reason) : .brokenOff(reason: reason)
        }
    }

    private static let givingUp: [HTTPClientError] = [.cancelled, .alreadyShutdown]
    private static let timeOver: [HTTPClientError] = [
        .deadlineExceeded, .readTimeout, .getConnectionFromPoolTimeout,
    ]
    private static let connectTimeOver: [HTTPClientError] = [.connectTimeout, .tlsHandshakeTimeout]

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
        default:
            return String(describing: error)
        }
    }
}

extension AnswerFailure {
    /// Whether the pool and not the origin failed, so that nothing has left.
    ///
    /// Every connection was busy for the connect timeout, or the chosen one had just been closed.
    var isOfPool: Bool {
        guard progress == .connecting else { return false }
        switch error {
        case let error as HTTPClientError: return error == .getConnectionFromPoolTimeout
        case let error as ChannelError: return error == .ioOnClosedChannel
        default: return false
        }
    }
}
