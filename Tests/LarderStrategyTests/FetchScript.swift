import LarderModel
import LarderStrategy

/// What the shell would say to a client.
enum Trouble: Equatable, Sendable {
    case network
    case timeout
}

typealias Fetch = FetchMachine<Trouble>

/// What happens to a fetch after its start; the cache has revision 1.
enum FetchEvent: CaseIterable, Hashable, Sendable {
    case cacheHit
    case cacheMiss
    case cacheTombstone
    case networkSame
    case networkOther
    case networkDeleted
    case networkFailed
    case networkWaitElapsed
    case deadlineElapsed
    case drainBegan
    case clientHungUp
}

/// What a fetch answers to an event.
enum FetchReaction: Equatable, Sendable {
    case cache(Fetch.CacheAction)
    case network(Fetch.NetworkAction)
    case wait(Fetch.WaitAction)
    case deadline(Fetch.DeadlineAction)
    case drain(Fetch.DrainAction)
    case none
}

/// The states, told apart where they answer differently.
enum FetchPlace: CaseIterable, Hashable, Sendable {
    case idle
    case racingHeldBack
    case racing
    case holding
    case awaitingNetworkShown
    case awaitingNetworkEmpty
    case awaitingCache
    case awaitingCacheFailed
    case ended

    var state: Fetch.State {
        switch self {
        case .idle: .idle
        case .racingHeldBack: .racing(isHeldBack: true)
        case .racing: .racing(isHeldBack: false)
        case .holding: .holding(.cached)
        case .awaitingNetworkShown: .awaitingNetwork(shown: .cached)
        case .awaitingNetworkEmpty: .awaitingNetwork(shown: nil)
        case .awaitingCache: .awaitingCache(failure: nil)
        case .awaitingCacheFailed: .awaitingCache(failure: .network)
        case .ended: .ended
        }
    }

    /// The start and the events that lead here.
    private var way: (policy: FetchPolicy, events: [FetchEvent]) {
        switch self {
        case .idle, .racing: (.cacheThenNetwork, [])
        case .racingHeldBack: (.networkFirst, [])
        case .holding: (.networkFirst, [.cacheHit])
        case .awaitingNetworkShown: (.cacheThenNetwork, [.cacheHit])
        case .awaitingNetworkEmpty: (.cacheThenNetwork, [.cacheMiss])
        case .awaitingCache: (.cacheOnly, [])
        case .awaitingCacheFailed: (.cacheThenNetwork, [.networkFailed])
        case .ended: (.cacheOnly, [.cacheHit])
        }
    }

    /// A fetch in this state.
    func machine() -> Fetch {
        var machine = Fetch()
        if self == .idle { return machine }
        _ = machine.start(way.policy)
        for event in way.events { _ = machine.react(to: event) }
        return machine
    }
}

extension Revision {
    static let cached = Revision(1)
    static let other = Revision(2)
}

extension FetchMachine<Trouble> {
    static let wait = Duration.milliseconds(300)

    mutating func start(_ policy: FetchPolicy, isOriginDown: Bool = false) -> StartAction {
        started(policy, networkWait: Self.wait, isOriginDown: isOriginDown)
    }

    mutating func react(to event: FetchEvent) -> FetchReaction {
        switch event {
        case .cacheHit: return .cache(cacheAnswered(.hit(.cached)))
        case .cacheMiss: return .cache(cacheAnswered(.miss))
        case .cacheTombstone: return .cache(cacheAnswered(.tombstone))
        case .networkSame: return .network(networkAnswered(.current(.cached)))
        case .networkOther: return .network(networkAnswered(.current(.other)))
        case .networkDeleted: return .network(networkAnswered(.deleted))
        case .networkFailed: return .network(networkAnswered(.failed(.network)))
        case .networkWaitElapsed: return .wait(networkWaitElapsed())
        case .deadlineElapsed: return .deadline(deadlineElapsed(.timeout))
        case .drainBegan: return .drain(drainBegan())
        case .clientHungUp:
            clientHungUp()
            return .none
        }
    }
}
