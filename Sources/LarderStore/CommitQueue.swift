import DequeModule
import Dispatch
import LarderModel
import Synchronization

/// Feeds the writer of both files: runs everything that waits in one transaction over them, and
/// answers after the commits.
///
/// The queue uses the writer on its serial thread only. When a command of a group fails, the queue
/// rolls the group back and runs each command again alone. So a command must change nothing except
/// the writer. If the writer could do something about the failure, the queue runs the command once
/// more.
///
/// Changes that `state.db` has committed count, even if `cache.db` fails after that. The queue runs
/// a command with a part there again only if it stores an answer, whose other part would be
/// missing.
///
/// Work outside transactions waits in the same line as commands, so it has its turn although
/// commands never stop.
final class CommitQueue: Sendable {
    private enum Item {
        case command(CommitCommand)
        case outside(@Sendable (StoreWriter) -> Void)
    }

    private struct Waiting {
        var items = Deque<Item>()
        var isDraining = false
        var isClosed = false

        mutating func append(_ item: Item) -> Bool {
            items.append(item)
            defer { isDraining = true }
            return !isDraining
        }

        /// The commands of the next transaction, and what comes after them outside of one.
        mutating func takeTurn() -> ([CommitCommand], outside: (@Sendable (StoreWriter) -> Void)?) {
            var group: [CommitCommand] = []
            while group.count < Limits.commitBatchMax, let item = items.popFirst() {
                switch item {
                case .command(let command): group.append(command)
                case .outside(let work): return (group, work)
                }
            }
            return (group, nil)
        }
    }

    // A writer may be used by one thread at a time; it is touched on one serial queue only.
    private struct UncheckedSendable: @unchecked Sendable {
        let writer: StoreWriter
    }

    private let waiting = Mutex(Waiting())
    private let held = Mutex(false)
    private let sizes = Mutex(Histogram())
    private let unchecked: UncheckedSendable
    private let shared: SharedCacheState
    private let thread: DispatchQueue

    init(_ writer: StoreWriter) {
        unchecked = UncheckedSendable(writer: writer)
        shared = writer.shared
        thread = DispatchQueue(label: "larder.writer", qos: .userInitiated)
    }

    enum CacheUse: Sendable {
        case required
        /// If `cache.db` fails while any row is durable, the command runs again without it.
        case optional
        /// If `cache.db` fails twice, the command runs without it only if the file with the base is
        /// lost.
        ///
        /// A base that cannot be read now is still there. Taken for unknown, it would go as soon as
        /// it can be read again.
        case readsBase
    }

    func submit<Value: Sendable>(
        isRepeatable: Bool = false,
        promotes: Bool = false,
        cache: CacheUse = .required,
        _ work: @escaping @Sendable (StoreWriter) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let generation = shared.generation
        let first = await run(isRepeatable, promotes, work)
        guard case .failure(let error) = first, isOfCache(error) else { return try first.get() }
        switch cache {
        case .required: throw error
        case .optional:
            guard !shared.residency.isEmpty else { throw error }
            let second = await runWithoutCache(work)
            // The command needs `cache.db` after all.
            if case .failure(.noFile) = second { throw error }
            return try second.get()
        case .readsBase:
            // The first failure may have been a passing one.
            let second = await run(isRepeatable, promotes, work)
            guard case .failure(let error) = second, isOfCache(error) else {
                return try second.get()
            }
            if try await isLost(generation) { return try await runWithoutCache(work).get() }
            switch error {
            case .sqlite, .corrupt:
                throw .noFile(reason: "what it changes cannot be read, \(error.message)")
            case _: throw error
            }
        }
    }

    private func run<Value: Sendable>(
        _ isRepeatable: Bool,
        _ promotes: Bool,
        _ work: @escaping @Sendable (StoreWriter) throws(StoreError) -> Value
    ) async -> Result<Value, StoreError> {
        await withCheckedContinuation { continuation in
            let command = CommitCommand(isRepeatable: isRepeatable, promotes: promotes, work) {
                continuation.resume(returning: $0)
            }
            enqueue(command)
        }
    }

    private func runWithoutCache<Value: Sendable>(
        _ work: @escaping @Sendable (StoreWriter) throws(StoreError) -> Value
    ) async -> Result<Value, StoreError> {
        await run(false, false) { writer throws(StoreError) in
            try writer.leavingOutCache { () throws(StoreError) in try work(writer) }
        }
    }

