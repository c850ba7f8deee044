/// The store's own readers, off the event loops.
final class StoreReaders: Sendable {
    /// Chunks of large bodies.
    let bodies: BlockingReader
    private let clients: ClientReaders
    /// What has to be known to send and to settle: behind nothing that a client asks.
    private let sending: BlockingReader
    /// Whether the store can be read at all.
    private let check: BlockingReader
    /// Makes one more.
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

    /// Begins nothing until ``release()``.
    func hold() {
        clients.hold()
        for reader in [sending, check, bodies] { reader.hold() }
    }

    /// Blocks the calling thread until what was asked for so far is done.
    func release() {
        clients.release()
        for reader in [sending, check, bodies] { reader.release() }
    }
}
