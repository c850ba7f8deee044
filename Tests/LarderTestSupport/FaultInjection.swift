import LarderStore
import Synchronization

/// Fails chosen SQLite operations and counts all of them; the real one is then not carried out.
///
/// Used as prepare, body, check: arm it for n = 1, 2, 3 … until the body ends without a failure.
package final class FaultInjection: FaultPlan {
    /// What the disk says: result codes of SQLite (https://sqlite.org/rescode.html).
    package enum Code: Int32, Sendable, CaseIterable {
        case mistake = 1
        case inputOutput = 10
        case corrupt = 11
        case full = 13
        case constraint = 19
    }

    /// How long it goes on.
    package enum Length: Sendable {
        case once
        /// Every operation from then on, until ``FaultInjection/disarm()``.
        case forGood
    }

    private struct Shot {
        var left: Int
        let step: String
        let code: Code
        let length: Length
    }

    private struct State {
        var operations = 0
        var failures = 0
        var shot: Shot?
    }

    private let state = Mutex(State())

    package init() {}

    /// Fails the n-th operation from now on, counted from 1, among those whose step contains
    /// `step`.
    package func arm(
        _ n: Int,
        of step: String = "",
        with code: Code = .inputOutput,
        _ length: Length = .once
    ) {
        precondition(n >= 1)
        state.withLock { $0 = State(shot: Shot(left: n, step: step, code: code, length: length)) }
    }

    /// Lets everything pass from now on; the counts stay.
    package func disarm() {
        state.withLock { $0.shot = nil }
    }

    /// Operations since it was armed, or made.
    package var operations: Int { state.withLock { $0.operations } }

    /// Operations that failed since it was armed.
    package var failures: Int { state.withLock { $0.failures } }

    package func failure(before step: String, of path: String) -> Int32? {
        state.withLock { state in
            state.operations += 1
            guard var shot = state.shot, step.contains(shot.step) else { return nil }
            shot.left -= 1
            state.shot = shot
            guard shot.left == 0 || shot.left < 0 && shot.length == .forGood else { return nil }
            state.failures += 1
            return shot.code.rawValue
        }
    }
}
