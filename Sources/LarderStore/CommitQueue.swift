import DequeModule
import Dispatch
import LarderModel
import Synchronization

/// Feeds the writer: takes everything that waits into one transaction, answers after the commit.
///
/// The writer is used on the queue's own serial thread and nowhere else. When a command of a
/// group fails, the group is rolled back and each of its commands is run again alone, so that one
/// does not take the others with it: a command must not change anything but the writer. Where the
/// writer could do something about the failure, a command is run once more.
final class CommitQueue<Writer: CommitWriter>: Sendable {
    private struct Waiting {
        var commands = Deque<any CommitCommand<Writer>>()
        var isDraining = false
        var isClosed = false
    }

    /// Hands the writer to the thread of `thread`.
    // A writer may be used by one thread at a time; it is touched on one serial queue only.
    private struct Confined: @unchecked Sendable {
        let writer: Writer
    }

    private let waiting = Mutex(Waiting())
    private let held = Mutex(false)
    private let sizes = Mutex(Histogram())
    private let confined: Confined
    private let thread: DispatchQueue
    /// The moment that decides which blobs have expired, for evictions that no put brings along.
    private let now: @Sendable () -> Timestamp

    /// Takes the writer over: its maker uses it no more.
    init(_ writer: Writer, label: String, now: @escaping @Sendable () -> Timestamp) {
        confined = Confined(writer: writer)
        thread = DispatchQueue(label: label, qos: .userInitiated)
        self.now = now
    }

    /// Runs `work` in a transaction and returns after its commit.
    func submit<Value: Sendable>(
        _ work: @escaping @Sendable (Writer) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            enqueue(Task(work) { continuation.resume(returning: $0) })
        }
        return try result.get()
    }

    /// The same for a thread that may wait: it is blocked until the commit.
    func submitBlocking<Value: Sendable>(
        _ work: @escaping @Sendable (Writer) throws(StoreError) -> Value
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
        _ work: @escaping @Sendable (Writer) throws(StoreError) -> Void,
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
        while try await submit({ writer throws(StoreError) in writer.nextHousekeeping != nil }) {}
    }

    /// Writes the WAL back; when it is truncated, waits for readers and cuts it to nothing.
    func checkpoint(truncating: Bool) async throws(StoreError) {
        try await outsideTransaction { writer throws(StoreError) in
            try writer.checkpoint(truncating: truncating)
        }
    }

    /// Has the thread do what SQLite does not do inside a transaction.
    func outsideTransaction<Value: Sendable>(
        _ work: @escaping @Sendable (Writer) throws(StoreError) -> Value
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
    func postOutsideTransaction(_ work: @escaping @Sendable (Writer) -> Void) {
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

    func enqueue(_ command: any CommitCommand<Writer>) {
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

    private func takeGroup() -> [any CommitCommand<Writer>] {
        waiting.withLock { waiting in
            let count = min(waiting.commands.count, Limits.commitBatchMax)
            let group = Array(waiting.commands.prefix(count))
            waiting.commands.removeFirst(count)
            return group
        }
    }

    private func carryOut(_ group: [any CommitCommand<Writer>], _ writer: Writer) {
        sizes.withLock { $0.record(Int64(group.count)) }
        guard let failure = transact(group, writer) else {
            for command in group { command.finish(nil) }
            return
        }
        let isRecovered = writer.recover(from: failure)
        guard group.count > 1 || isRecovered else {
            for command in group { command.finish(failure) }
            return
        }
        for command in group {
            command.finish(carryOutAlone(command, writer))
        }
    }

    private func carryOutAlone(
        _ command: any CommitCommand<Writer>,
        _ writer: Writer
    ) -> StoreError? {
        guard let failure = transact([command], writer) else { return nil }
        guard writer.recover(from: failure) else { return failure }
        return transact([command], writer)
    }

    /// One transaction; the error that rolled it back, if one did.
    private func transact(_ group: [any CommitCommand<Writer>], _ writer: Writer) -> StoreError? {
        do throws(StoreError) {
            try writer.begin()
            for command in group { try command.apply(to: writer) }
            try writer.commit()
            return nil
        } catch {
            writer.rollBack()
            return error
        }
    }

    /// One step of what has to be done anyway; false when there is nothing to do.
    private func keepHouse(_ writer: Writer) -> Bool {
        let now = self.now()
        if writer.wantsCheckpoint {
            do throws(StoreError) { try writer.checkpoint(truncating: false) } catch {
                _ = writer.recover(from: error)
            }
        }
        guard let step = writer.nextHousekeeping else { return false }
        let work = Task<Void>(
            { writer throws(StoreError) in try writer.keepHouse(step, now: now) },
            finish: { _ in }
        )
        guard let failure = transact([work], writer) else { return true }
        _ = writer.recover(from: failure)
        return false
    }

    /// A command made of closures.
    private final class Task<Value: Sendable>: CommitCommand {
        private let work: @Sendable (Writer) throws(StoreError) -> Value
        private let answer: @Sendable (Result<Value, StoreError>) -> Void
        private let value = Mutex<Value?>(nil)

        init(
            _ work: @escaping @Sendable (Writer) throws(StoreError) -> Value,
            finish answer: @escaping @Sendable (Result<Value, StoreError>) -> Void
        ) {
            self.work = work
            self.answer = answer
        }

        func apply(to writer: Writer) throws(StoreError) {
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
