package import LarderModel

/// The meaning of an attempt's end for a modifier.
///
/// ``ModifierRequest/verdict(_:_:rule:now:)`` gives the verdict on an answer; the shell gives all
/// others.
package enum ModifierVerdict: Equatable, Sendable {
    /// Applied (cases 5, 6 and 20).
    case confirmed(ConfirmedBody)
    /// 202: taken, with no word about the result (case 7).
    case accepted
    /// Not applied for now (case 10); `rest` is how long the account has to wait.
    ///
    /// `isSure`: the status denies that the write was applied, so that it may be cancelled.
    case notNow(retryAfter: Duration?, rest: Duration? = nil, isSure: Bool = true)
    /// A 5xx that does not say whether the write was applied, which is unlikely (case 10).
    case serverFailed(retryAfter: Duration?)
    /// Refused permanently (case 11).
    case refused
    /// The origin has another version: 409, 412 or 428 (case 19).
    case conflict(ConflictRules.Step)
    /// 401, 407 (case 23).
    case authNeeded
    /// Not sent: the modifier was accepted under a credential, and there is none now (case 23).
    case noCredential
    /// Bytes left, and no clear answer came (case 22).
    case unclear(Unclear)
    /// A captive portal answered in the origin's place (case 25).
    case captive
    /// No byte can have left (case 9).
    case neverLeft

    /// The content of a 2xx body.
    package enum ConfirmedBody: Equatable, Sendable {
        /// The new value of this target, which becomes its base if possible.
        ///
        /// Any other target is as with ``none``.
        case representation(of: EntryID)
        /// The body represents no target: the effects make each new base from the one before.
        case none
    }

    package enum Unclear: Equatable, Sendable {
        /// 502, 504: a gateway before the origin answered for it.
        case gateway
        /// The connection was lost, or nothing came in time.
        case lost
        /// A repeat was refused, which says nothing about the attempt before it.
        case refusedRepeat
    }

    /// Whether the write may have been applied, so that it cannot be cancelled (case 18).
    var isPerhapsApplied: Bool {
        switch self {
        case .neverLeft, .captive, .authNeeded, .noCredential, .conflict,
            .notNow(_, _, isSure: true):
            false
        case .confirmed, .accepted, .serverFailed, .refused, .unclear, .notNow: true
        }
    }

    /// The same verdict after the origin's settings changed: a Retry-After no longer counts.
    var underOtherSettings: ModifierVerdict {
        switch self {
        case .notNow(_, _, let isSure): .notNow(retryAfter: nil, isSure: isSure)
        case .serverFailed: .serverFailed(retryAfter: nil)
        case .confirmed, .accepted, .refused, .conflict, .authNeeded, .noCredential, .unclear,
            .captive, .neverLeft:
            self
        }
    }
}
