/// Why a modifier was settled without being confirmed.
package enum ModifierReason: String, Sendable, CaseIterable {
    /// As many attempts as it was allowed were in vain.
    case attempts
    /// It was to be sent before a moment that has passed.
    case expired
    /// The origin refused it for good.
    case refused
    /// One that it depends on was not confirmed.
    case parentFailed = "parent_failed"
    /// Its row cannot be read, or holds what only a later version knows.
    case unreadable
    /// Given up by hand after bytes of it may have left.
    case discarded
    /// Given up by hand before any byte of it left.
    case cancelled
}
