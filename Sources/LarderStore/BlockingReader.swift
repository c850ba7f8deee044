import Dispatch

/// A reader on a serial queue of its own, for reads that an event loop should not wait for.
final class BlockingReader: Sendable {
    // A StoreReader may be used by one thread at a time; it is used on the serial queue only.
    private struct Confined: @unchecked Sendable {
        let reader: StoreReader
    }

    private let confined: Confined
    private let queue: DispatchQueue

    init(_ label: String, _ reader: consuming sending StoreReader) {
        confined = Confined(reader: reader)
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
        queue.async { [confined] in
            let result = Result { () throws(StoreError) in try work(confined.reader) }
            confined.reader.endTransaction()
            tell(result)
        }
    }

    func wait() { queue.sync {} }
    func hold() { queue.suspend() }

    /// Lets go, and blocks the calling thread until what was asked for so far is done.
    func release() {
        queue.resume()
        wait()
    }
}
