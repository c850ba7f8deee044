package import LarderModel

/// The state of an origin, as the last requests to it showed it.
///
/// Larder asks no other source: the only way to know is to try.
///
/// The state shortens waits and labels answers; it never keeps a client's request from being
/// tried. Nor does a *rest*, for which the origin has asked an account. Only the daemon's own
/// requests wait for the end of a rest.
///
/// ```
///   unknown ──► online ◄──► offline          any HTTP answer of the origin ─► online
///      │           ▲           ▲             no connection, or 10 s of silence ─► offline
///      └───────────┴─ captive ─┘             a portal answered ─► captive
/// ```
package struct OriginHealth: Equatable, Sendable {
    package typealias State = OriginState

    package private(set) var state = State.unknown
    package private(set) var since: Timestamp
    /// The last time that a portal answered in the origin's place.
    private var portalSeen: Timestamp?
    /// The ends of Retry-After on the monotonic clock, by the account that the origin told to wait.
    ///
    /// There are at most ``Limits/retryAfterAccountsMax``; a new rest first removes those that are
    /// over.
    package private(set) var retryAfters: [Scope: Duration] = [:]

    /// Whether the origin has answered with HTML over https since the start.
    package private(set) var hasPages = false

    package init(now: Timestamp) { since = now }

    package mutating func pageCame() { hasPages = true }

    /// Whether waiting for the origin is likely to fail.
    package var isDown: Bool {
        switch state {
        case .unknown, .online: false
        case .offline, .captive: true
        }
    }

    /// The right origin has answered, with any status.
    ///
    /// True if the state changes, as for the functions below.
    package mutating func answered(now: Timestamp) -> Bool { become(.online, now) }

    package mutating func connectFailed(now: Timestamp) -> Bool { become(.offline, now) }

    /// A request has had no answer for ``Limits/silenceTime``; the request itself goes on.
    package mutating func responseTimedOut(now: Timestamp) -> Bool { become(.offline, now) }

    package mutating func portalAnswered(now: Timestamp) -> Bool {
        portalSeen = now
        return become(.captive, now)
    }

    /// Whether a portal answered in the origin's place lately.
    ///
    /// Pages count as the portal's only for ``Limits/captiveTime``, as an origin may have only
    /// pages. A clock that was set back since then, as after a boot, ends that time too.
    package func isCaptive(_ now: Timestamp) -> Bool {
        guard state == .captive, let portalSeen else { return false }
        let age = now.since(portalSeen)
        return age < Limits.captiveTime && age > Duration.zero - Limits.clockSlack
    }

    /// An operator has set it offline, or online again; the state counts from now.
    package mutating func wasSetByHand(now: Timestamp) { since = now }

    /// The origin has asked for a rest; returns its end.
    ///
    /// If a rest goes on already, the later end counts.
    package mutating func askedForRest(
        of scope: Scope,
        for time: Duration,
        now: Duration
    ) -> Duration {
        let end = max(retryAfters[scope] ?? .zero, now + min(time, Limits.originRetryAfterMax))
        retryAfters = retryAfters.filter { $0.value > now }
        if retryAfters[scope] == nil, retryAfters.count >= Limits.retryAfterAccountsMax,
            let first = retryAfters.min(by: { $0.value < $1.value })
        {
            retryAfters[first.key] = nil
        }
        retryAfters[scope] = end
        return end
    }

    /// An operator has ended an account's rest.
    package mutating func restEnded(of scope: Scope) { retryAfters[scope] = nil }

    package mutating func settingsChanged() { retryAfters = [:] }

    /// The end of an account's rest; nil if it does not rest.
    package func retryAfterEnd(of scope: Scope, now: Duration) -> Duration? {
        retryAfters[scope].flatMap { $0 > now ? $0 : nil }
    }

    private mutating func become(_ next: State, _ now: Timestamp) -> Bool {
        guard state != next else { return false }
        state = next
        since = now
        return true
    }
}
