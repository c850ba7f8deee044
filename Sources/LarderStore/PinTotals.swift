/// What the pins hold, as of the last commit.
package struct PinTotals: Equatable, Sendable {
    package var count: Int64 = 0
    /// Their accounted size: bodies, ids, headers and a fixed overhead for each.
    package var bytes: Int64 = 0
    package var maxBytes: Int64
    package var waiting: Int64 = 0
    /// How many pins each user has, and their bytes.
    package var users: [UInt32: User] = [:]

    package struct User: Equatable, Sendable {
        package var count: Int64 = 0
        package var bytes: Int64 = 0
    }

    /// How many pins each user has that neither hold anything nor wait for it.
    package var failed: [UInt32: Int64] = [:]
    /// Reads that met damaged bytes since the start.
    package var damaged: Int64 = 0

    package init(maxBytes: Int64) {
        self.maxBytes = maxBytes
    }
}
