import LarderModel
import LarderStrategy

/// Sees what a client would get and what happened, and holds the contract from outside.
///
/// It knows nothing of the machine's states.
struct FetchObserver {
    enum Frame: Equatable {
        case cached
        case fetched
        case unchanged
        case deleted
        case error
        /// A further view of a followed row.
        case further
        /// Where an ordinary fetch ends, one that follows stays open.
        case open
        case end
        case refusal

        /// Whether it is the network's part of the answer.
        var isOfNetwork: Bool {
            switch self {
            case .fetched, .unchanged, .deleted, .error: true
            case .cached, .further, .open, .end, .refusal: false
            }
        }
    }

    private let policy: FetchPolicy
    private let isOriginDown: Bool
    private let follows: Bool
    private var seen: [FetchEvent] = []
    private(set) var frames: [Frame] = []
    private(set) var complaints: [String] = []

    init(_ policy: FetchPolicy, isOriginDown: Bool, follows: Bool = false) {
        self.policy = policy
        self.isOriginDown = isOriginDown
        self.follows = follows
    }

    private var isFinished: Bool { frames.contains(.end) || frames.contains(.refusal) }
    /// Whether everything that was asked is answered.
    private var isSettled: Bool { isFinished || frames.contains(.open) }
    private var firstOfCache: FetchEvent? { seen.first { $0.isFromCache } }
    private var hadHit: Bool { firstOfCache == .cacheFresh || firstOfCache == .cacheStale }
    private var isDeletedByWrite: Bool { seen.contains(.cacheDeletion) }
    private var hadNews: Bool { hadHit || isDeletedByWrite || firstOfCache == .cacheTombstone }

    mutating func saw(_ event: FetchEvent, _ reaction: FetchReaction) {
        let new = Self.frames(reaction)
        if isFinished || seen.contains(.clientHungUp) {
            expect(new.isEmpty, "nothing follows the end")
            return
        }
        if frames.contains(.open) { return sawWhileOpen(event, new) }
        seen.append(event)
        frames += new
        checkFrames(new)
        checkCauses(event, new)
        checkPolicy(event, reaction, new)
        checkEnd()
    }

    private mutating func sawWhileOpen(_ event: FetchEvent, _ new: [Frame]) {
        seen.append(event)
        frames += new
        switch event {
        case .rowNewer: expect(new.isEmpty || new == [.further], "a view or what is known")
        case .rowDeleted: expect(new.isEmpty || new == [.deleted], "deleted or what is known")
        case .drainBegan: expect(new == [.end], "the drain ends it")
        case .cacheFresh, .cacheStale, .cacheMiss, .cacheTombstone, .cacheDeletion, .networkSame,
            .networkOlder,
            .networkOther, .networkDeleted, .networkDeletion, .networkFailed, .networkWaitElapsed,
            .deadlineElapsed,
            .rowAsTold, .rowOlder, .rowMissing, .clientHungUp:
            expect(new.isEmpty, "nothing new is nothing told")
        }
        // The events bring one newer revision, so there is one thing to tell.
        let told = frames.drop { $0 != .open }.filter { $0 == .further || $0 == .deleted }
        expect(told.count <= 1, "each revision once")
    }

    private mutating func checkFrames(_ new: [Frame]) {
        let ends = frames.filter { $0 == .end || $0 == .open || $0 == .refusal }
        expect(ends.count <= 1, "one end")
        expect(ends.isEmpty || frames.last == ends.first, "the end is last")
        expect(!frames.contains(.refusal) || frames == [.refusal], "a refusal stands alone")
        expect(frames.filter { $0 == .cached }.count <= 1, "one cached snapshot")
        expect(frames.filter { $0 == .fetched }.count <= 1, "one network snapshot")
        expect(!frames.contains(.further), "nothing further before the last word")
        expect(follows || !frames.contains(.open), "nobody stays who did not ask for it")
        if follows { expect(!new.contains(.end) || seen.last == .drainBegan, "open to the end") }
        if let fetched = frames.firstIndex(of: .fetched) {
            expect(!frames[fetched...].contains(.cached), "no cache after the network")
        }
        for frame in new where frame.isOfNetwork {
            let word = new.suffix(2)
            let isLast = word == [frame, .end] || word == [frame, .open]
            expect(isLast, "the network's word is the last")
        }
    }

