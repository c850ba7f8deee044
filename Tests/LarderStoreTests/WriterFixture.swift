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
    private let isHeld = Recorder<Bool>()
    private let letGo = DispatchSemaphore(value: 0)

    struct Answer: Equatable, Sendable {
        let name: String
        let error: StoreError?
    }

    init(maxBytes: Int64) throws {
        directory = try TemporaryDirectory()
        let file = DatabaseFile(
            path: directory.path("cache.db"),
            schema: .cache,
            synchronous: "NORMAL",
            faults: nil
        )
        let opened = try CacheOpening(file: file, newKeySeed: { 1 })
        shared = SharedCacheState(keySeed: opened.keySeed)
        scope = shared.key(for: .first)
        let state = try StateFile(
            directory: directory.path,
            highest: opened.highestRevision,
            faults: nil
        )
        var configuration = StoreConfiguration(
            cacheDirectory: directory.path,
            stateDirectory: directory.path
        )
        configuration.maxBytes = ByteSize(bytes: maxBytes)
        let writer = try CacheWriter(
            connection: opened.connection,
            configuration: configuration,
            shared: shared,
            revisions: try state.makeRevisionSource()
        )
        queue = CommitQueue(writer, now: { .epoch })
    }

    /// Holds the writer up inside a transaction; returns once it is held.
    func hold() async throws {
        queue.post { [isHeld, letGo] _ throws(StoreError) in
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
            try writer.connection.execute("PRAGMA max_page_count=\(count)")
        }
    }

    func enqueuePut(_ id: String, _ bytes: [UInt8]) throws {
        let new = NewEntry.blob(scope, try EntryID(id), bytes)
        queue.enqueue(Put(name: id, new: new, answers: answers))
    }

    private final class Put: CommitQueue.Command {
        private let name: String
        private let new: NewEntry
        private let answers: Recorder<Answer>

        init(name: String, new: NewEntry, answers: Recorder<Answer>) {
            self.name = name
            self.new = new
            self.answers = answers
        }

        func apply(to writer: CacheWriter) throws(StoreError) {
            _ = try writer.put(new, now: .epoch)
        }

        func finish(_ error: StoreError?) {
            answers.record(Answer(name: name, error: error))
        }
    }
}
