/// Bounds of a purge.
extension Limits {
    /// Time for which it waits for writes that are on their way.
    package static let purgeTime = Duration.seconds(60)
    /// Time between two looks at them.
    package static let purgePause = Duration.milliseconds(200)
    /// How often it evicts what writes have released.
    package static let purgeRoundsMax = 8
}
