import LarderModel

extension CacheStore {
    /// Runs a command once its condition holds and the large bodies that it needs are copied.
    ///
    /// A round copies the bodies that the command has named, or checks the condition of a row that has
    /// changed since the last check.
    func submit<Value: Sendable>(
        if condition: WriteCondition? = nil,
        now: Timestamp,
        isRepeatable: Bool = false,
        promotes: @autoclosure () -> Bool = false,
        cache: CommitQueue.CacheUse = .required,
        _ command:
            @escaping @Sendable (StoreWriter, CopiedBodies) throws(StoreError)
            -> Entrance<Value>
    ) async throws(StoreError) -> Value {
        var copied: CopiedBodies = [:]
        // A body that a row links by now stays.
        defer { for copy in copied.values { bodies.abandon(copy.upload) } }
        for _ in 0..<Limits.commandRoundsMax {
            let seen = try await condition?.check(readers)
            let entrance = try await commits.submit(
                isRepeatable: isRepeatable && condition == nil,
                promotes: promotes(),
                cache: cache
            ) { [copied] writer throws(StoreError) -> Entrance<Value> in
                guard try writer.isStill(seen) else { return .needs([]) }
                return try command(writer, copied)
            }
            switch entrance {
            case .done(let value): return value
            case .refused(let error): throw error
            case .needs(let large): try await bodies.copy(large, into: &copied, now: now)
            }
        }
        throw .overloaded
    }
}
