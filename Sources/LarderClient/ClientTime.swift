import FoundationEssentials

/// The client's source of pauses and of random numbers; tests replace it.
package struct ClientTime: Sendable {
    /// Returns after a pause; throws only when the calling task is cancelled.
    package let pause: @Sendable (Duration) async throws(CancellationError) -> Void
    /// A number in 0..<1.
    package let randomUnit: @Sendable () -> Double

    package init(
        pause: @escaping @Sendable (Duration) async throws(CancellationError) -> Void,
        randomUnit: @escaping @Sendable () -> Double
    ) {
        self.pause = pause
        self.randomUnit = randomUnit
    }

    package static let system = ClientTime(
        pause: { (duration) async throws(CancellationError) in
            do {
                try await Task.sleep(for: duration, clock: .continuous)
            } catch {
                throw CancellationError()
            }
        },
        randomUnit: { .random(in: 0..<1) }
    )
}

extension ClientTime {
    /// A pause whose cancellation is an error of the client.
    func wait(_ duration: Duration) async throws(LarderError) {
        do throws(CancellationError) {
            try await pause(duration)
        } catch {
            throw .cancelled
        }
    }

    /// The result of `work`; throws `late` when the limit is over.
    static func limit<Value: Sendable>(
        _ limit: Duration,
        late: LarderError,
        _ work: @escaping @Sendable () async throws(LarderError) -> Value
    ) async throws(LarderError) -> Value {
        try await withTaskGroup(of: Result<Value, LarderError>.self) { group in
            group.addTask {
                do throws(LarderError) {
                    return .success(try await work())
                } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                let isOver = (try? await ClientTime.system.pause(limit)) != nil
                return .failure(isOver ? late : .cancelled)
            }
            defer { group.cancelAll() }
            return await group.next() ?? .failure(.cancelled)
        }.get()
    }

    /// A random unique name: a UUID of version 4 (RFC 9562 5.4).
    func generateID() -> String {
        var bytes = (0..<16).map { _ in UInt8(randomUnit() * 256) }
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let uuid = bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) }
        return UUID(uuid: uuid).uuidString.lowercased()
    }
}
