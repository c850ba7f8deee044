import Synchronization

/// A number for each row of both files, which rises whenever the row may have changed: an answer
/// that is kept counts as long as no number of its rows has risen.
///
/// The writer raises them before it commits, so that nothing that was kept is given out from when
/// somebody may see the new. Until the commit is published the old may still be read, and nothing
/// is kept. Many rows share a number.
final class RowStamps: Sendable {
    private static let count = 1 << 16

    // Each number is an atomic: released as it is raised, acquired as it is read. The place never
    // moves, and is freed with the last reference to this.
    nonisolated(unsafe) private let numbers: UnsafeMutablePointer<Atomic<UInt32>>
    // Stored before numbers rise, released after the commit; acquired after a number is read.
    private let committing = Atomic<Bool>(false)

    init() {
        numbers = .allocate(capacity: Self.count)
        for place in 0..<Self.count { (numbers + place).initialize(to: Atomic(0)) }
    }

    deinit {
        numbers.deinitialize(count: Self.count)
        numbers.deallocate()
    }

    subscript(key: RowKey) -> UInt32 { numbers[Self.place(of: key)].load(ordering: .acquiring) }

    /// Whether rows with new numbers may still be read as they were; to be asked after a number.
    var isCommitting: Bool { committing.load(ordering: .acquiring) }

    func commitBegins(changing keys: [RowKey]) {
        committing.store(true, ordering: .relaxed)
        for key in keys { numbers[Self.place(of: key)].wrappingAdd(1, ordering: .releasing) }
    }

    func commitEnded() { committing.store(false, ordering: .releasing) }

    /// The last four bits of a key are zero.
    private static func place(of key: RowKey) -> Int {
        Int(truncatingIfNeeded: key.number >> 4) & (count - 1)
    }
}
