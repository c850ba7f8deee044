import NIOCore
import Synchronization

/// The meters of all event loops.
///
/// Guarded by a lock; each meter is read on its own loop.
final class LoopMeters: Sendable {
    private struct Entry: Sendable {
        let eventLoop: any EventLoop
        let meter: NIOLoopBoundBox<LoopMeter>
    }

    private let entries = Mutex<[Entry]>([])

    /// A new meter for the loop that it is called on.
    func makeMeter(_ eventLoop: any EventLoop) -> LoopMeter {
        let meter = LoopMeter()
        let entry = Entry(
            eventLoop: eventLoop,
            meter: NIOLoopBoundBox(meter, eventLoop: eventLoop)
        )
        entries.withLock { $0.append(entry) }
        return meter
    }

    /// What all of them have counted.
    func sum() async throws -> LoopCounts {
        var sum = LoopCounts()
        for entry in entries.withLock({ $0 }) {
            sum.add(try await entry.eventLoop.submit { entry.meter.value.counts }.get())
        }
        return sum
    }
}
