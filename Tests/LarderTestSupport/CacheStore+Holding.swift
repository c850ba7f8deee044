import Dispatch
package import LarderStore

extension Store {
    /// Runs `body` while reads of these users, one each, hold readers of what clients ask for.
    package func holdingReaders<Value>(
        by users: [Reading.User],
        _ body: () async throws -> Value
    ) async throws -> Value {
        let begun = Recorder<Bool>()
        let release = DispatchSemaphore(value: 0)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            for user in users {
                group.addTask {
                    try await Reading.$current.withValue(.asked(by: user)) {
                        try await self.read { _ in
                            begun.record(true)
                            release.wait()
                        }
                    }
                }
            }
            let result: Result<Value, any Error>
            do {
                _ = try await begun.element(users.count - 1)
                result = .success(try await body())
            } catch {
                result = .failure(error)
            }
            for _ in users { release.signal() }
            try await group.waitForAll()
            return try result.get()
        }
    }
}

extension [Reading.User] {
    /// As many as hold every reader that clients have.
    package static var all: [Reading.User] { [.uid(1), .uid(1), .uid(2), .uid(2)] }
}
