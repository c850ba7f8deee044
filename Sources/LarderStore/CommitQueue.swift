import DequeModule
import Dispatch
import LarderModel
import Synchronization

/// Feeds the writer: takes everything that waits into one transaction, answers after the commit.
///
/// The writer is used on the queue's own serial thread and nowhere else. When a command of a
/// group fails, the group is rolled back and each of its commands is run again alone, so that one
/// does not take the others with it: a command must not change anything but the writer.
final class CommitQueue: Sendable {
    /// What a caller waits for.
    protocol Command: AnyObject, Sendable {
        /// Carries it out inside a transaction; remembers what came of it.
        func apply(to writer: CacheWriter) throws(StoreError)
        /// Tells the caller: what ``apply(to:)`` remembered, or why nothing of it is there.
        func finish(_ error: StoreError?)
    }

    private struct Waiting {
        var commands = Deque<any Command>()
        var isDraining = false
        var isClosed = false
    }

    /// Hands the writer to the thread of `thread`.
    // A CacheWriter may be used by one thread at a time; only drain() touches it, which runs on
    // one serial queue.
    private struct Confined: @unchecked Sendable {
        let writer: CacheWriter
    }

    private let waiting = Mutex(Waiting())
    private let confined: Confined
    private let thread = DispatchQueue(label: "larder.cache-writer", qos: .userInitiated)
    /// The moment that decides which blobs have expired, for evictions that no put brings along.
    private let now: @Sendable () -> Timestamp

    /// Takes the writer over: its maker uses it no more.
    init(_ writer: CacheWriter, now: @escaping @Sendable () -> Timestamp) {
        confined = Confined(writer: writer)
        self.now = now
    }

    /// Runs `work` in a transaction and returns after its commit.
    func submit<Value: Sendable>(
        _ work: @escaping @Sendable (CacheWriter) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            enqueue(Task(work) { continuation.resume(returning: $0) })
        }
        return try result.get()
    }

    /// Has work done of which nobody hears.
    func post(_ work: @escaping @Sendable (CacheWriter) throws(StoreError) -> Void) {
        enqueue(Task(work) { _ in })
    }

    /// Whether nothing waits.
    var isIdle: Bool { waiting.withLock { $0.commands.isEmpty } }

    /// Returns once no housekeeping is left to be done, or none of it makes progress.
    func settle() async throws(StoreError) {
        while try await submit({ writer throws(StoreError) in writer.nextHousekeeping != nil }) {}
    }

    /// Writes the WAL back; when it is truncated, waits for readers and cuts it to nothing.
    func checkpoint(truncating: Bool) async throws(StoreError) {
        try await outsideTransaction { writer throws(StoreError) in
            try writer.checkpoint(truncating: truncating)
        }
    }

    /// Writes the file anew if it holds little for its size.
    func rebuildIfWorthIt() async throws(StoreError) {
        try await outsideTransaction { writer throws(StoreError) in
            guard try writer.wantsRebuild() else { return }
            try writer.rebuild()
        }
    }

    /// Has the thread do what SQLite does not do inside a transaction.
    private func outsideTransaction(
        _ work: @escaping @Sendable (CacheWriter) throws(StoreError) -> Void
    ) async throws(StoreError) {
        let result: Result<Void, StoreError> = await withCheckedContinuation { continuation in
            thread.async { [confined] in
                let result = Result { () throws(StoreError) in try work(confined.writer) }
                continuation.resume(returning: result)
            }
        }
        try result.get()
    }

    /// Refuses commands from now on; those that wait are still carried out.
    func close() {
        waiting.withLock { $0.isClosed = true }
    }

    /// Starts the thread if there is housekeeping that it may have put off.
    func wake() {
        post { _ throws(StoreError) in }
    }

    func enqueue(_ command: any Command) {
        let verdict: (refusal: StoreError?, mustStart: Bool) = waiting.withLock { waiting in
            if waiting.isClosed { return (.closed, false) }
            if waiting.commands.count >= Limits.writerQueueMax { return (.overloaded, false) }
            waiting.commands.append(command)
            defer { waiting.isDraining = true }
            return (nil, !waiting.isDraining)
        }
        if let refusal = verdict.refusal { command.finish(refusal) }
        if verdict.mustStart { thread.async { self.drain() } }
    }

    /// Carries out what waits, and between two groups one step of housekeeping, until neither is
    /// left.
    private func drain() {
        let writer = confined.writer
        while true {
            let group = takeGroup()
            if !group.isEmpty { carryOut(group, writer) }
            let isIdle = !keepHouse(writer)
            let isDone = waiting.withLock { waiting in
                guard isIdle, waiting.commands.isEmpty else { return false }
                waiting.isDraining = false
                return true
            }
            if isDone { return }
        }
    }

    private func takeGroup() -> [any Command] {
        waiting.withLock { waiting in
            let count = min(waiting.commands.count, Limits.commitBatchMax)
            let group = Array(waiting.commands.prefix(count))
            waiting.commands.removeFirst(count)
            return group
        }
    }

    private func carryOut(_ group: [any Command], _ writer: CacheWriter) {
        guard let failure = transact(group, writer) else {
            for command in group { command.finish(nil) }
            return
        }
        guard group.count > 1 else {
            for command in group { command.finish(failure) }
            return
        }
        for command in group {
            command.finish(transact([command], writer))
        }
    }

    /// One transaction; the error that rolled it back, if one did.
    private func transact(_ group: [any Command], _ writer: CacheWriter) -> StoreError? {
        do throws(StoreError) {
            try writer.begin()
            for command in group { try command.apply(to: writer) }
            try writer.commit()
            return nil
        } catch {
            writer.rollBack()
            writer.noteFailure(error)
            return error
        }
    }

    /// One step of what has to be done anyway; false when there is nothing to do.
    private func keepHouse(_ writer: CacheWriter) -> Bool {
        let now = self.now()
        if writer.walSize.wantsCheckpoint {
            do throws(StoreError) { try writer.checkpoint(truncating: false) } catch {
                writer.noteFailure(error)
            }
        }
        guard let step = writer.nextHousekeeping else { return false }
        return transact(
            [
                Task(
                    { writer throws(StoreError) in
                        try writer.keepHouse(step, now: now)
                    },
                    finish: { _ in }
                )
            ],
            writer
        ) == nil
    }

    /// A command made of closures.
    private final class Task<Value: Sendable>: Command {
        private let work: @Sendable (CacheWriter) throws(StoreError) -> Value
        private let answer: @Sendable (Result<Value, StoreError>) -> Void
        private let value = Mutex<Value?>(nil)

        init(
            _ work: @escaping @Sendable (CacheWriter) throws(StoreError) -> Value,
            finish answer: @escaping @Sendable (Result<Value, StoreError>) -> Void
        ) {
            self.work = work
            self.answer = answer
        }

        func apply(to writer: CacheWriter) throws(StoreError) {
            let made = try work(writer)
            value.withLock { $0 = made }
        }

        func finish(_ error: StoreError?) {
            let made = value.withLock { $0 }
            if let error {
                answer(.failure(error))
            } else if let made {
                answer(.success(made))
            } else {
                answer(.failure(.closed))
            }
        }
    }
}
