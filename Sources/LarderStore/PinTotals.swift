package struct PinTotals: Equatable, Sendable {
    package var count: Int64 = 0
    /// Their accounted size: bodies, ids, headers and a fixed overhead for each.
    package var bytes: Int64 = 0
    package var maxBytes: Int64
    package var waiting: Int64 = 0
    package var users: [UInt32: User] = [:]

    package struct User: Equatable, Sendable {
        package var count: Int64 = 0
        package var bytes: Int64 = 0
    }

    package var failed: [UInt32: Int64] = [:]
    package var damaged: Int64 = 0
}
