import LarderModel

/// The bytes of each user's rows in `cache.db`; rows that all users share belong to no user.
struct OwnerTotals: Equatable {
    /// The column `owner` of a row that all users share.
    static let shared: Int64 = -1
    static let owners = shared...Int64(UInt32.max)

    private(set) var bytes: [Int64: Int64] = [:]

    init() {}

    /// Throws `corrupt` for an owner or a sum that no file of ours has.
    init(reading connection: SQLiteConnection) throws(StoreError) {
        let totals = "SELECT owner, total(size) AS bytes FROM recency GROUP BY owner"
        let sums = try connection.prepare(totals)
        while try sums.step() {
            let (owner, sum) = (sums.integer("owner"), sums.integer("bytes"))
            guard Self.owners.contains(owner), Limits.accountedBytes.contains(sum) else {
                throw .corrupt(file: connection.path, step: "sum up the rows of each user")
            }
            add(sum, to: owner)
        }
    }

    mutating func add(_ added: Int64, to owner: Int64) {
        guard owner != Self.shared else { return }
        let sum = (bytes[owner] ?? 0) + added
        bytes[owner] = sum > 0 ? sum : nil
    }

    /// The user with the most bytes above `share`, as far as there is more than one user.
    func largest(above share: Int64, where isWanted: (Int64) -> Bool) -> Int64? {
        guard bytes.count > 1 else { return nil }
        let wanted = bytes.filter { $0.value > share && isWanted($0.key) }
        return wanted.max { ($0.value, -$0.key) < ($1.value, -$1.key) }?.key
    }
}

extension ScopeKey {
    var owner: Int64 { scope.uid.map(Int64.init) ?? OwnerTotals.shared }
}
