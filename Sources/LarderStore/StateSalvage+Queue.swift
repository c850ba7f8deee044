import LarderModel

/// Repairs the queue after its rows were taken over, so that nothing of it is lost silently.
extension StateSalvage {
    /// Repairs the queue; findings for the log, none where nothing is missing.
    ///
    /// Every target of an unsettled change is kept again. A modifier whose own row is lost becomes
    /// a dead letter without a request, with the changes that are left of it. A reader finds a
    /// modifier that misses some of its changes as unreadable.
    func repairQueue() throws(StoreError) -> [String] {
        var findings: [String] = []
        try numberOrphans()
        let orphans = "modifier NOT IN (SELECT number FROM modifier)"
        let lost = try new.integer("SELECT count(DISTINCT modifier) FROM change WHERE \(orphans)")
        if let lost, lost > 0 {
            try new.execute(
                """
                INSERT INTO modifier (number, scope, id, origin, state, reason, depends_on,
                    attempts, not_applied, stalled, round, accepted_at, settled_at, rev,
                    digest_high, digest_low, size, changes, method, url, headers)
                SELECT modifier, scope, 'lost-' || modifier || CASE WHEN EXISTS (
                        SELECT 1 FROM modifier AS other WHERE other.scope = change.scope
                        AND other.id = 'lost-' || change.modifier
                    ) THEN '-' || modifier ELSE '' END, '', 'failed', 'unreadable', '', 0, 0, 0,
                    1, 0, 0, 0, 0, 0, 0, count(*), '', '', ''
                FROM change WHERE \(orphans) GROUP BY modifier
                """
            )
            let words = "modifiers only the changes could be read: they are dead letters now"
            findings.append("of \(lost) \(words)")
        }
        try new.execute(
            """
            UPDATE change SET settled = (SELECT settled_at IS NOT NULL FROM modifier
                WHERE number = change.modifier)
            """
        )
        let parts = try new.integer(
            """
            SELECT count(*) FROM modifier WHERE settled_at IS NULL AND changes <>
                (SELECT count(*) FROM change WHERE modifier = number)
            """
        )
        if let parts, parts > 0 {
            let words = "modifiers have lost a part of their changes and cannot be sent"
            findings.append("\(parts) \(words)")
        }
        // Without its first page, a file of version 15 does not say that it lacks the mark.
        try new.execute(
            "UPDATE modifier SET perhaps_applied = 1 WHERE attempts > 0 OR state = 'unknown'"
        )
        try keepTargets()
        try takeNumbers()
        // Sweeps rows that no row names any more, and chunks without a body.
        try new.execute(
            """
            DELETE FROM temporary_use WHERE modifier NOT IN (SELECT number FROM modifier)
                OR temporary_id NOT IN (SELECT temporary_id FROM temporary_id);
            UPDATE temporary_id SET state = 2 WHERE state = 0 AND NOT EXISTS
                (SELECT 1 FROM modifier WHERE number = creator AND settled_at IS NULL);
            DELETE FROM hidden WHERE claim NOT IN (SELECT claim FROM claim WHERE scope = 'shared');
            DELETE FROM chunk WHERE (chunk >> 20) NOT IN (SELECT body FROM body);
            UPDATE body SET linked = 0
            WHERE body NOT IN (SELECT body FROM claim WHERE body IS NOT NULL)
            """
        )
        return findings
    }

    /// Collects changes under impossible modifier numbers in one dead letter.
    private func numberOrphans() throws(StoreError) {
        let numbers = Limits.foundNumbers
        try new.execute(
            """
            UPDATE OR REPLACE change SET position = change, modifier = 1 +
                max(coalesce((SELECT max(number) FROM modifier), 0), coalesce((SELECT max(modifier)
                FROM change WHERE modifier <= \(numbers.upperBound) - 1), 0))
            WHERE modifier NOT BETWEEN \(numbers.lowerBound) AND \(numbers.upperBound)
            """
        )
    }

    private func keepTargets() throws(StoreError) {
        let counted = "settled = 0 AND change.scope = claim.scope AND change.id = claim.id"
        try new.execute(
            """
            UPDATE claim SET shared = 0 WHERE kind IS NOT NULL OR scope = 'shared';
            UPDATE claim SET targeted = EXISTS (SELECT 1 FROM change WHERE \(counted));
            INSERT INTO claim (scope, id, size, targeted, shared, wanted)
            SELECT scope, id,
                \(Limits.rowOverheadBytes) + length(CAST(scope AS BLOB)) + length(CAST(id AS BLOB)),
                1, 0, 0
            FROM change WHERE settled = 0 AND NOT EXISTS (SELECT 1 FROM claim WHERE \(counted))
            GROUP BY scope, id;
            \(Self.keptRows)
            """
        )
    }

    /// Each shared row that is kept has its row, and says what keeps it.
    private static let keptRows = """
        INSERT INTO claim (scope, id, size, targeted, shared, wanted)
        SELECT DISTINCT 'shared', id, \(Limits.rowOverheadBytes) + 6 + length(CAST(id AS BLOB)), 0, 0, 0
        FROM claim AS keeper WHERE shared = 1
            AND NOT EXISTS (SELECT 1 FROM claim WHERE scope = 'shared' AND id = keeper.id);
        UPDATE claim SET (targeted, pinned_at) = (
            SELECT coalesce(max(targeted), 0), min(CASE WHEN state IN (0, 1, 4) THEN pinned_at END)
            FROM claim AS keeper WHERE keeper.id = claim.id AND shared = 1)
        WHERE scope = 'shared';
        UPDATE claim SET state = iif(pinned_at IS NULL, NULL, 0), payer = (
            SELECT CAST(scope AS INTEGER) FROM claim AS keeper WHERE keeper.id = claim.id AND shared = 1
            ORDER BY pinned_at IS NULL OR state NOT IN (0, 1, 4), claim LIMIT 1)
        WHERE scope = 'shared';
        """

    /// No accept number is given twice, also where the last rows are lost.
    private func takeNumbers() throws(StoreError) {
        let sequence = "SELECT seq FROM sqlite_sequence WHERE name = 'modifier'"
        let before = readable(try old.integer(sequence))
        let range = Limits.foundNumbers
        let known = try new.integer(
            """
            SELECT max((SELECT coalesce(max(number), 0) FROM modifier), (SELECT
                coalesce(max(number), 0) FROM history WHERE number <= \(range.upperBound)))
            """
        )
        let said = (before ?? nil) ?? 0
        let last = max(known ?? 0, range.contains(said) ? said : 0)
        guard last > 0 else { return }
        try new.execute(
            """
            DELETE FROM sqlite_sequence WHERE name = 'modifier';
            INSERT INTO sqlite_sequence (name, seq) VALUES ('modifier', \(last))
            """
        )
    }
}
