/// Which `cache.db` it is since the start: it moves when the file is lost, and when there is a new
/// one.
struct Generation: Hashable, Sendable {
    /// Even while there is a file, odd while there is none.
    let number: Int64

    static let none = Generation(number: 1)

    var hasFile: Bool { number.isMultiple(of: 2) }
}
