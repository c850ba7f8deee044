import LarderModel
import LarderNormalize

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
    var size: Int64 { ReferenceTable.size(of: references) + Int64(skeleton.bytes.count) }
}

enum ReferenceColumn: Int32, TableColumn {
    case child, parent, members, id, skeleton

    static let ofParents = list([.parent, .members, .id, .skeleton])
}

/// The skeletons of normalized answers in one file, and which row refers to which entity, by the
/// keys of the rows.
final class ReferenceTable {
    struct Parent {
        let key: RowKey
        let id: EntryID
        let skeleton: Int64?
        let place: Reference.Place
    }

    let file: BodyFile
    let connection: SQLiteConnection
    private let parentsOf: String
    /// Skeletons that were read last.
    ///
    /// A skeleton never changes under its number.
    private var skeletons: [Int64: Skeleton] = [:]
    private var keptBytes = 0

    init(_ connection: SQLiteConnection, of file: BodyFile) {
        (self.connection, self.file) = (connection, file)
        parentsOf =
            file == .cache
            ? """
            SELECT \(ReferenceColumn.ofParents) FROM reference JOIN entry ON entry.key = parent
            WHERE child = :child
            """
            : """
            SELECT \(ReferenceColumn.ofParents) FROM reference JOIN claim ON claim = parent
            WHERE child = (SELECT claim FROM claim WHERE scope = :scope AND id = :id)
            """
    }

    func parents(
        of child: RowKey,
        _ name: TargetName?,
        limit: Int = .max
    ) throws(StoreError) -> [Parent] {
        let rows: SQLiteStatement
        if file == .cache {
            rows = try connection.statement(parentsOf, (":child", child.number))
        } else {
            guard let name else { return [] }
            rows = try connection.statement(parentsOf, of: name)
        }
        return try rows.all(atMost: limit) { row in
            guard let id = row.entryID(ReferenceColumn.id) else { return nil }
            let skeleton = row.integerOrNil(ReferenceColumn.skeleton)
            let bytes = row.bytes(ReferenceColumn.members)
            return Parent(
                key: name.map { RowKey($0.scope, id) }
                    ?? RowKey(row.integer(ReferenceColumn.parent)),
                id: id,
                skeleton: skeleton,
                place: skeleton == nil ? .init(membersIn: bytes) : .init(listsIn: bytes)
            )
        }
    }

    func skeleton(_ number: Int64) throws(StoreError) -> Skeleton? {
        if let known = skeletons[number] { return known }
        let sql = "SELECT data FROM skeleton WHERE skeleton = :skeleton"
        let found = try connection.statement(sql, (":skeleton", number)).first { row in
            try? Skeleton(Array(row.bytes(.only)))
        }
        guard let skeleton = found else { return nil }
        guard skeleton.bytes.count <= Limits.skeletonsKeptBytesMax / 8 else { return skeleton }
        if keptBytes + skeleton.bytes.count > Limits.skeletonsKeptBytesMax { forget() }
        skeletons[number] = skeleton
        keptBytes += skeleton.bytes.count
        return skeleton
    }

    /// The form of a normalized answer of this file; nil if it is damaged.
    func form(of row: NormalizedRow) throws(StoreError) -> AnswerForm? {
        guard let origin = row.entry.origin, let skeleton = try skeleton(row.skeleton),
            let template = try? Template(row.template, skeleton)
        else { return nil }
        return AnswerForm(template, skeleton, of: origin)
    }

    /// Drops the kept skeletons after a rollback, because other skeletons may get their numbers.
    func forget() {
        skeletons.removeAll()
        keptBytes = 0
    }

    func isReferred(to child: RowKey, by holds: (RowKey) -> Bool) throws(StoreError) -> Bool {
        var known: Set<RowKey> = [child]
        var waiting = [child]
        while let next = waiting.popLast(), known.count < Limits.followedParentsMax {
            let parents = try parents(of: next, nil, limit: Limits.followedParentsMax)
            for parent in parents where known.insert(parent.key).inserted {
                if holds(parent.key) { return true }
                if parent.skeleton == nil { waiting.append(parent.key) }
            }
        }
        return false
    }

    // MARK: Changes

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