    private mutating func checkCauses(_ event: FetchEvent, _ new: [Frame]) {
        if new.contains(.cached) { expect(hadNews, "what is shown was read") }
        if new.contains(.fetched) {
            expect(event.hasAnswer, "the network has answered")
            expect(event == .networkOther || !frames.contains(.cached), "never twice, never older")
        }
        if new.contains(.unchanged) {
            let isKnown = event == .networkSame || event == .networkOlder
            expect(isKnown && frames.contains(.cached), "as was shown")
        }
        if new.contains(.deleted) {
            let isSecond = event == .networkDeleted && frames.contains(.cached)
            expect(isSecond || event == .networkDeletion, "shown, then deleted")
        }
    }

    private mutating func checkPolicy(
        _ event: FetchEvent,
        _ reaction: FetchReaction,
        _ new: [Frame]
    ) {
        let isOut = seen.contains { $0.endsTheWait }
        switch policy {
        case .cacheThenNetwork:
            break
        case .networkFirst:
            let isFree = isOriginDown || isOut || isDeletedByWrite || !new.contains(.cached)
            expect(isFree, "held back while it waits")
        case .cacheFirst:
            let isFree =
                isOriginDown || isOut || isDeletedByWrite || firstOfCache == .cacheFresh
            expect(isFree || !new.contains(.cached), "a stale one is held back while it waits")
            if firstOfCache == .cacheFresh { expect(!reaction.asksNetwork, "fresh: nobody asked") }
            let isFirst = event.isFromCache && seen.filter(\.isFromCache).count == 1
            if isFirst, event != .cacheFresh, event != .cacheDeletion {
                expect(reaction.asksNetwork, "not fresh: the network is asked")
            }
        case .staleWhileRevalidate:
            let isCacheAlone =
                !hadHit || !frames.contains(.cached) || !frames.contains { $0.isOfNetwork }
            expect(isCacheAlone, "what is cached, once")
        case .cacheOnly:
            expect(!new.contains { $0 == .fetched || $0 == .unchanged }, "nobody asked")
        case .networkOnly:
            let isCached = frames.contains(.cached) && !isDeletedByWrite
            expect(!isCached, "the cache is never shown")
        }
        if policy != .cacheFirst { expect(!reaction.asksNetwork, "asked at the start or never") }
    }

    private mutating func checkEnd() {
        let isDeletion = firstOfCache == .cacheDeletion
        let isEnough =
            switch policy {
            case .cacheOnly: true
            case .cacheFirst: firstOfCache == .cacheFresh || isDeletion
            case .staleWhileRevalidate: hadHit || isDeletion
            case .cacheThenNetwork, .networkFirst, .networkOnly: isDeletion
            }
        // cache-first asks the network after the cache, and hears nobody before that.
        let heard = policy == .cacheFirst ? seen.drop { !$0.isFromCache } : seen[...]
        let hasCache = policy == .networkOnly || firstOfCache != nil
        let hasNetwork = isEnough || heard.contains { $0.isFromNetwork }
        let isCutOff = seen.contains(.deadlineElapsed) || seen.contains(.drainBegan)
        if (hasCache && hasNetwork) || isCutOff {
            expect(isSettled || seen.contains(.clientHungUp), "nothing is waited for any more")
        }
        let isDeleted = seen.contains(.networkDeleted)
        if isFinished, hadNews, policy != .networkOnly, !isDeleted {
            // A client of an answer that was read in time is never sent away with nothing.
            expect(!frames.contains(.refusal), "what is cached is given")
        }
    }

