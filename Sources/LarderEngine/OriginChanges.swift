import Dispatch
import LarderWire

/// Changes to the table of origins, one after the other, on a queue of their own: they wait for
/// the disk.
struct OriginChanges: Sendable {
    private let queue = DispatchQueue(label: "larder.origins")

    func run<Value: Sendable>(
        _ work: @escaping @Sendable () throws(Problem) -> Value
    ) async throws(Problem) -> Value {
        let result: Result<Value, Problem> = await withCheckedContinuation { continuation in
            queue.async {
                continuation.resume(returning: Result { () throws(Problem) in try work() })
            }
        }
        return try result.get()
    }
}
