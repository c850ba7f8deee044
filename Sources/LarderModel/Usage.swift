/// Number and size of rows.
package struct UsageRows: Equatable, Sendable {
    package var entries: Int64
    /// The accounted size: bodies, ids, headers and the fixed cost of rows.
    package var bytes: Int64
    /// The bodies alone.
    package var bodyBytes: Int64

    package init(entries: Int64 = 0, bytes: Int64 = 0, bodyBytes: Int64 = 0) {
        self.entries = entries
        self.bytes = bytes
        self.bodyBytes = bodyBytes
    }
}

/// The rows that have a name in common.
package struct UsageGroup: Equatable, Sendable {
    /// Nil where the rows have none.
    package var name: String?
    package var rows: UsageRows

    package init(name: String?, rows: UsageRows) {
        self.name = name
        self.rows = rows
    }
}

/// Usage of the shared parts of normalized answers, and of their references.
package struct NormalizedUsage: Equatable, Sendable {
    /// How many there are, and their accounted size.
    package struct Count: Equatable, Sendable {
        package var count: Int64
        package var bytes: Int64

        package init(count: Int64 = 0, bytes: Int64 = 0) {
            self.count = count
            self.bytes = bytes
        }
    }

    /// The rows of entities.
    package var entities = Count()
    /// Shapes of answers; a shape that several scopes have counts for each.
    package var skeletons = Count()
    /// Part of the sizes of the rows that refer.
    package var references = Count()

    package init() {}
}
