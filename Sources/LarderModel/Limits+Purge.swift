/// Bounds of a purge.
extension Limits {
    /// How often it evicts what writes have released.
    package static let purgeRoundsMax = 8
}
