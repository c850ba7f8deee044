package import LarderModel
import NIOCore
import NIOPosix
import Synchronization

/// Judges the addresses of a URL's host before anything is connected to it.
///
/// A name that hangs ends here, also if the origin allows private addresses. The connection looks
/// the name up on the one lookup queue of its event loop. There a lookup that hangs would hold up
/// the connections of this loop to all other names.
///
/// The connection looks the name up again, and ``AddressCheck`` judges its peer. This check makes
/// sure that Larder connects to no address that is known to be private, even if no server listens
/// there.
///
/// A lookup serves all requests for the name within ``Limits/lookupReuseTime``. So requests over
/// open connections cost the resolver almost nothing. A failed lookup serves only the requests that
/// wait for it. A lookup that hangs serves no request that comes later than
/// ``Limits/lookupJoinTime``: it may ask the resolver of a network that is gone.
final class NameCheck: Sendable {
    typealias LookUp = @Sendable (String) -> EventLoopFuture<[SocketAddress]>

    private struct Lookup {
        let addresses: EventLoopFuture<[SocketAddress]>
        /// The end of the time for which a finished lookup counts.
        let end: NIODeadline
        /// The end of the time in which requests join the lookup while it is under way.
        let joinEnd: NIODeadline
        /// Nil while it is under way.
        var found: [SocketAddress]?

        func counts(at now: NIODeadline) -> Bool { now < (found == nil ? joinEnd : end) }
    }

    private let eventLoopGroup: any EventLoopGroup
    private let lookUp: LookUp
    private let lookups = Mutex<[String: Lookup]>([:])

    /// Without `lookUp`, the system's resolver looks up the addresses.
    init(eventLoopGroup: any EventLoopGroup, lookUp: LookUp?) {
        self.eventLoopGroup = eventLoopGroup
        self.lookUp = lookUp ?? { Self.resolve($0, on: eventLoopGroup.next()) }
    }

    /// Fails if the host is a forbidden address, or a name with any forbidden address, and if the
    /// name that the connection needs is not found in time.
    ///
    /// All addresses of a name must be allowed, as the connection chooses among them. Behind a
    /// proxy, which looks the name up itself, only an address in the URL is judged.
    func judge(
        _ url: WebURL,
        _ settings: ConnectionSettings,
        now: NIODeadline,
        deadline: NIODeadline
    ) async throws(UpstreamError) {
        let host = url.host
        if !settings.allowsPrivate, HostKind(host).isRefusedAddress {
            throw .addressRefused(host: host, address: host)
        }
        let peer = settings.proxy?.host ?? host
        guard HostKind(peer) == .name else { return }
        let limit = min(deadline, now + TimeAmount(settings.connectTimeout))
        let addresses: [SocketAddress]
        do {
            let lookup = lookup(of: peer, now)
            // A wait for a finished lookup would wake its event loop three times.
            if let found = lookup.found {
                addresses = found
            } else {
                addresses = try await waited(for: lookup.addresses, until: limit)
            }
        } catch is CancellationError {
            throw .cancelled
        } catch is LateLookup {
            if limit == deadline { throw .timedOut(.head) }
            throw .unreachable(host: peer, reason: "its name was not found in time")
        } catch {
            // Nothing is judged, and an open connection needs no name.
            guard settings.checksAddress else { return }
            throw .unreachable(host: host, reason: "the name was not found")
        }
        guard settings.checksAddress, let refused = addresses.first(where: \.isRefused) else {
            return
        }
        throw .addressRefused(host: host, address: refused.ipAddress ?? "unknown")
    }

    private func lookup(of host: String, _ now: NIODeadline) -> Lookup {
        typealias Begun = (Lookup, EventLoopPromise<[SocketAddress]>?)
        let (lookup, promise) = lookups.withLock { lookups -> Begun in
            if let lookup = lookups[host], lookup.counts(at: now) { return (lookup, nil) }
            lookups = lookups.filter { $0.value.counts(at: now) }
            let promise = eventLoopGroup.next().makePromise(of: [SocketAddress].self)
            let lookup = Lookup(
                addresses: promise.futureResult,
                end: now + TimeAmount(Limits.lookupReuseTime),
                joinEnd: now + TimeAmount(Limits.lookupJoinTime)
            )
            lookups[host] = lookup
            return (lookup, promise)
        }
        if let promise {
            let addresses = lookup.addresses
            addresses.whenComplete { [weak self] result in
                self?.lookupEnded(host, addresses, result)
            }
            lookUp(host).cascade(to: promise)
        }
        return lookup
    }

