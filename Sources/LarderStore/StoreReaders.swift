import Dispatch
import LarderModel
import Synchronization

final class StoreReaders: Sendable {
    private let clients: ClientReaders
    private let sending: BlockingReader
    private let check: BlockingReader
    let make: @Sendable (StoreConfiguration.CacheConnection) -> sending StoreReader

    init(_ shared: SharedCacheState, _ state: StateFile) {
        let make: @Sendable (StoreConfiguration.CacheConnection) -> sending StoreReader = {
            let cacheBytes = shared.configuration.pageCacheBytes(of: $0)
            return StoreReader(cacheBytes: cacheBytes, shared, state)
        }
        self.make = make
        clients = ClientReaders { make(.other) }
        sending = BlockingReader("larder.sending", make(.other))
        check = BlockingReader("larder.check", make(.other))
    }

    func read<Value: Sendable>(
        _ reading: Reading,
        _ work: @escaping @Sendable (StoreReader) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        switch reading {
        case .asked(let user): try await clients.read(by: user, work)
        case .sending: try await sending.read(work)
        case .check: try await check.read(work)
        }
    }

    func hold() {
        clients.hold()
        for reader in [sending, check] { reader.hold() }
    }

    func release() {
        clients.release()
        for reader in [sending, check] { reader.release() }
    }
}

/// The purpose of a read off the event loops, which decides which other reads it waits for.
package enum Reading: Sendable {
    /// A client's read: waits for its user's own reads, and takes turns with other users.
    case asked(by: User)
    /// A read for sending or settling a modifier: waits for other such reads only.
    case sending
    /// A check whether the store can be read at all: waits for no other read.
    case check

    package enum User: Hashable, Sendable {
        case uid(UInt32)
        /// The daemon's own reads take turns like a user's.
        case daemon
    }

    @TaskLocal package static var current = Reading.asked(by: .daemon)
}

/// A reader on a serial queue of its own, for reads that an event loop should not wait for.
final class BlockingReader: Sendable {
    // A StoreReader may be used by one thread at a time; it is used on the serial queue only.
    private struct UncheckedSendable: @unchecked Sendable {
        let reader: StoreReader
    }

    private let unchecked: UncheckedSendable
    private let queue: DispatchQueue

    init(_ label: String, _ reader: consuming sending StoreReader) {
        unchecked = UncheckedSendable(reader: reader)
        queue = DispatchQueue(label: label)
    }

    func read<Value: Sendable>(
        _ work: @escaping @Sendable (StoreReader) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            begin(work) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    func begin<Value: Sendable>(
        _ work: @escaping @Sendable (StoreReader) throws(StoreError) -> Value,
        _ tell: @escaping @Sendable (Result<Value, StoreError>) -> Void
    ) {
        queue.async { [unchecked] in
            let result = Result { () throws(StoreError) in try work(unchecked.reader) }
            unchecked.reader.endTransaction()
            tell(result)
        }
    }

    func wait() { queue.sync {} }
    func hold() { queue.suspend() }

    /// Ends the hold, and blocks the calling thread until all requested reads are done.
    func release() {
        queue.resume()
        wait()
    }
}

/// Several readers for what clients ask for, on serial queues; a read waits as ``FairReadQueue`` says.
final class ClientReaders: Sendable {
    private typealias Job = @Sendable (BlockingReader) -> Void

    private struct State {
        var turns = FairReadQueue<Job>()
        /// Idle readers; the one that was used last comes next, as its pages are warm.
        var idle: [BlockingReader]
        var isHeld = false
    }

    private let state: Mutex<State>

    init(_ make: () -> sending StoreReader) {
        let readers = 1...Limits.clientReadersMax
        state = Mutex(State(idle: readers.map { BlockingReader("larder.reads.\($0)", make()) }))
    }

    func read<Value: Sendable>(
        by user: Reading.User,
        _ work: @escaping @Sendable (StoreReader) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            let job: Job = { reader in
                reader.begin(work) { result in
                    self.ended(of: user, on: reader)
                    continuation.resume(returning: result)
                }
            }
            guard state.withLock({ $0.turns.asked(job, by: user) }) else {
                return continuation.resume(returning: .failure(.tooManyReads))
            }
            beginNext()
        }
        return try result.get()
    }

    private func beginNext() {
        while let (job, reader) = next() { job(reader) }
    }

    private func next(isReleasing: Bool = false) -> (Job, BlockingReader)? {
        state.withLock { state in
            guard !state.isHeld || isReleasing, let (_, job) = state.turns.next() else {
                return nil
            }
            guard let reader = state.idle.popLast() else {
                preconditionFailure("as many reads are begun as there are readers")
            }
            return (job, reader)
        }
    }

    private func ended(of user: Reading.User, on reader: BlockingReader) {
        state.withLock { state in
            state.turns.ended(of: user)
            state.idle.append(reader)
        }
        beginNext()
    }

    func hold() { state.withLock { $0.isHeld = true } }

    /// Does what was asked for so far, one read after the other.
    func release() {
        while let (job, reader) = next(isReleasing: true) {
            job(reader)
            reader.wait()
        }
        state.withLock { $0.isHeld = false }
        beginNext()
    }
}

/// Chooses the next waiting read: users take turns, each with a share of the readers.
///
/// A user's own reads begin in the order in which they came. Invariants:
///
/// - No more reads are begun than there are readers, and no more of one user than the share.
/// - A waiting user has begun its share, or all readers are taken.
struct FairReadQueue<Read> {
    private var waiting: [Reading.User: [Read]] = [:]
    private var order: [Reading.User] = []
    private var begun: Quota<Reading.User>

    init(
        readersMax: Int = Limits.clientReadersMax,
        shareMax: Int = Limits.clientReadersPerUserMax
    ) {
        begun = Quota(max: readersMax, each: shareMax)
    }

    func waitingCount(of user: Reading.User) -> Int { waiting[user]?.count ?? 0 }

    mutating func asked(_ read: Read, by user: Reading.User) -> Bool {
        let count = waitingCount(of: user)
        guard count < Limits.readsWaitingPerUserMax else { return false }
        if count == 0 { order.append(user) }
        waiting[user, default: []].append(read)
        return true
    }

    mutating func next() -> (user: Reading.User, read: Read)? {
        guard let place = order.firstIndex(where: { begun.take($0) }) else { return nil }
        let user = order.remove(at: place)
        guard var reads = waiting.removeValue(forKey: user) else { return nil }
        let read = reads.removeFirst()
        if !reads.isEmpty {
            waiting[user] = reads
            order.append(user)
        }
        return (user, read)
    }

    mutating func ended(of user: Reading.User) { begun.release(user) }
}
