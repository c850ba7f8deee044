import LarderModel
import LarderStrategy
import Synchronization

/// The health of every origin, and the public hosts that clients asked for; guarded by a lock.
final class OriginHealthTable: Sendable {
    private struct State {
        var health: [OriginName: OriginHealth]
        /// At most ``Limits/implicitOriginsMax``; the least recently used host is dropped.
        var implicit: [OriginName: (settings: OriginSettings, lastUse: Int)] = [:]
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

    /// Public hosts that clients asked for lately, in the order of their names.
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

    /// Adds a public host that a client asks for; returns the name of the host dropped for it, if
    /// any.
    func admit(_ origin: OriginSettings, now: Timestamp) -> OriginName? {
        state.withLock { state in
            state.uses += 1
            if state.health[origin.name] == nil {
                state.health[origin.name] = OriginHealth(now: now)
            }
            state.implicit[origin.name] = (origin, state.uses)
            guard state.implicit.count > Limits.implicitOriginsMax,
                let oldest = state.implicit.min(by: { $0.value.lastUse < $1.value.lastUse })
            else { return nil }
            state.implicit[oldest.key] = nil
            state.health[oldest.key] = nil
            return oldest.key
        }
    }

    /// Takes a new table.
    ///
    /// The health of an origin stays if its address stays.
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

/// Waits for origins, and the ``ProbeMachine`` of each origin; guarded by a lock.
final class OriginWaiters: Sendable {
    private struct Watched {
        var machine = ProbeMachine(isDown: false)
        /// Whether requests to the origin fail now: it is down, or an operator set it offline.
        var isShut = false
        var waiting: [Int: (scope: Scope, tell: @Sendable () -> Void)] = [:]
    }

    private let origins = Mutex<[OriginName: Watched]>([:])
    // Relaxed: it only tells those who wait apart.
    private let waitCount = Atomic(0)

    /// Has `tell` called each time the origin is back, until ``leave(_:_:)`` with the number.
    func wait(
        for name: OriginName,
        as scope: Scope,
        _ tell: @escaping @Sendable () -> Void
    ) -> (number: Int, action: ProbeMachine.LoopAction) {
        let number = waitCount.add(1, ordering: .relaxed).newValue
        let action = change(name) { watched in
            watched.waiting[number] = (scope, tell)
            return watched.machine.interestBegan()
        }
        return (number, action)
    }

    func leave(_ name: OriginName, _ number: Int) {
        change(name) { watched in
            guard watched.waiting.removeValue(forKey: number) != nil else { return }
            watched.machine.interestEnded()
        }
    }

    private func change<Result>(_ name: OriginName, _ body: (inout Watched) -> Result) -> Result {
        origins.withLock { origins in
            var watched = origins[name] ?? Watched()
            defer {
                let isKept = !watched.machine.isForgettable || watched.isShut
                origins[name] = isKept ? watched : nil
            }
            return body(&watched)
        }
    }

    /// Takes a possible change of the origin's condition.
    ///
    /// `condition` reads the newest under the lock, so that of two changes the later one is seen
    /// last.
    ///
    /// Returns the callbacks to call because the origin is back.
    func changed(
        _ name: OriginName,
        _ condition: () -> (isDown: Bool, isManuallyOffline: Bool)
    ) -> (told: [@Sendable () -> Void], action: ProbeMachine.LoopAction) {
        change(name) { watched in
            let new = condition()
            let wasShut = watched.isShut
            watched.isShut = new.isDown || new.isManuallyOffline
            let told = wasShut && !watched.isShut ? watched.waiting.values.map(\.tell) : []
            guard new.isDown, !new.isManuallyOffline else {
                watched.machine.cameBack()
                return (told, .nothing)
            }
            return (told, watched.machine.wentDown())
        }
    }

    func state(of name: OriginName) -> ProbeMachine.State {
        origins.withLock { $0[name]?.machine.state ?? .idle }
    }

    func requestAnswered(_ name: OriginName) {
        change(name) { $0.machine.requestAnswered() }
    }

    /// `rest` gives the time that an origin's rest for an account still lasts.
    func pauseEnded(_ name: OriginName, rest: (Scope) -> Duration) -> ProbeMachine.PauseAction {
        change(name) { watched in
            let rests = Set(watched.waiting.values.map(\.scope)).map(rest)
            return watched.machine.pauseEnded(rest: rests.min() ?? .zero)
        }
    }

    func probeEnded(_ name: OriginName) -> ProbeMachine.LoopAction {
        change(name) { $0.machine.probeEnded() }
    }

    /// Stops probing a removed origin; waits for it are not told any more.
    func forget(_ name: OriginName) {
        change(name) { watched in
            watched.isShut = false
            watched.machine.cameBack()
        }
    }
}

/// A wait for the return of an origin; it lasts until ``end()``, or until it is dropped.
final class OriginInterest: Sendable {
    private let leave: @Sendable () -> Void

    init(_ leave: @escaping @Sendable () -> Void) { self.leave = leave }

    deinit { leave() }

    /// Ends the wait; a second call changes nothing.
    func end() { leave() }
}