    private func lookupEnded(
        _ host: String,
        _ addresses: EventLoopFuture<[SocketAddress]>,
        _ result: Result<[SocketAddress], any Error>
    ) {
        lookups.withLock { lookups in
            // A lookup that hung may have been replaced.
            guard lookups[host]?.addresses === addresses else { return }
            switch result {
            case .success(let found): lookups[host]?.found = found
            case .failure: lookups[host] = nil
            }
        }
    }

    /// The result, if it arrives in time and the task is not cancelled.
    ///
    /// The lookup itself cannot be stopped.
    private func waited(
        for addresses: EventLoopFuture<[SocketAddress]>,
        until limit: NIODeadline
    ) async throws -> [SocketAddress] {
        let loop = addresses.eventLoop
        let promise = loop.makePromise(of: [SocketAddress].self)
        let timer = loop.scheduleTask(deadline: limit) { promise.fail(LateLookup()) }
        defer { timer.cancel() }
        addresses.cascade(to: promise)
        return try await withTaskCancellationHandler {
            try await promise.futureResult.get()
        } onCancel: {
            promise.fail(CancellationError())
        }
    }

    /// All addresses of a name, in any order, as they are only judged.
    private static func resolve(
        _ host: String,
        on loop: any EventLoop
    ) -> EventLoopFuture<[SocketAddress]> {
        let resolver = NIORandomizedDNSResolver(loop: loop)
        let both = [
            resolver.initiateAQuery(host: host, port: 0),
            resolver.initiateAAAAQuery(host: host, port: 0),
        ]
        return EventLoopFuture.whenAllSucceed(both, on: loop).map { $0.flatMap { $0 } }
    }
}

private struct LateLookup: Error {}

/// The result of asking an origin over a connection of its own.
package struct UpstreamCheck: Equatable, Sendable {
    package enum Outcome: Equatable, Sendable {
        case answered(status: Int, headers: HeaderFields)
        case failed(UpstreamError)
    }

    /// Nil when no connection was made.
    package var connection: UpstreamConnection?
    package var outcome: Outcome

    package init(connection: UpstreamConnection?, outcome: Outcome) {
        self.connection = connection
        self.outcome = outcome
    }
}

/// The connection of a check's request.
package struct UpstreamConnection: Equatable, Sendable {
    /// The address and port of its other end: the proxy's if there is one.
    package var peer: String
    /// `HTTP/1.1`.
    package var httpVersion: String
    /// `TLS 1.3`, always with the peer's certificate verified; nil for plain http.
    package var tlsVersion: String?

    package init(peer: String, httpVersion: String, tlsVersion: String?) {
        self.peer = peer
        self.httpVersion = httpVersion
        self.tlsVersion = tlsVersion
    }
}

/// Closes a new connection before a request byte leaves, if the origin does not allow the peer.
///
/// So a name gains nothing if it leads elsewhere than when ``NameCheck`` judged it (DNS rebinding).
struct AddressCheck {
    /// The error with which the connection fails.
    struct Refusal: Error {
        /// The address as text, or `unknown`.
        let address: String
    }

    /// Fails if the peer is refused.
    ///
    /// The channel closes only after the pool has heard of the failure. The pool's state machine
    /// does not expect a connection to close while it starts, and the pool does not close it.
    @Sendable
    static func run(on channel: any Channel) -> EventLoopFuture<Void> {
        guard channel.remoteAddress?.isRefused ?? true else {
            return channel.eventLoop.makeSucceededVoidFuture()
        }
        channel.eventLoop.execute { channel.close(promise: nil) }
        let address = channel.remoteAddress?.ipAddress ?? "unknown"
        return channel.eventLoop.makeFailedFuture(Refusal(address: address))
    }
}

extension SocketAddress {
    /// Whether ``AddressRule`` refuses the address; an address other than IPv4 or IPv6 is refused.
    var isRefused: Bool {
        guard let text = ipAddress else { return true }
        return HostKind(self.protocol == .inet ? text : "[\(text)]").isRefusedAddress
    }
}