    private mutating func expect(_ holds: Bool, _ rule: String) {
        if !holds { complaints.append("\(rule): \(seen) -> \(frames)") }
    }

    private static func frames(_ reaction: FetchReaction) -> [Frame] {
        switch reaction {
        case .none, .cache(.nothing), .network(.nothing), .wait(.nothing), .deadline(.nothing),
            .follow(.nothing), .drain(.nothing), .cache(.askNetwork):
            []
        case .cache(.show), .cache(.showAndAskNetwork), .wait(.showCached): [.cached]
        case .cache(.showAnd(let afterFinalFrame)): [.cached, afterFinalFrame.frame]
        case .drain(.showCachedAndEnd): [.cached, .end]
        case .cache(.showAndFail(_, let afterFinalFrame)),
            .network(.showCachedAndFail(_, let afterFinalFrame)),
            .deadline(.showCachedAndFail(_, let afterFinalFrame)):
            [.cached, .error, afterFinalFrame.frame]
        case .network(.showAnd(let afterFinalFrame)): [.fetched, afterFinalFrame.frame]
        case .network(.unchangedAnd(let afterFinalFrame)): [.unchanged, afterFinalFrame.frame]
        case .network(.deletedAnd(let afterFinalFrame)): [.deleted, afterFinalFrame.frame]
        case .network(.fail(_, let afterFinalFrame)), .deadline(.fail(_, let afterFinalFrame)):
            [.error, afterFinalFrame.frame]
        case .follow(.show): [.further]
        case .follow(.tellDeleted): [.deleted]
        case .drain(.end): [.end]
        case .cache(.refuse), .cache(.refuseAsMiss), .network(.refuse),
            .network(.refuseAsDeleted), .deadline(.refuse), .drain(.refuse):
            [.refusal]
        }
    }
}

extension FetchMachine.AfterFinalFrame {
    fileprivate var frame: FetchObserver.Frame {
        switch self {
        case .end: .end
        case .follow: .open
        }
    }
}

extension FetchReaction {
    fileprivate var asksNetwork: Bool {
        switch self {
        case .cache(.askNetwork), .cache(.showAndAskNetwork): true
        case .cache, .network, .wait, .deadline, .follow, .drain, .none: false
        }
    }
}

extension FetchEvent {
    var isFromCache: Bool {
        switch self {
        case .cacheFresh, .cacheStale, .cacheMiss, .cacheTombstone, .cacheDeletion: true
        case .networkSame, .networkOlder, .networkOther, .networkDeleted, .networkDeletion,
            .networkFailed,
            .networkWaitElapsed, .deadlineElapsed, .rowNewer, .rowAsTold, .rowOlder, .rowDeleted,
            .rowMissing, .drainBegan, .clientHungUp:
            false
        }
    }

    /// Whether the network has given a whole answer.
    var hasAnswer: Bool {
        switch self {
        case .networkSame, .networkOlder, .networkOther: true
        case .cacheFresh, .cacheStale, .cacheMiss, .cacheTombstone, .cacheDeletion, .networkDeleted,
            .networkDeletion, .networkFailed, .networkWaitElapsed, .deadlineElapsed, .rowNewer,
            .rowAsTold,
            .rowOlder, .rowDeleted, .rowMissing, .drainBegan, .clientHungUp:
            false
        }
    }

    var isFromNetwork: Bool {
        hasAnswer || [.networkDeleted, .networkDeletion, .networkFailed].contains(self)
    }

    /// Whether what is held back may be shown after it.
    var endsTheWait: Bool {
        switch self {
        case .networkFailed, .networkWaitElapsed, .deadlineElapsed, .drainBegan: true
        case .cacheFresh, .cacheStale, .cacheMiss, .cacheTombstone, .cacheDeletion, .networkSame,
            .networkOlder,
            .networkOther, .networkDeleted, .networkDeletion, .rowNewer, .rowAsTold, .rowOlder,
            .rowDeleted,
            .rowMissing, .clientHungUp:
            false
        }
    }
}
