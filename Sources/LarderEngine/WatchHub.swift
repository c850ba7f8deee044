import LarderModel
import LarderStore
import LarderStrategy
import Synchronization

/// Watchers, and the ``WatchMachine`` of each; guarded by a lock.
///
/// One task takes the changes that the store releases, and hands them to the machines that they
/// concern. Each watcher's own task asks its machine what to do next.
///
/// Released changes are taken under the lock. So a watcher that joins misses nothing between the
/// log and the first change handed to it.
final class WatchHub: Sendable {
    private struct Watcher {
        var machine: WatchMachine
        let scope: Scope
        let wake: @Sendable () -> Void
        /// Whether the watcher was woken and has not asked since.
        var isWoken = false
    }

    /// Key of watchers: those of an id in a scope; without an id, those of the whole scope.
    private struct WatchedRow: Hashable {
        let scope: Scope
        let id: EntryID?
    }

    private struct State {
        var watchers: [Int: Watcher] = [:]
        var next = 0
        var perUser = Quota<UInt32?>(each: Limits.watchersPerUserMax)
        var places: [WatchedRow: Set<Int>] = [:]
        var published = Revision(0)
        var origins: [OriginName: String] = [:]
        var refused: [OriginName: Set<Scope>] = [:]
        /// Wakes watchers that have something to do, once the lock is free.
        var waking: [@Sendable () -> Void] = []

        /// Changes the numbers of those who watch rows as `watcher` does.
        mutating func index(_ watcher: Watcher, _ change: (inout Set<Int>) -> Void) {
            let interest = watcher.machine.interest
            let isNamed = interest.prefixes.isEmpty && !interest.ids.isEmpty
            let ids: [EntryID?] = isNamed ? Array(interest.ids.union(interest.written)) : [nil]
            for scope in [watcher.scope, .shared] {
                for place in ids.map({ WatchedRow(scope: scope, id: $0) }) {
                    change(&places[place, default: []])
                    if places[place]?.isEmpty == true { places[place] = nil }
                }
            }
        }

        private func concerned(by change: Change) -> Set<Int> {
            func watchers(of id: EntryID?) -> Set<Int> {
                places[WatchedRow(scope: change.scope, id: id)] ?? []
            }
            switch change.event {
            case .put(let id, _), .delete(let id, _), .evict(let id, _, _):
                return watchers(of: nil).union(watchers(of: id))
            case .remapped(let id, let real):
                return watchers(of: nil).union(watchers(of: id)).union(watchers(of: real))
            case .modifier(let modifier):
                return modifier.targets.reduce(watchers(of: nil)) { $0.union(watchers(of: $1)) }
            }
        }

        /// A watcher of a temporary id hears of the real one from now on, too.
        private mutating func rename(_ id: EntryID, as real: EntryID, of number: Int) {
            guard var watcher = watchers[number], watcher.machine.interest.ids.contains(id) else {
                return
            }
            index(watcher) { $0.remove(number) }
            watcher.machine.interest.ids.insert(real)
            watchers[number] = watcher
            index(watcher) { $0.insert(number) }
        }

        /// Takes the changes that were released since the last time.
        mutating func take(from feed: ChangeFeed) {
            let before = published
            let batch = feed.take()
            published = batch.published
            if batch.isCut {
                for number in Array(watchers.keys) {
                    tell(number) { $0.releaseWasCut(after: before) }
                }
            }
            for change in batch.changes {
                for number in concerned(by: change) {
                    if let watcher = watchers[number], change.hiddenFrom.contains(watcher.scope) {
                        continue
                    }
                    tell(number) { $0.published(change) }
                    if case .remapped(let id, let real) = change.event {
                        rename(id, as: real, of: number)
                    }
                }
            }
        }

        mutating func tell(_ number: Int, _ event: (inout WatchMachine) -> Bool) {
            guard var watcher = watchers.removeValue(forKey: number) else { return }
            if event(&watcher.machine), !watcher.isWoken {
                watcher.isWoken = true
                waking.append(watcher.wake)
            }
            watchers[number] = watcher
        }
    }

    private let state = Mutex(State())
    private let feed: ChangeFeed
    private let news: AsyncStream<Void>
    private let ping: AsyncStream<Void>.Continuation

    init(_ feed: ChangeFeed) {
        self.feed = feed
        (news, ping) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        feed.whenReleased { [ping] in ping.yield() }
    }

    func run() async {
        for await _ in news { distribute() }
    }

    // MARK: Watchers