    private func isOfCache(_ error: StoreError) -> Bool {
        switch error {
        case .noFile, .noRoom, .keyTaken, .tooLarge, .uploadLost: true
        case _: error.file == shared.cacheFile.path
        }
    }

    private func isLost(_ generation: Generation) async throws(StoreError) -> Bool {
        let isGone = try await outsideTransaction { writer throws(StoreError) in
            writer.files.cache.isGone
        }
        let now = shared.generation
        return isGone || now.hasFile && now != generation
    }

    /// Runs `work` in a transaction and blocks the calling thread, which may wait, until its
    /// commit.
    func submitBlocking<Value: Sendable>(
        _ work: @escaping @Sendable (StoreWriter) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        let (answer, isGiven) = (Answer<Value>(), DispatchSemaphore(value: 0))
        let command = CommitCommand(work) { result in
            answer.give(result)
            isGiven.signal()
        }
        enqueue(command)
        let isHeld = held.withLock { $0 }
        if isHeld { thread.resume() }
        defer { if isHeld { thread.suspend() } }
        isGiven.wait()
        return try answer.given.get()
    }

    func post(_ work: @escaping @Sendable (StoreWriter) throws(StoreError) -> Void) {
        enqueue(CommitCommand(work) { _ in })
    }

    /// Begins no more work until ``release()``, except work that a thread waits for.
    func hold() {
        held.withLock { $0 = true }
        thread.suspend()
    }

    func release() {
        held.withLock { $0 = false }
        thread.resume()
        thread.sync {}
    }

    var groupSizes: Histogram { sizes.withLock { $0 } }
    var isIdle: Bool { waiting.withLock { $0.items.isEmpty } }

    /// Returns once no maintenance is left, or none of it makes progress.
    ///
    /// Work that the commands so far have posted after their commit is done then, too.
    func settle() async throws(StoreError) {
        try await submit { _ throws(StoreError) in }
        while try await submit({ writer throws(StoreError) in !writer.maintenance.isEmpty }) {}
    }

