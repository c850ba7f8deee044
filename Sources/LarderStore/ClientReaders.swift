import LarderModel
import Synchronization

/// Several readers for what clients ask for, on serial queues; a read waits as ``ReadTurns`` says.
final class ClientReaders: Sendable {
    private typealias Job = @Sendable (BlockingReader) -> Void

    private struct State {
        var turns = ReadTurns<Job>()
        /// Those that read nothing now; the one that was used last comes next, as its pages are warm.
        var idle: [BlockingReader]
        var isHeld = false
    }

    private let state: Mutex<State>

    init(_ make: () -> sending StoreReader) {
        var readers: [BlockingReader] = []
        for number in 1...Limits.clientReadersMax {
            readers.append(BlockingReader("larder.reads.\(number)", make()))
        }
        state = Mutex(State(idle: readers))
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
