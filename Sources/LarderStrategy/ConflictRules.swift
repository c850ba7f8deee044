package import LarderModel

/// Decides what follows when another device has changed what a modifier changes (case 19).
///
/// A round is all attempts under one key. The touched places of each target are compared before a
/// round, and after an answer that says that the origin has another version.
package struct ConflictRules: Equatable, Sendable {
    package var rule: ModifierRules.ConflictRule
    /// Whether the program gave a condition itself, such as If-Match; only it can give another one.
    package var hasOwnCondition = false
    /// Rounds that the daemon has begun since the acceptance or a person's decision, with the first.
    package var rounds = 1

    package init(_ rule: ModifierRules.ConflictRule) {
        self.rule = rule
    }

    package enum Step: Equatable, Sendable {
        /// The targets are to be read first.
        case look
        /// Another round, with the next key.
        case again
        /// A person decides.
        case wait
        /// The modifier fails.
        case fail
    }

    /// Before the first attempt of a round; nil: it is sent.
    ///
    /// `isChanged`: a touched place is neither as it was nor as the modifier wants it.
    package func beforeRound(isChanged: Bool) -> Step? {
        guard isChanged, !hasOwnCondition else { return nil }
        switch rule {
        case .client: return nil
        case .server: return .fail
        case .rebase, .manual: return .wait
        }
    }

    /// After a 409, 412 or 428, once the targets have been read; nil: the answer is a refusal.
    ///
    /// `isSameBase`: no target says something else than when the modifier was sent.
    package func afterAnswer(_ status: Int, isChanged: Bool, isSameBase: Bool) -> Step? {
        if status == 409, isSameBase, !isChanged { return nil }
        switch rule {
        case .server: return .fail
        case .manual: return .wait
        case .rebase where hasOwnCondition || isChanged: return .wait
        case .client where hasOwnCondition: return .wait
        case .rebase, .client: return rounds < Limits.conflictRoundsMax ? .again : .fail
        }
    }
}
