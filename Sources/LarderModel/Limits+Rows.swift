/// Ranges of values in a file's rows: a disk can hold any number, and one outside is damage.
extension Limits {
    /// Paused lanes of a user, in all accounts.
    package static let pausedLanesMax = 1_000
    /// Credentials of a user, in all accounts at all origins.
    package static let credentialsPerUserMax = 1_000
    /// The value of a credential: it is one header field, and the largest tokens have a few KiB.
    package static let credentialBytesMax = 16_384
    /// The name of a credential's header field.
    package static let credentialHeaderBytesMax = 128
    /// Refusals of a credential in a row after which none of its account's writes is sent.
    package static let credentialRefusalsMax = 3
    /// Temporary ids that one modifier names: as many as it may have targets.
    package static let temporaryIDsMax = 100
    /// Names of one user that lead to real ids, about 300 bytes of memory each; the least recently
    /// used ones go first.
    package static let aliasesPerUserMax = 10_000
    /// Time after its last use in which such a name still leads to the real id.
    package static let aliasLifetime = Duration.seconds(90 * 86_400)
    /// Uses of a name are written this often at most.
    package static let aliasUseTime = Duration.seconds(86_400)
    /// Users of a credential in the configuration.
    package static let credentialUsersMax = 1_000
    /// Time between two looks into the files of configured credentials.
    package static let credentialFileTime = Duration.seconds(5)
    /// Accounts of a user without a credential of which a refusal is remembered.
    package static let refusedAccountsPerUserMax = 1_000
    /// Time before the end of a credential at which a client is asked for another one.
    package static let renewalLeadTime = Duration.seconds(60)
    /// Time in which a client that was asked renews a credential.
    package static let renewalLeaseTime = Duration.seconds(30)
    /// Pause after an order to renew: a renewal that does not help is not repeated all the time.
    package static let renewalPauseBase = Duration.seconds(1)
    package static let renewalPauseMax = Duration.seconds(300)
    /// Orders in a short time after which there is one in a minute: a program may give each
    /// credential a short life, or none that its server takes.
    package static let renewalRunMax = 7
    package static let renewalRunTime = Duration.seconds(60)
    /// Clients of a user that wait for an order to renew.
    package static let renewersPerUserMax = 100
    /// The longest wait for a moment of the wall clock, which may be set.
    package static let renewalLookTime = Duration.seconds(600)

    /// Part of the queue and of the pins that one user alone may have.
    package static let aloneShare = 0.9
    /// Revisions that a file may name: whole in every JSON reader's numbers, and far from the end of
    /// ours; a file that says otherwise is damaged.
    package static let revisions: ClosedRange<Int64> = 0...(1 << 53)
    /// Values of the counter in `state.db` at start: the rest, up to the limit for rows, is left
    /// for later revisions.
    package static let countedRevisions: ClosedRange<Int64> = 0...(1 << 50)
    /// Revisions that one row may say.
    package static let rowRevisions: ClosedRange<Int64> = 0...(1 << 51)
    /// Revisions up to which the counter trusts a row, or the cache.
    package static let claimedRevisions: ClosedRange<Int64> = 0...(1 << 49)
    /// Numbers of rows that `state.db` may name, whole in JSON too.
    package static let rowNumbers: ClosedRange<Int64> = 1...(1 << 52)
    /// Numbers found at start, also of bodies: a quarter is left for later ones.
    package static let foundNumbers: ClosedRange<Int64> = 1...(3 << 50)
    package static let foundBodies: ClosedRange<Int64> = 0...(3 << 40)
    /// Numbers of bodies: together with a chunk's position they stay within 64 bits.
    package static let bodies: ClosedRange<Int64> = 0...(1 << 42)
    /// Numbers of uses that a file may name; the rest is left for those to come.
    package static let uses: ClosedRange<Int64> = 0...(1 << 61)
    /// Sums that a file may name, of bytes and of rows: those of the largest cache.
    package static let accountedBytes: ClosedRange<Int64> = 0...(1 << 51)
    /// Moments of the queue that a row may name, in ms: up to 2248, as timers count nanoseconds.
    package static let rowMoments: ClosedRange<Int64> = -(1 << 43)...(1 << 43)
    /// Counts in a row: attempts, rounds, changes.
    package static let rowCounts: ClosedRange<Int64> = 0...(1 << 31)
    /// Statuses of answers: three digits.
    package static let rowStatuses: ClosedRange<Int64> = 0...999
    /// Bytes that one row may count: the largest body with its chunks and everything else.
    package static let rowBytes: ClosedRange<Int64> = 0...(1 << 38)

    /// Bytes counted for hiding a shared row from one user: a B-tree cell with the scope's text.
    package static let hiddenMarkBytes: Int64 = 64
    /// Of a body that one command of the writer copies from one file into the other; a larger one is
    /// copied before, a chunk a command.
    package static let copiedAtOnceBytesMax = 4 << 20

    /// Rounds that an answer such as 412 can lead to: another device that writes all the time would
    /// keep one going forever.
    package static let conflictRoundsMax = 3
    /// Targets of a conflict that a frame names with their values.
    package static let toldConflictsMax = 4
    /// Waiting changes of a target beneath a new one up to which the writer notes what that one sees.
    ///
    /// All commands wait for that. Above the limit, or above the same bytes, it is sent without a
    /// comparison.
    package static let seenChangesMax = 256
    /// Modifiers that are joined to one request: the writer reads them all in the send step.
    package static let joinedModifiersMax = 100
    /// Bytes of a joined body, and of each body in it; all commands wait while the writer joins them.
    package static let joinedBodyBytesMax = 256 << 10
}
