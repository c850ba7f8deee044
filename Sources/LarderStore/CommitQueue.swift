import DequeModule
import Dispatch
import LarderModel
import Synchronization

/// Feeds the writer of both files: takes everything that waits into one transaction over them,
/// answers after the commits.
///
/// The writer is used on the queue's own serial thread and nowhere else. When a command of a
/// group fails, the group is rolled back and each of its commands is run again alone, so that one
/// does not take the others with it: a command must not change anything but the writer. Where the
/// writer could do something about the failure, a command is run once more. What `state.db` has
/// committed stands, whatever becomes of `cache.db` then: a command that has a part in it is run again
/// only if it may be, as it stores an answer, of which the other part would be missing.
final class CommitQueue: Sendable {
    private struct Waiting {
        var commands = Deque<any CommitCommand>()
        var isDraining = false
        var isClosed = false
    }

    /// Hands the writer to the thread of `thread`.
    // A writer may be used by one thread at a time; it is touched on one serial queue only.
    private struct Confined: @unchecked Sendable {
        let writer: StoreWriter
    }

    private let waiting = Mutex(Waiting())
    private let held = Mutex(false)
    private let sizes = Mutex(Histogram())
    private let confined: Confined
    private let thread: DispatchQueue
    /// The moment that decides which blobs have expired, for evictions that no put brings along.
    private let now: @Sendable () -> Timestamp

    /// Takes the writer over: its maker uses it no more.
    init(_ writer: StoreWriter, now: @escaping @Sendable () -> Timestamp) {
        confined = Confined(writer: writer)
        thread = DispatchQueue(label: "larder.writer", qos: .userInitiated)
        self.now = now
    }