    /// Takes a reference to a skeleton, and returns its number and the bytes that it adds to the
    /// file.
    ///
    /// Counts an answer more that has the skeleton, unless it is the `old` one. Users share
    /// skeletons whose bytes are the same.
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
    func release(_ number: Int64) throws(StoreError) -> Int64 {
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

/// Finds the answers that show a changed entity, in the references of both files.
///
/// An answer shows the entities in its own text, the entities that these refer to, and so on. The
/// reader first follows a change upward, from each entity to the rows that refer to it. For each
/// answer that it meets, the answer's skeleton says whether it leads down to a changed member.
struct ReferenceReader {
    struct Showing {
        var entries: [RowKey: (id: EntryID, changed: [EntityKey])] = [:]
        var isWhole = true
        var left = 0
    }

    let tables: [ReferenceTable]
    let residency: ResidencyIndex

    func parents(
        of child: RowKey,
        in scope: ScopeKey,
        _ id: EntryID,
        limit: Int
    ) throws(StoreError) -> [(ReferenceTable.Parent, ReferenceTable)] {
        var found: [(ReferenceTable.Parent, ReferenceTable)] = []
        for table in tables where found.count < limit {
            let name = TargetName(scope, id)
            for parent in try table.parents(of: child, name, limit: limit - found.count)
            where table.file == .state || !residency.isGarbage(parent.key) {
                found.append((parent, table))
            }
        }
        return found
    }

    /// At most `limit` references are followed, upward and downward; `isWanted` says which entries
    /// matter.
    func entries(
        showing changes: [EntityChange],
        in scope: ScopeKey,
        limit: Int,
        where isWanted: (EntryID) -> Bool = { _ in true }
    ) throws(StoreError) -> Showing {
        var showing = Showing()
        var left = limit
        var waiting = changes
        var known = Set(changes.map(\.name))
        var next = 0
        while next < waiting.count {
            let change = waiting[next]
            next += 1
            let above = try above(change, in: scope, &left, isWanted)
            guard above.isWhole else {
                showing.isWhole = false
                break
            }
            for (key, answer) in above.answers {
                guard let skeleton = try answer.table.skeleton(answer.skeleton),
                    above.isShown(change, by: answer, skeleton, &left)
                else { continue }
                showing.entries[key, default: (answer.id, [])].changed.append(change.name.key)
            }
            for id in above.placers {
                guard let name = id.entity else {
                    guard isWanted(id) else { continue }
                    let key = RowKey(scope, id)
                    showing.entries[key, default: (id, [])].changed.append(change.name.key)
                    continue
                }
                // Each answer that shows that entity shows the objects in it.
                guard known.insert(name).inserted else { continue }
                waiting.append(EntityChange(name, at: RowKey(scope, id), .created, change.event))
            }
        }
        showing.left = max(0, left)
        return showing
    }

    private struct Above {
        struct Answer {
            let id: EntryID
            let skeleton: Int64
            let table: ReferenceTable
            /// The entities in its own text, each with the lists by which it is shown there.
            var roots: [(child: RowKey, lists: [Int])] = []
        }

        var types: [RowKey: [UInt8]] = [:]
        var edges: [RowKey: [(child: RowKey, members: [[UInt8]])]] = [:]
        var answers: [RowKey: Answer] = [:]
        /// Documents into which unsettled effects put the entity, or one that shows it.
        var placers: [EntryID] = []
        var isWhole = true

        /// Whether an answer shows a change.
        ///
        /// The search goes from the answer's own text downward, and finds the lists by which each
        /// entity is shown. An answer that takes too long to search counts as one that shows the
        /// change.
        func isShown(
            _ change: EntityChange,
            by answer: Answer,
            _ skeleton: Skeleton,
            _ left: inout Int
        ) -> Bool {
            struct Place: Hashable {
                let entity: RowKey
                let list: Int
            }
            let goal = change.key
            var waiting = answer.roots.flatMap { root in
                root.lists.map { Place(entity: root.child, list: $0) }
            }
            var known = Set(waiting)
            while let place = waiting.popLast() {
                if place.entity == goal {
                    guard let members = change.members else { return true }
                    if skeleton.list(place.list, hasAnyOf: members) { return true }
                }
                for edge in edges[place.entity] ?? [] {
                    guard left > 0 else { return true }
                    let next = skeleton.places(
                        in: edge.members,
                        of: place.list,
                        type: types[edge.child] ?? []
                    )
                    left -= next.steps
                    // The list shows that the entity exists, even if it shows none of its members.
                    if edge.child == goal, change.members == nil, next.isListed { return true }
                    for list in next.lists {
                        let place = Place(entity: edge.child, list: list)
                        if known.insert(place).inserted { waiting.append(place) }
                    }
                }
            }
            return false
        }
    }

    private func above(
        _ change: EntityChange,
        in scope: ScopeKey,
        _ left: inout Int,
        _ isWanted: (EntryID) -> Bool
    ) throws(StoreError) -> Above {
        var above = Above()
        let first = change.key
        above.types[first] = Array(change.name.key.type.utf8)
        var waiting = [(key: first, id: EntryID(change.name))]
        while let (child, id) = waiting.popLast() {
            let limit = max(0, left) + 1
            for table in tables {
                above.placers += try table.placers(of: TargetName(scope, id))
            }
            for (parent, table) in try parents(of: child, in: scope, id, limit: limit) {
                guard left > 0 else {
                    above.isWhole = false
                    return above
                }
                left -= 1
                switch parent.place {
                case .answer(let lists):
                    guard let skeleton = parent.skeleton, isWanted(parent.id) else { continue }
                    let answer = Above.Answer(id: parent.id, skeleton: skeleton, table: table)
                    above.answers[parent.key, default: answer].roots.append((child, lists))
                case .entity(let members):
                    guard let name = parent.id.entity else { continue }
                    let key = parent.key
                    above.edges[key, default: []].append((child, members))
                    let type = Array(name.key.type.utf8)
                    if above.types.updateValue(type, forKey: key) == nil {
                        waiting.append((key, parent.id))
                    }
                }
            }
        }
        return above
    }
}
