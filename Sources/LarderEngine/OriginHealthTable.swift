import LarderModel
import LarderStrategy
import Synchronization

/// What is known of every origin's health, and which public hosts were asked for; guarded by a
/// lock.
final class OriginHealthTable: Sendable {
    private struct Implicit {
        let settings: OriginSettings
        var lastUse: Int
    }

    private struct State {
        var health: [OriginName: OriginHealth]
        /// At most ``Limits/implicitOriginsMax``; the one that was not asked for longest goes.
        var implicit: [OriginName: Implicit] = [:]
        var uses = 0
    }

    private let state: Mutex<State>

    init(_ table: OriginTable, now: Timestamp) {
        let health = table.known.map { ($0.name, OriginHealth(now: now)) }
        state = Mutex(State(health: Dictionary(health) { first, _ in first }))
    }

    subscript(name: OriginName) -> OriginHealth? {
        state.withLock { $0.health[name] }
    }

    /// The public hosts that were asked for lately, in the order of their names.
    var implicitOrigins: [OriginSettings] {
        state.withLock { $0.implicit.values.map(\.settings) }.sorted { $0.name < $1.name }
    }

    @discardableResult
    func change<Result>(_ name: OriginName, _ body: (inout OriginHealth) -> Result) -> Result? {
        state.withLock { state in
            guard var health = state.health[name] else { return nil }
            defer { state.health[name] = health }
            return body(&health)
        }
    }

    func implicitOrigin(_ name: OriginName) -> OriginSettings? {
        state.withLock { $0.implicit[name]?.settings }
    }

    /// A public host is asked for; the name of the one that is forgotten for it, if any.
    func admit(_ origin: OriginSettings, now: Timestamp) -> OriginName? {
        state.withLock { state in
            state.uses += 1
            if state.health[origin.name] == nil {
                state.health[origin.name] = OriginHealth(now: now)
            }
            state.implicit[origin.name] = Implicit(settings: origin, lastUse: state.uses)
            guard state.implicit.count > Limits.implicitOriginsMax,
                let oldest = state.implicit.min(by: { $0.value.lastUse < $1.value.lastUse })
            else { return nil }
            state.implicit[oldest.key] = nil
            state.health[oldest.key] = nil
            return oldest.key
        }
    }

    /// The configured origins are now those of `table`: what is known of the ones that stay, at
    /// their address, stays.
    func replace(_ old: OriginTable, with table: OriginTable, now: Timestamp) {
        state.withLock { state in
            for origin in old.known
            where table[origin.name]?.settings.baseURL != origin.settings.baseURL {
                state.health[origin.name] = nil
            }
            let covered = state.implicit.values.map(\.settings).filter { implicit in
                table[implicit.name] != nil || table.origin(of: implicit.baseURL) != nil
            }
            for implicit in covered {
                state.implicit[implicit.name] = nil
                state.health[implicit.name] = nil
            }
            for origin in table.known where state.health[origin.name] == nil {
                state.health[origin.name] = OriginHealth(now: now)
            }
        }
    }
}