    /// Runs `work` in a transaction and returns after its commit.
    func submit<Value: Sendable>(
        isRepeatable: Bool = false,
        _ work: @escaping @Sendable (StoreWriter) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            enqueue(
                Task(isRepeatable: isRepeatable, work) { continuation.resume(returning: $0) }
            )
        }
        return try result.get()
    }

    /// The same for a thread that may wait: it is blocked until the commit.
    func submitBlocking<Value: Sendable>(
        _ work: @escaping @Sendable (StoreWriter) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        let answer = BlockingAnswer<Value>()
        enqueue(Task(work) { answer.give($0) })
        let isHeld = held.withLock { $0 }
        if isHeld { thread.resume() }
        defer { if isHeld { thread.suspend() } }
        return try answer.wait()
    }

    /// Has work done for which nobody waits; `done` is told after it, and whether it was committed.
    func post(
        _ work: @escaping @Sendable (StoreWriter) throws(StoreError) -> Void,
        done: @escaping @Sendable (_ hasSucceeded: Bool) -> Void = { _ in }
    ) {
        enqueue(
            Task(work) { result in
                if case .success = result { done(true) } else { done(false) }
            }
        )
    }

    /// Begins nothing until ``release()``, but what a thread waits for.
    func hold() {
        held.withLock { $0 = true }
        thread.suspend()
    }

    /// Blocks the calling thread until what was asked for so far is done.
    func release() {
        held.withLock { $0 = false }
        thread.resume()
        thread.sync {}
    }

    /// How many commands each transaction took.
    var groupSizes: Histogram { sizes.withLock { $0 } }

    /// Whether nothing waits and nothing is being carried out.
    var isQuiet: Bool { waiting.withLock { $0.commands.isEmpty && !$0.isDraining } }

    /// Whether nothing waits.
    var isIdle: Bool { waiting.withLock { $0.commands.isEmpty } }

    /// Returns once no housekeeping is left to be done, or none of it makes progress.
    func settle() async throws(StoreError) {
        while try await submit({ writer throws(StoreError) in !writer.housekeeping.isEmpty }) {}
    }

    /// Has the thread do what SQLite does not do inside a transaction.
    func outsideTransaction<Value: Sendable>(
        _ work: @escaping @Sendable (StoreWriter) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            thread.async { [confined] in
                let result = Result { () throws(StoreError) in try work(confined.writer) }
                continuation.resume(returning: result)
            }
        }
        return try result.get()
    }

    /// The same, of which nobody hears.
    func postOutsideTransaction(_ work: @escaping @Sendable (StoreWriter) -> Void) {
        thread.async { [confined] in work(confined.writer) }
    }

    /// Refuses commands from now on; those that wait are still carried out.
    func close() {
        waiting.withLock { $0.isClosed = true }
    }

    /// Starts the thread if there is housekeeping that it may have put off.
    func wake() {
        post { _ throws(StoreError) in }
    }

    func enqueue(_ command: any CommitCommand) {
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

    private func takeGroup() -> [any CommitCommand] {
        waiting.withLock { waiting in
            let count = min(waiting.commands.count, Limits.commitBatchMax)
            let group = Array(waiting.commands.prefix(count))
            waiting.commands.removeFirst(count)
            return group
        }
    }

    private func carryOut(_ group: [any CommitCommand], _ writer: StoreWriter) {
        sizes.withLock { $0.record(Int64(group.count)) }
        guard let left = transact(group, writer) else { return }
        let isRecovered = writer.recover(from: left.failure)
        guard left.commands.count > 1 || isRecovered || left.isPart else {
            for command in left.commands { command.finish(left.failure) }
            return
        }
        for command in left.commands {
            let isSaved = left.saved.contains(ObjectIdentifier(command))
            carryOutAlone(command, writer, isSaved: isSaved)
        }
    }

    /// Carries a command out by itself, and once more where something could be done about its failure.
    ///
    /// What it has saved in `state.db`, now or in its group, stands, as of any other.
    private func carryOutAlone(
        _ command: any CommitCommand,
        _ writer: StoreWriter,
        isSaved: Bool
    ) {
        var isSaved = isSaved
        for isLast in [false, true] {
            guard let left = transact([command], writer) else { return }
            let isRecovered = writer.recover(from: left.failure)
            // It has been told what `state.db` has committed.
            guard !left.commands.isEmpty else { return }
            isSaved = isSaved || !left.saved.isEmpty
            if isLast || !isRecovered { return command.finish(isSaved ? nil : left.failure) }
        }
    }

    /// Commands of which nothing was committed, or not all.
    private struct Left {
        let commands: [any CommitCommand]
        let failure: StoreError
        /// Those that have changed `state.db`, which is committed.
        var saved: Set<ObjectIdentifier> = []
        /// Whether something of their group was committed.
        var isPart = false
    }

    /// Carries a group out in one transaction over both files, and answers what was committed; the
    /// rest, if there is any.
    private func transact(_ group: [any CommitCommand], _ writer: StoreWriter) -> Left? {
        var saved: Set<ObjectIdentifier> = []
        do throws(StoreError) {
            try writer.begin()
            for command in group {
                try command.apply(to: writer)
                if writer.takeChangeOfState() { saved.insert(ObjectIdentifier(command)) }
            }
            try writer.commitState()
        } catch {
            writer.rollBack()
            return Left(commands: group, failure: error)
        }
        do throws(StoreError) {
            try writer.commitCache()
        } catch {
            writer.rollBack()
            var left: [any CommitCommand] = []
            for command in group {
                if saved.contains(ObjectIdentifier(command)), !command.isRepeatable {
                    command.finish(nil)
                } else {
                    left.append(command)
                }
            }
            return Left(commands: left, failure: error, saved: saved, isPart: !saved.isEmpty)
        }
        for command in group { command.finish(nil) }
        return nil
    }

    /// One step of what has to be done anyway for each file; false when there is nothing to do.
    private func keepHouse(_ writer: StoreWriter) -> Bool {
        writer.checkpointIfDue()
        var hasWorked = false
        for step in writer.housekeeping {
            let now = self.now()
            let work = Task<Void>(
                { writer throws(StoreError) in try writer.keepHouse(step, now: now) },
                finish: { _ in }
            )
            if let left = transact([work], writer) {
                _ = writer.recover(from: left.failure)
            } else {
                hasWorked = true
            }
        }
        return hasWorked
    }

    /// A command made of closures.
    private final class Task<Value: Sendable>: CommitCommand {
        private let work: @Sendable (StoreWriter) throws(StoreError) -> Value
        private let answer: @Sendable (Result<Value, StoreError>) -> Void
        private let value = Mutex<Value?>(nil)
        let isRepeatable: Bool

        init(
            isRepeatable: Bool = false,
            _ work: @escaping @Sendable (StoreWriter) throws(StoreError) -> Value,
            finish answer: @escaping @Sendable (Result<Value, StoreError>) -> Void
        ) {
            self.isRepeatable = isRepeatable
            self.work = work
            self.answer = answer
        }

        func apply(to writer: StoreWriter) throws(StoreError) {
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

/// An answer that a thread waits for.
private final class BlockingAnswer<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, StoreError>>(.failure(.closed))
    private let isGiven = DispatchSemaphore(value: 0)

    func give(_ result: Result<Value, StoreError>) {
        self.result.withLock { $0 = result }
        isGiven.signal()
    }

    func wait() throws(StoreError) -> Value {
        isGiven.wait()
        return try result.withLock { $0 }.get()
    }
}
