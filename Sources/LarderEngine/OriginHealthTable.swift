import LarderModel
import LarderStrategy
import Synchronization

/// What is known of every origin's health; guarded by a lock.
final class OriginHealthTable: Sendable {
    private let states: Mutex<[OriginName: OriginHealth]>

    init(_ origins: [OriginSettings], now: Timestamp) {
        let states = origins.map { ($0.name, OriginHealth(now: now)) }
        self.states = Mutex(Dictionary(states) { first, _ in first })
    }

    subscript(name: OriginName) -> OriginHealth? {
        states.withLock { $0[name] }
    }

    /// Carries an event to an origin's health; its new state where that is news.
    func note(
        _ name: OriginName,
        _ event: (inout OriginHealth) -> Bool
    ) -> OriginHealth.State? {
        states.withLock { states in
            guard var health = states[name] else { return nil }
            let isNews = event(&health)
            states[name] = health
            return isNews ? health.state : nil
        }
    }
}
