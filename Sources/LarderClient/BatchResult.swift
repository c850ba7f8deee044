/// What is cached under several ids, as it was at one moment.
public struct BatchResult<Found: Sendable>: Sendable {
    /// What is there, in the order of the ids.
    public let found: [Found]
    /// The ids under which nothing is cached, in the order asked.
    public let missed: [String]
    /// The ids of which the origin has said that they are gone, in the order asked.
    public let deleted: [String]
}
