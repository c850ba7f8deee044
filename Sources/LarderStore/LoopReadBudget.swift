import LarderModel
package import LarderNormalize

/// The work that one answer may still do on a thread for which other requests wait.
///
/// The budget counts work and not time, so the same answer is always made in the same place.
package final class LoopReadBudget {
    fileprivate struct Remaining {
        var bytes = Limits.loopReadBytesMax
        var changes = Limits.loopChangesMax
        var entities = Limits.loopEntitiesMax
        var steps = Limits.loopViewStepsMax
    }

    fileprivate var left: Remaining?

    var isBounded: Bool { left != nil }

    package func take(bytes: Int, changes: Int = 0, entities: Int = 0) throws(StoreError) {
        guard var left else { return }
        left.bytes -= bytes
        left.changes -= changes
        left.entities -= entities
        self.left = left
        if left.bytes < 0 || left.changes < 0 || left.entities < 0 { throw .overLoopBudget }
    }

    func admit(changes: Int) throws(StoreError) {
        if let left, changes > left.changes { throw .overLoopBudget }
    }

    func admitChunks() throws(StoreError) { if isBounded { throw .overLoopBudget } }

    /// Makes a view within the steps that are left here.
    ///
    /// `make` takes the steps that it needs, and says whether they were too few.
    package func viewing<View>(
        _ make: (inout Int) throws(StoreError) -> (View, isCut: Bool)
    ) throws(StoreError) -> View {
        var steps = left?.steps ?? Limits.viewStepsMax
        let (view, isCut) = try make(&steps)
        if isCut, isBounded { throw .overLoopBudget }
        left?.steps = steps
        return view
    }

    /// Puts answers of one origin together within what may be taken here; what comes out too large
    /// is to be given to ``check(_:)``.
    package func rebuilder(_ rules: EntityRules, bytesMax: Int) -> Rebuilder {
        let (bytes, work) =
            isBounded
            ? (min(bytesMax, Limits.inlineBodyBytesMax), Limits.loopRebuildWorkMax)
            : (bytesMax, Limits.rebuildWorkMax(bytesMax: bytesMax))
        return Rebuilder(rules, bytesMax: bytes, workMax: work)
    }

    /// Throws `overLoopBudget` for an answer that is too large here, but may not be elsewhere.
    package func check(_ outcome: RebuildOutcome) throws(StoreError) {
        if case .tooLarge = outcome { try admitChunks() }
    }
}

extension StoreReader {
    /// Reads one answer for an event loop; throws `overLoopBudget` where that would keep its other
    /// clients waiting, and then nothing is read that would show.
    package func briefly<Value>(
        _ work: (StoreReader) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        guard !loopBudget.isBounded else { return try work(self) }
        loopBudget.left = .init()
        defer { loopBudget.left = nil }
        return try work(self)
    }
}

extension Store {
    /// Reads one answer on the event loop that owns `loop`, or off the loops with the same work.
    ///
    /// The loop gives up a read that would keep its other clients waiting. Only this method decides
    /// that.
    package func read<Value: Sendable>(
        on loop: StoreReader,
        _ work: @escaping @Sendable (StoreReader) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        do throws(StoreError) {
            return try loop.briefly(work)
        } catch .overLoopBudget {
            return try await read(work)
        }
    }

    /// Does work on so many bytes that needs no file: here where they are few, else off the loops.
    package func work<Value: Sendable>(
        onBytes count: Int,
        _ work: @escaping @Sendable () -> Value
    ) async throws(StoreError) -> Value {
        if count <= Limits.inlineBodyBytesMax { return work() }
        return try await read { _ in work() }
    }
}