    func outsideTransaction<Value: Sendable>(
        _ work: @escaping @Sendable (StoreWriter) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            postOutsideTransaction { writer in
                continuation.resume(returning: Result { () throws(StoreError) in try work(writer) })
            }
        }
        return try result.get()
    }

    func postOutsideTransaction(_ work: @escaping @Sendable (StoreWriter) -> Void) {
        let mustStart = waiting.withLock { $0.append(.outside(work)) }
        if mustStart { thread.async { self.drain() } }
    }

    /// Writes a file's WAL back; when it is truncated, waits for readers and cuts it to nothing.
    func checkpoint(_ file: BodyFile, truncating: Bool) async throws(StoreError) {
        _ = try await outsideTransaction { writer throws(StoreError) in
            switch file {
            case .cache: try writer.files.cache.checkpoint(truncating: truncating)
            case .state: try writer.files.state.wal.checkpoint(truncating: truncating)
            }
        }
    }

    func close() { waiting.withLock { $0.isClosed = true } }

    func wake() { post { _ throws(StoreError) in } }

    func enqueue(_ command: CommitCommand) {
        let verdict: (refusal: StoreError?, mustStart: Bool) = waiting.withLock { waiting in
            if waiting.isClosed { return (.closed, false) }
            if waiting.items.count >= Limits.writerQueueMax { return (.overloaded, false) }
            return (nil, waiting.append(.command(command)))
        }
        if let refusal = verdict.refusal { command.finish(refusal) }
        if verdict.mustStart { thread.async { self.drain() } }
    }

    private func drain() {
        let writer = unchecked.writer
        while true {
            let (group, outside) = waiting.withLock { $0.takeTurn() }
            var rest = group[...]
            while !rest.isEmpty { rest = rest.dropFirst(nextGroup(of: rest, writer).count) }
            outside?(writer)
            let isIdle = !runMaintenance(writer)
            let isDone = waiting.withLock { waiting in
                guard isIdle, waiting.items.isEmpty else { return false }
                waiting.isDraining = false
                return true
            }
            if isDone { return }
        }
    }

    private func nextGroup(
        of waiting: ArraySlice<CommitCommand>,
        _ writer: StoreWriter
    ) -> [CommitCommand] {
        var group = Array(waiting)
        defer { sizes.withLock { $0.record(Int64(group.count)) } }
        guard let left = transact(&group, writer) else { return group }
        let isRecovered = writer.recover(from: left.failure)
        guard left.commands.count > 1 || isRecovered || !left.saved.isEmpty else {
            writer.noteRefusal(left.failure)
            for command in left.commands { command.finish(left.failure) }
            return group
        }
        for command in left.commands {
            let isSaved = left.saved.contains(ObjectIdentifier(command))
            carryOutAlone(command, writer, isSaved: isSaved)
        }
        return group
    }

    /// Runs a command alone, and once more if the writer could do something about its failure.
    ///
    /// Changes that it has saved in `state.db`, now or in its group, count.
    private func carryOutAlone(_ command: CommitCommand, _ writer: StoreWriter, isSaved: Bool) {
        var isSaved = isSaved
        for isLast in [false, true] {
            var group = [command]
            guard let left = transact(&group, writer) else { return }
            let isRecovered = writer.recover(from: left.failure)
            // The command has its answer, as `state.db` has committed.
            guard !left.commands.isEmpty else { return }
            isSaved = isSaved || !left.saved.isEmpty
            guard isLast || !isRecovered else { continue }
            writer.noteRefusal(left.failure)
            return command.finish(isSaved ? nil : left.failure)
        }
    }

    private struct UncommittedCommands {
        let commands: [CommitCommand]
        let failure: StoreError
        /// Commands that have changed `state.db`, which is committed.
        var saved: Set<ObjectIdentifier> = []
    }

    /// Runs a group in one transaction over both files, and answers its committed commands.
    ///
    /// Returns the rest. If `cache.db` has changed, the group ends before a command that promotes
    /// rows: `state.db` takes over committed rows of `cache.db` only.
    private func transact(
        _ group: inout [CommitCommand],
        _ writer: StoreWriter
    ) -> UncommittedCommands? {
        var saved: Set<ObjectIdentifier> = []
        do throws(StoreError) {
            try writer.begin()
            for (place, command) in group.enumerated() {
                if command.promotes, place > 0, writer.hasChangedCache {
                    group.removeSubrange(place...)
                    break
                }
                try command.apply(writer)
                try writer.checkTransactions()
                if writer.takeChangeOfState() { saved.insert(ObjectIdentifier(command)) }
            }
            try writer.commitState()
        } catch {
            writer.rollBack()
            return UncommittedCommands(commands: group, failure: error)
        }
        do throws(StoreError) {
            try writer.commitCache()
        } catch {
            writer.rollBack()
            var left: [CommitCommand] = []
            for command in group {
                if saved.contains(ObjectIdentifier(command)), !command.isRepeatable {
                    command.finish(nil)
                } else {
                    left.append(command)
                }
            }
            return UncommittedCommands(commands: left, failure: error, saved: saved)
        }
        for command in group { command.finish(nil) }
        return nil
    }

    /// Runs one step of maintenance for each file; false when there is nothing to do.
    private func runMaintenance(_ writer: StoreWriter) -> Bool {
        writer.checkpointIfDue()
        var hasWorked = false
        for step in writer.maintenance {
            let work = CommitCommand(
                { writer throws(StoreError) in try writer.runMaintenance(step) },
                finish: { _ in }
            )
            var group = [work]
            if let left = transact(&group, writer) {
                _ = writer.recover(from: left.failure)
            } else {
                hasWorked = true
            }
        }
        return hasWorked
    }
}

final class CommitCommand: Sendable {
    /// Whether the command may run once more after `state.db` has committed its part.
    let isRepeatable: Bool
    /// Whether it may take rows of `cache.db` over into `state.db`.
    let promotes: Bool
    /// Runs the command inside a transaction, and keeps the result for `finish`.
    let apply: @Sendable (StoreWriter) throws(StoreError) -> Void
    let finish: @Sendable (StoreError?) -> Void

    init<Value: Sendable>(
        isRepeatable: Bool = false,
        promotes: Bool = false,
        _ work: @escaping @Sendable (StoreWriter) throws(StoreError) -> Value,
        finish tell: @escaping @Sendable (Result<Value, StoreError>) -> Void
    ) {
        let answer = Answer<Value>()
        self.isRepeatable = isRepeatable
        self.promotes = promotes
        apply = { writer throws(StoreError) in answer.give(.success(try work(writer))) }
        finish = { error in tell(error.map { .failure($0) } ?? answer.given) }
    }
}

private final class Answer<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, StoreError>>(.failure(.closed))

    var given: Result<Value, StoreError> { result.withLock { $0 } }
    func give(_ result: Result<Value, StoreError>) { self.result.withLock { $0 = result } }
}
