import Dispatch
import LarderModel
import LarderTestSupport

@testable import LarderStore

/// A writer and its queue without a store around them, so that a test can hold the writer up and
/// choose what waits.
final class WriterFixture {
    let shared: SharedCacheState
    let queue: CommitQueue
    let scope: ScopeKey
    /// What was answered, in the order of the answers.
    let answers = Recorder<Answer>()
    private let directory: TemporaryDirectory
    private let store: Store
    private let isHeld = Recorder<Bool>()
    private let letGo = DispatchSemaphore(value: 0)

    struct Answer: Equatable, Sendable {
        let name: String
        let error: StoreError?
    }

    init(maxBytes: Int64) throws {
        directory = try TemporaryDirectory()
        var configuration = StoreConfiguration(
            cacheDirectory: directory.path,
            stateDirectory: directory.path
        )
        configuration.maxBytes = ByteSize(bytes: maxBytes)
        configuration.reserveBytes = 0
        store = try Store(configuration, now: { .epoch }, newKeySeed: { 1 })
        shared = store.shared
        scope = shared.key(for: .first)
        queue = store.commits
    }

    /// Holds the writer up inside a transaction; returns once it is held.
    func hold() async throws {
        queue.post { [isHeld, letGo] writer throws(StoreError) in
            _ = try writer.cache
            isHeld.record(true)
            letGo.wait()
        }
        _ = try await isHeld.element(0)
    }

    func release() { letGo.signal() }

    var cachePath: String { directory.path("cache.db") }

    /// Lets the file have so many pages: one more and SQLite says that the disk is full.
    func limitPages(to count: Int) async throws {
        try await queue.submit { writer throws(StoreError) in
            try writer.cache.connection.execute("PRAGMA max_page_count=\(count)")
        }
    }

    func enqueuePut(_ id: String, _ bytes: [UInt8]) throws {
        let new = NewEntry.blob(scope, try EntryID(id), bytes)
        let command = CommitCommand(
            { writer throws(StoreError) in _ = try writer.cache.rows.put(new, now: .epoch) },
            finish: { [answers] result in
                if case .failure(let error) = result {
                    answers.record(Answer(name: id, error: error))
                } else {
                    answers.record(Answer(name: id, error: nil))
                }
            }
        )
        queue.enqueue(command)
    }
}
