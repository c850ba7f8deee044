import Synchronization

/// What happened, in order, and a way to wait for the n-th of it without polling.
package final class Recorder<Element: Sendable>: Sendable {
    private typealias Waiter = CheckedContinuation<Result<Element, CancellationError>, Never>

    private struct State {
        var elements: [Element] = []
        var waiters: [Int: (index: Int, waiter: Waiter)] = [:]
        var cancelled: Set<Int> = []
        var nextWaiterID = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// Everything so far.
    package var all: [Element] { state.withLock { $0.elements } }

    package func record(_ element: Element) {
        let ready = state.withLock { state -> [Waiter] in
            state.elements.append(element)
            let last = state.elements.count - 1
            let ids = state.waiters.filter { $0.value.index == last }.map(\.key)
            return ids.compactMap { state.waiters.removeValue(forKey: $0)?.waiter }
        }
        for waiter in ready { waiter.resume(returning: .success(element)) }
    }

    /// The element at `index`, counted from 0, as soon as there is one.
    ///
    /// It throws when the calling task is cancelled, so that a test's time limit can end it.
    package func element(_ index: Int) async throws(CancellationError) -> Element {
        let id = state.withLock { state in
            state.nextWaiterID += 1
            return state.nextWaiterID
        }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                self.await(index, as: id, waiter)
            }
        } onCancel: {
            self.cancel(id)
        }
        return try result.get()
    }

    private func await(_ index: Int, as id: Int, _ waiter: Waiter) {
        let result = state.withLock { state -> Result<Element, CancellationError>? in
            if state.elements.indices.contains(index) { return .success(state.elements[index]) }
            if state.cancelled.remove(id) != nil { return .failure(CancellationError()) }
            state.waiters[id] = (index, waiter)
            return nil
        }
        if let result { waiter.resume(returning: result) }
    }

    private func cancel(_ id: Int) {
        let waiter = state.withLock { state -> Waiter? in
            if let entry = state.waiters.removeValue(forKey: id) { return entry.waiter }
            state.cancelled.insert(id)
            return nil
        }
        waiter?.resume(returning: .failure(CancellationError()))
    }
}
