import LarderModel
import LarderNormalize

/// The skeletons of normalized answers in one file, and which row refers to which entity, by the
/// keys of the rows.
struct AnswerTables {
    let connection: SQLiteConnection

    static func size(of references: [Reference]) -> Int64 {
        Int64(references.reduce(0) { $0 + Limits.referenceOverheadBytes + $1.place.stored.count })
    }

    func setReferences(of parent: Int64, _ wanted: [Int64: [UInt8]]) throws(StoreError) -> [Int64] {
        var (missing, removed) = (wanted, [Int64]())
        for (child, members) in try references(of: parent) {
            if let now = missing[child] {
                if now == members { missing[child] = nil }
                continue
            }
            try connection
                .statement("DELETE FROM reference WHERE child = :child AND parent = :parent")
                .run((":child", child), (":parent", parent))
            removed.append(child)
        }
        let put = """
            INSERT INTO reference (child, parent, members) VALUES (:child, :parent, :members)
            ON CONFLICT (child, parent) DO UPDATE SET members = :members
            """
        for (child, members) in missing {
            try connection.statement(put)
                .run((":child", child), (":parent", parent), (":members", members))
        }
        return removed
    }

    private func references(of parent: Int64) throws(StoreError) -> [(Int64, [UInt8])] {
        try connection.statement(
            "SELECT child, members FROM reference WHERE parent = :parent",
            (":parent", parent)
        ).all { ($0.integer(.only), Array($0.bytes("members"))) }
    }

    func removeReferences(of parent: Int64) throws(StoreError) -> [Int64] {
        try connection.statement(
            "DELETE FROM reference WHERE parent = :parent RETURNING child",
            (":parent", parent)
        ).all { $0.integer(.only) }
    }

    static func skeletonSize(_ bytes: Int64) -> Int64 { bytes + Int64(Limits.rowOverheadBytes) }

    /// The number of a skeleton, which one more answer has now unless it is the `old` one, and what
    /// it adds to the file's size.
    ///
    /// Users share skeletons whose bytes are the same.
    func take(
        _ skeleton: Skeleton,
        insteadOf old: Int64?
    ) throws(StoreError) -> (number: Int64, added: Int64) {
        let digest = skeleton.bytes.withUnsafeBytes { Checksum.digest($0) }
        let found = """
            SELECT skeleton FROM skeleton
            WHERE digest_high = :digest_high AND digest_low = :digest_low AND data = :data
            """
        let high = (":digest_high", Int64(bitPattern: digest.high))
        let low = (":digest_low", Int64(bitPattern: digest.low))
        let data = (":data", skeleton.bytes)
        let find = try connection.statement(found, high, low, data)
        if let number = try find.first({ $0.integer(.only) }) {
            if number != old { try count(number, 1) }
            return (number, 0)
        }
        let new = """
            INSERT INTO skeleton (digest_high, digest_low, answers, data)
            VALUES (:digest_high, :digest_low, 1, :data)
            """
        try connection.statement(new).run(high, low, data)
        return (connection.lastInsertedRow, Self.skeletonSize(Int64(skeleton.bytes.count)))
    }

    /// Removes an answer from a skeleton's, and the skeleton with the last; returns its bytes.
    func giveBack(_ number: Int64) throws(StoreError) -> Int64 {
        try count(number, -1)
        let delete = try connection.statement(
            "DELETE FROM skeleton WHERE skeleton = :skeleton AND answers <= 0 RETURNING length(data)",
            (":skeleton", number)
        )
        return try delete.first { Self.skeletonSize($0.integer(.only)) } ?? 0
    }

    private func count(_ skeleton: Int64, _ added: Int) throws(StoreError) {
        try connection
            .statement("UPDATE skeleton SET answers = answers + :added WHERE skeleton = :skeleton")
            .run((":skeleton", skeleton), (":added", added))
    }
}

/// The skeleton and the references of a normalized answer, which its row has besides its template.
struct AnswerForm: Sendable {
    let skeleton: Skeleton
    /// XXH3-64 of the template.
    let checksum: Int64
    let references: [Reference]
    let origin: OriginName

    init(_ template: Template, _ skeleton: Skeleton, of origin: OriginName) {
        self.skeleton = skeleton
        self.origin = origin
        checksum = template.bytes.withUnsafeBytes { Checksum.chunk($0) }
        references = template.references(skeleton)
    }

    /// The bytes that it counts in `state.db`, where each row counts its own skeleton.
    var size: Int64 { AnswerTables.size(of: references) + Int64(skeleton.bytes.count) }
}
