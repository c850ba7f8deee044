/// The store's own readers, off the event loops.
final class StoreReaders: Sendable {
    let bodies: BlockingReader
    private let clients: ClientReaders
    /// What has to be known to send and to settle: behind nothing that a client asks.
    private let sending: BlockingReader
    /// Whether the store can be read at all, and adds up.
    private let check: BlockingReader
    let make: @Sendable (StoreConfiguration.CacheConnection) -> sending StoreReader

    init(
        _ cache: DatabaseFile,
        _ configuration: StoreConfiguration,
        _ shared: SharedCacheState,
        _ state: StateFile
    ) {
        let make: @Sendable (StoreConfiguration.CacheConnection) -> sending StoreReader = {
            StoreReader(cache, cacheBytes: configuration.pageCacheBytes(of: $0), shared, state)
        }
        self.make = make
        bodies = BlockingReader("larder.bodies", make(.other))
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

    /// Throws `corrupt`, and has the file made anew, where the totals of `cache.db` are not those of its
    /// rows; no client's read waits for it.
    func checkTotals() async throws(StoreError) {
        try await check.read { reader throws(StoreError) in
            try reader.reading { file throws(StoreError) in
                try CacheContents.checkTotals(file.connection)
            }
        }
    }

    func hold() {
        clients.hold()
        for reader in [sending, check, bodies] { reader.hold() }
    }

    func release() {
        clients.release()
        for reader in [sending, check, bodies] { reader.release() }
    }
}

/// For whom something is read off the event loops, which says behind whom it may have to wait.
package enum Reading: Sendable {
    /// What somebody asks for: behind their own reads, and in turns with other users.
    case asked(by: User)
    /// What has to be known to send a modifier and to settle it: behind each other only.
    case sending
    /// Whether the store can be read at all: behind nothing else.
    case check

    package enum User: Hashable, Sendable {
        case uid(UInt32)
        /// What the daemon does by itself takes its turn like a user's.
        case daemon
    }

    /// For whom the reads of this task are.
    @TaskLocal package static var current = Reading.asked(by: .daemon)
}
