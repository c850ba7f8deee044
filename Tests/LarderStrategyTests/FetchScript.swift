import LarderModel
import LarderStrategy

/// What the shell would say to a client.
enum Trouble: Equatable, Sendable {
    case network
    case timeout
}

typealias Fetch = FetchMachine<Trouble>

/// What happens to a fetch after its start; the cache has revision ``Revision/cached``.
enum FetchEvent: CaseIterable, Hashable, Sendable {
    case cacheFresh
    case cacheStale
    case cacheMiss
    case cacheTombstone
    case cacheDeletion
    case networkSame
    case networkOlder
    case networkOther
    case networkDeleted
    case networkDeletion
    case networkFailed
    case networkWaitElapsed
    case deadlineElapsed
    case rowNewer
    case rowAsTold
    case rowOlder
    case rowDeleted
    case rowMissing
    case drainBegan
    case clientHungUp

    /// Those that only happen to a row that is followed.
    static let ofRows: [FetchEvent] = [.rowNewer, .rowAsTold, .rowOlder, .rowDeleted, .rowMissing]
}

/// What a fetch answers to an event.
enum FetchReaction: Equatable, Sendable {
    case cache(Fetch.CacheAction)
    case network(Fetch.NetworkAction)
    case wait(Fetch.WaitAction)
    case deadline(Fetch.DeadlineAction)
    case follow(Fetch.FollowAction)
    case drain(Fetch.DrainAction)
    case none
}

/// The states, told apart where they answer differently.
enum FetchPlace: CaseIterable, Hashable, Sendable {
    case idle
    case racingHolding
    case racing
    case racingFinishing
    case checking
    case checkingDown
    case holding
    case remembering
    case awaitingNetworkShown
    case awaitingNetworkEmpty
    case awaitingCache
    case awaitingCacheFailed
    case awaitingCacheBehind
    case following
    /// One revision further.
    case followingNewer
    case ended

    var state: Fetch.State {
        switch self {
        case .idle: .idle
        case .racingHolding: .racing(.hold)
        case .racing: .racing(.show)
        case .racingFinishing: .racing(.finish)
        case .checking: .checking(wait: Fetch.wait)
        case .checkingDown: .checking(wait: nil)
        case .holding: .holding(.cached)
        case .remembering: .remembering(.cached)
        case .awaitingNetworkShown: .awaitingNetwork(shown: .cached)
        case .awaitingNetworkEmpty: .awaitingNetwork(shown: nil)
        case .awaitingCache: .awaitingCache(afterHit: nil, insteadOfMiss: nil)
        case .awaitingCacheFailed: .awaitingCache(afterHit: .network, insteadOfMiss: .network)
        case .awaitingCacheBehind: .awaitingCache(afterHit: nil, insteadOfMiss: .network)
        case .following: .following(.cached)
        case .followingNewer: .following(.other)
        case .ended: .ended
        }
    }

    /// The start and the events that lead here.
    private var way: FetchWay {
        switch self {
        case .idle, .racing: FetchWay(.cacheThenNetwork)
        case .racingHolding: FetchWay(.networkFirst)
        case .racingFinishing: FetchWay(.staleWhileRevalidate)
        case .checking: FetchWay(.cacheFirst)
        case .checkingDown: FetchWay(.cacheFirst, isOriginDown: true)
        case .holding: FetchWay(.networkFirst, [.cacheStale])
        case .remembering: FetchWay(.cacheThenNetwork, [.cacheTombstone])
        case .awaitingNetworkShown: FetchWay(.cacheThenNetwork, [.cacheStale])
        case .awaitingNetworkEmpty: FetchWay(.cacheThenNetwork, [.cacheMiss])
        case .awaitingCache: FetchWay(.cacheOnly)
        case .awaitingCacheFailed: FetchWay(.cacheThenNetwork, [.networkFailed])
        case .awaitingCacheBehind: FetchWay(.staleWhileRevalidate, [.networkFailed])
        case .following: FetchWay(.cacheOnly, [.cacheStale])
        case .followingNewer: FetchWay(.cacheOnly, [.cacheStale, .rowNewer])
        case .ended: FetchWay(.cacheOnly, [.cacheStale])
        }
    }

    /// A fetch in this state.
    func machine(follows: Bool = false) -> Fetch {
        let isFollowed = self == .following || self == .followingNewer
        var machine = Fetch(follows: follows || isFollowed)
        if self == .idle { return machine }
        _ = machine.start(way.policy, isOriginDown: way.isOriginDown)
        for event in way.events { _ = machine.react(to: event) }
        if self == .ended { machine.clientHungUp() }
        return machine
    }
}

/// How a fetch was brought where it is.
private struct FetchWay {
    let policy: FetchPolicy
    let isOriginDown: Bool
    let events: [FetchEvent]

    init(_ policy: FetchPolicy, _ events: [FetchEvent] = [], isOriginDown: Bool = false) {
        self.policy = policy
        self.events = events
        self.isOriginDown = isOriginDown
    }
}

extension Revision {
    static let older = Revision(1)
    static let cached = Revision(2)
    static let other = Revision(3)
}

extension FetchMachine<Trouble> {
    static let wait = Duration.milliseconds(300)

    mutating func start(_ policy: FetchPolicy, isOriginDown: Bool = false) -> StartAction {
        started(policy, networkWait: Self.wait, isOriginDown: isOriginDown)
    }

    mutating func react(to event: FetchEvent) -> FetchReaction {
        switch event {
        case .cacheFresh: return .cache(cacheAnswered(.hit(.cached, isFresh: true)))
        case .cacheStale: return .cache(cacheAnswered(.hit(.cached, isFresh: false)))
        case .cacheMiss: return .cache(cacheAnswered(.miss))
        case .cacheTombstone: return .cache(cacheAnswered(.tombstone(.cached)))
        case .cacheDeletion: return .cache(cacheAnswered(.deletion(.cached)))
        case .networkSame: return .network(networkAnswered(.current(.cached)))
        case .networkOlder: return .network(networkAnswered(.current(.older)))
        case .networkOther: return .network(networkAnswered(.current(.other)))
        case .networkDeleted: return .network(networkAnswered(.deleted(.other)))
        case .networkDeletion: return .network(networkAnswered(.deletion(.other)))
        case .networkFailed: return .network(networkAnswered(.failed(.network)))
        case .networkWaitElapsed: return .wait(networkWaitElapsed())
        case .deadlineElapsed: return .deadline(deadlineElapsed(.timeout))
        case .rowNewer: return .follow(rowWasRead(.entry(.other, isAsTold: false)))
        case .rowAsTold: return .follow(rowWasRead(.entry(.other, isAsTold: true)))
        case .rowOlder: return .follow(rowWasRead(.entry(.older, isAsTold: false)))
        case .rowDeleted: return .follow(rowWasRead(.tombstone(.other)))
        case .rowMissing: return .follow(rowWasRead(.missing))
        case .drainBegan: return .drain(drainBegan())
        case .clientHungUp:
            clientHungUp()
            return .none
        }
    }
}