    /// Takes a watcher in; nil when its user has too many.
    ///
    /// `wake` is called, on any thread, when there is something to do, and not again before
    /// ``next(_:)``.
    func join(
        _ scope: Scope,
        _ interest: WatchInterest,
        since: Revision?,
        listsFirst: Bool,
        hasBookmarks: Bool,
        wake: @escaping @Sendable () -> Void
    ) -> Int? {
        update { state in
            guard state.perUser.take(scope.uid) else { return nil }
            state.take(from: feed)
            let machine = WatchMachine(
                interest,
                since: since,
                listsFirst: listsFirst,
                hasBookmarks: hasBookmarks,
                published: state.published
            )
            let number = state.next
            state.next += 1
            let watcher = Watcher(machine: machine, scope: scope, wake: wake)
            state.watchers[number] = watcher
            state.index(watcher) { $0.insert(number) }
            return number
        }
    }

    func leave(_ number: Int) {
        state.withLock { state in
            guard let watcher = state.watchers.removeValue(forKey: number) else { return }
            state.perUser.release(watcher.scope.uid)
            state.index(watcher) { $0.remove(number) }
            if state.watchers.isEmpty { feed.rest() }
        }
    }

    // MARK: Steps of a watcher

    func next(_ number: Int) -> WatchMachine.ReadAction {
        change(number) { machine, published in machine.readerIsReady(published: published) } ?? .end
    }

    func beatIsDue(_ number: Int) -> WatchMachine.BeatAction {
        // A heartbeat covers all changes before it, even if ``run()`` has not taken them yet.
        distribute()
        return change(number) { machine, published in machine.beatIsDue(published: published) }
            ?? .beat(published)
    }

    /// The revision up to which the machines have everything.
    var published: Revision { state.withLock { $0.published } }

    /// The revision up to which a watcher was told everything.
    func told(_ number: Int) -> Revision {
        state.withLock { $0.watchers[number]?.machine.told ?? $0.published }
    }

    /// Does something with a watcher's machine; nil for one that has left.
    @discardableResult
    func change<Result>(
        _ number: Int,
        _ body: (inout WatchMachine, _ published: Revision) -> Result
    ) -> Result? {
        state.withLock { state in
            guard var watcher = state.watchers.removeValue(forKey: number) else { return nil }
            watcher.isWoken = false
            let result = body(&watcher.machine, state.published)
            state.watchers[number] = watcher
            return result
        }
    }

    // MARK: Events

    func distribute() {
        // Each look makes the feed keep later changes, and without watchers no task would take
        // them.
        update { state in
            if !state.watchers.isEmpty { state.take(from: feed) }
        }
    }

    /// Changes the state, and then wakes those who have something to do.
    private func update<Result>(_ change: (inout State) -> Result) -> Result {
        var waking: [@Sendable () -> Void] = []
        let result = state.withLock { state in
            defer { (waking, state.waking) = (state.waking, []) }
            return change(&state)
        }
        for wake in waking { wake() }
        return result
    }

    /// Looks up the state of an origin, and tells watchers if it changed; false if it did not.
    ///
    /// The lookup is under the lock, so that of two calls the later lookup is told last.
    func originChanged(_ name: OriginName, _ look: () -> String) -> Bool {
        update { state in
            let newState = look()
            guard state.origins[name] ?? "unknown" != newState else { return false }
            state.origins[name] = newState
            tell(Array(state.watchers.keys), .origin(name), newState, &state)
            return true
        }
    }

    private func tell(
        _ numbers: [Int],
        _ subject: WatchMachine.Subject,
        _ newState: String,
        _ state: inout State
    ) {
        guard !numbers.isEmpty else { return }
        state.take(from: feed)
        let published = state.published
        for number in numbers {
            state.tell(number) { $0.statusChanged(subject, newState, published: published) }
        }
    }

    /// Tells watchers of an account that one of its sets has another state.
    func prefetchChanged(_ scope: Scope, _ name: PrefetchName, _ newState: String) {
        update { state in
            let concerned = state.watchers.filter { $0.value.scope == scope }.map(\.key)
            tell(concerned, .prefetch(name), newState, &state)
        }
    }

    func state(of name: OriginName) -> String {
        state.withLock { $0.origins[name] ?? "unknown" }
    }

    func originForgotten(_ name: OriginName) {
        state.withLock { ($0.origins[name], $0.refused[name]) = (nil, nil) }
    }

    /// Tells watchers of an account that the origin refused its credential, or that waiting
    /// requests go on.
    ///
    /// Only a change is told.
    func credentialChanged(_ scope: Scope, at name: OriginName, isRefused: Bool) {
        update { state in
            let wasRefused = state.refused[name]?.contains(scope) ?? false
            guard wasRefused != isRefused else { return }
            if isRefused {
                state.refused[name, default: []].insert(scope)
            } else {
                state.refused[name]?.remove(scope)
            }
            let concerned = state.watchers.filter { $0.value.scope == scope }.map(\.key)
            let newState = isRefused ? "needed" : "resumed"
            tell(concerned, .credential(name), newState, &state)
        }
    }
}
