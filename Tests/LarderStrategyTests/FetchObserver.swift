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
        case end
        case refusal
    }

    private let policy: FetchPolicy
    private let isOriginDown: Bool
    private var seen: [FetchEvent] = []
    private(set) var frames: [Frame] = []
    private(set) var complaints: [String] = []

    init(_ policy: FetchPolicy, isOriginDown: Bool) {
        self.policy = policy
        self.isOriginDown = isOriginDown
    }

    private var isOver: Bool { frames.contains(.end) || frames.contains(.refusal) }
    private var hadHit: Bool { seen.contains(.cacheHit) }

    mutating func saw(_ event: FetchEvent, _ reaction: FetchReaction) {
        let new = Self.frames(reaction)
        if isOver || seen.contains(.clientHungUp) {
            expect(new.isEmpty, "nothing follows the end")
            return
        }
        seen.append(event)
        frames += new
        checkFrames(new)
        checkCauses(event, new)
        checkEnd()
    }

    private mutating func checkFrames(_ new: [Frame]) {
        let ends = frames.filter { $0 == .end || $0 == .refusal }
        expect(ends.count <= 1, "one end")
        expect(ends.isEmpty || frames.last == ends.first, "the end is last")
        expect(!frames.contains(.refusal) || frames == [.refusal], "a refusal stands alone")
        expect(frames.filter { $0 == .cached }.count <= 1, "one cached snapshot")
        expect(frames.filter { $0 == .fetched }.count <= 1, "one network snapshot")
        if let fetched = frames.firstIndex(of: .fetched) {
            expect(!frames[fetched...].contains(.cached), "no cache after the network")
        }
        for frame in [Frame.fetched, .unchanged, .deleted, .error] where new.contains(frame) {
            expect(Array(new.suffix(2)) == [frame, .end], "the network's word ends the fetch")
        }
    }

    private mutating func checkCauses(_ event: FetchEvent, _ new: [Frame]) {
        if new.contains(.cached) {
            expect(hadHit, "what is shown was read")
            let isOut = seen.contains { $0.endsTheWait }
            expect(policy != .networkFirst || isOriginDown || isOut, "held back while it waits")
        }
        if new.contains(.fetched) {
            expect(event == .networkSame || event == .networkOther, "the network has answered")
            expect(event == .networkOther || !frames.contains(.cached), "never twice")
        }
        if new.contains(.unchanged) {
            expect(event == .networkSame && frames.contains(.cached), "as was shown")
        }
        if new.contains(.deleted) {
            expect(event == .networkDeleted && frames.contains(.cached), "shown, then deleted")
        }
        if policy == .cacheOnly {
            expect(!new.contains { $0 == .fetched || $0 == .unchanged }, "nobody asked")
        }
    }

    private mutating func checkEnd() {
        let hasCache = seen.contains { $0.isFromCache }
        let hasNetwork = policy == .cacheOnly || seen.contains { $0.isFromNetwork }
        let isCutOff = seen.contains(.deadlineElapsed) || seen.contains(.drainBegan)
        if (hasCache && hasNetwork) || isCutOff {
            expect(isOver || seen.contains(.clientHungUp), "nothing is waited for any more")
        }
        if isOver, hadHit, !seen.contains(where: { $0 == .networkDeleted }) {
            // A client of an answer that was read in time is never sent away with nothing.
            expect(!frames.contains(.refusal) || !isHitFirst, "what is cached is given")
        }
    }

    /// Whether the cache's first word was the hit.
    private var isHitFirst: Bool { seen.first { $0.isFromCache } == .cacheHit }

    private mutating func expect(_ holds: Bool, _ rule: String) {
        if !holds { complaints.append("\(rule): \(seen) -> \(frames)") }
    }

    private static func frames(_ reaction: FetchReaction) -> [Frame] {
        switch reaction {
        case .none, .cache(.nothing), .network(.nothing), .wait(.nothing), .deadline(.nothing),
            .drain(.nothing):
            []
        case .cache(.show), .wait(.showCached): [.cached]
        case .cache(.showAndEnd), .drain(.showCachedAndEnd): [.cached, .end]
        case .cache(.showAndFail), .network(.showCachedAndFail), .deadline(.showCachedAndFail):
            [.cached, .error, .end]
        case .network(.showAndEnd): [.fetched, .end]
        case .network(.unchangedAndEnd): [.unchanged, .end]
        case .network(.deletedAndEnd): [.deleted, .end]
        case .network(.failAndEnd), .deadline(.failAndEnd): [.error, .end]
        case .drain(.end): [.end]
        case .cache(.refuse), .cache(.refuseAsMiss), .cache(.refuseAsDeleted), .network(.refuse),
            .network(.refuseAsDeleted), .deadline(.refuse), .drain(.refuse):
            [.refusal]
        }
    }
}

extension FetchEvent {
    var isFromCache: Bool {
        switch self {
        case .cacheHit, .cacheMiss, .cacheTombstone: true
        case .networkSame, .networkOther, .networkDeleted, .networkFailed, .networkWaitElapsed,
            .deadlineElapsed, .drainBegan, .clientHungUp:
            false
        }
    }

    var isFromNetwork: Bool {
        switch self {
        case .networkSame, .networkOther, .networkDeleted, .networkFailed: true
        case .cacheHit, .cacheMiss, .cacheTombstone, .networkWaitElapsed, .deadlineElapsed,
            .drainBegan, .clientHungUp:
            false
        }
    }

    /// Whether what `network-first` holds back may be shown after it.
    var endsTheWait: Bool {
        switch self {
        case .networkFailed, .networkWaitElapsed, .deadlineElapsed, .drainBegan: true
        case .cacheHit, .cacheMiss, .cacheTombstone, .networkSame, .networkOther,
            .networkDeleted, .clientHungUp:
            false
        }
    }
}
