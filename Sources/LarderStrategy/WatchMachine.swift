package import LarderModel

/// Decides what one watcher is told next, in order and in bounded memory.
///
/// The watcher gets the changes of the log first, then changes as they happen.
///
/// ```
///   listing ─listingEnded─▶ catchingUp ─pageWasRead, to the last published─▶ live ─too slow─▶ lagged
///                             ▲  │                                                           ▲
///                             └──┘ pageWasRead                    pageWasGone ───────────────┘
/// ```
///
/// `releaseWasCut` leads from live back to catching up.
///
/// | state | meaning |
/// |---|---|
/// | `listing` | the watcher is told of the existing entries; new changes are in the log |
/// | `catchingUp` | every change up to `after` was told or waits; the log has the later ones |
/// | `live` | every change up to the last published one was told or waits |
/// | `lagged` | the watcher is told the waiting notices, then that it lagged, and nothing more |
///
/// Invariants:
/// 1. The waiting notices are ordered by revision (``NoticeQueue``), and come after ``told``.
/// 2. They are at most ``Limits/watchNoticesMax`` and ``Limits/watchBytesMax`` bytes. While the
///    watcher catches up, one page of the log may exceed this.
/// 3. A published put replaces a waiting put of its id, if no later notice about that id waits.
/// 4. A step is told whole: each call's notices end with the last notice of a revision.
/// 5. No change is told twice: a change up to ``told`` is never taken in.
/// 6. ``listed`` holds the listed entries that changed after the listing began, up to
///    ``Limits/watchListedBytesMax``. The log's changes up to the listed revision are not told
///    again; changes of other entries are.
package struct WatchMachine: Sendable {
    package enum State: Equatable, Sendable {
        case listing(from: Revision)
        case catchingUp(after: Revision)
        case live
        case lagged(after: Revision)
        case finished
    }

    package enum ReadAction: Equatable, Sendable {
        case tell([Notice])
        case list
        case readLog(after: Revision, through: Revision)
        case wait
        /// Tell this last, then end the stream.
        case tellLagged(Revision, droppedAfter: Revision)
        case end
    }

    /// The action when the stream has been silent for a while.
    package enum BeatAction: Equatable, Sendable {
        /// Say that the stream is alive, and up to which revision everything was told.
        case beat(Revision)
        case tell(Notice)
    }

    /// A watched thing may get another id.
    package var interest: WatchInterest
    package private(set) var state: State
    /// The reader got every change of interest up to this revision.
    package private(set) var told: Revision
    private(set) var waiting = NoticeQueue()
    /// A bookmark to tell once no older notice waits.
    private var bookmark: Notice.Content?
    private let hasBookmarks: Bool
    private var bookmarked: Revision?
    /// The last state of each subject that changed while the watcher was not live.
    private var statuses: [Subject: String] = [:]
    /// Entries that were listed at a later revision than the log has reached.
    private(set) var listed: [EntryID: Revision] = [:]
    private(set) var listedBytes = 0

    /// Begins the stream of a watcher.
    ///
    /// - `since`: the revision up to which the watcher knows everything; nil begins with new
    ///   changes.
    /// - `listsFirst`: begins with the existing entries instead.
    ///
    /// A client can see a step before it is published, so `since` may be above `published`. Then the
    /// watcher begins at `published`.
    package init(
        _ interest: WatchInterest,
        since: Revision?,
        listsFirst: Bool,
        hasBookmarks: Bool = true,
        published: Revision
    ) {
        self.interest = interest
        self.hasBookmarks = hasBookmarks
        told = listsFirst ? published : min(since ?? published, published)
        if listsFirst {
            state = .listing(from: published)
        } else {
            state = told < published ? .catchingUp(after: told) : .live
            bookmark = .bookmark(isInitialDone: false)
        }
    }

    // MARK: Events

    /// A change was published; true if the reader has to wake up.
    ///
    /// A change outside the interest, or one that the reader gets from the log, is left out.
    package mutating func published(_ change: Change) -> Bool {
        guard state == .live, change.revision > told, interest.covers(change) else { return false }
        defer { checkInvariants() }
        if !waiting.add(change) {
            // A step that does not fit is left out as a whole.
            waiting.drop(from: change.revision)
            state = .lagged(after: Revision(change.revision.number - 1))
        }
        return true
    }

    /// Changes after `last` were lost before their release; the log may have them.
    package mutating func releaseWasCut(after last: Revision) -> Bool {
        defer { checkInvariants() }
        guard state == .live else { return false }
        state = .catchingUp(after: max(last, told))
        return true
    }

    /// An origin or a credential has a new state, as of the last published revision.
    package mutating func statusChanged(
        _ subject: Subject,
        _ newState: String,
        published: Revision
    ) -> Bool {
        defer { checkInvariants() }
        guard interest.kinds.contains(subject.kind) else { return false }
        switch state {
        case .listing, .catchingUp:
            statuses[subject] = newState
            return false
        case .live:
            guard !waiting.isFull else {
                statuses[subject] = newState
                return true
            }
            // The notice comes after everything that was published before it.
            let revision = max(published, told, waiting.end ?? told)
            waiting.append(Notice(revision: revision, content: .status(subject, newState)))
            return true
        case .lagged, .finished: return false
        }
    }

    // MARK: The reader

    /// The reader has told all its notices; `published` is the last published revision.
    package mutating func readerIsReady(published: Revision) -> ReadAction {
        defer { checkInvariants() }
        if case .finished = state { return .end }
        if case .listing = state { return .list }
        let notices = takeNotices()
        if !notices.isEmpty { return .tell(notices) }
        switch state {
        case .catchingUp(let after):
            return .readLog(after: after, through: max(after, published))
        case .live:
            told = max(told, published)
            if !statuses.isEmpty {
                appendStatuses(at: told)
                return .tell(takeNotices())
            }
            guard let content = bookmark.take(), hasBookmarks else { return .wait }
            bookmarked = told
            return .tell([Notice(revision: told, content: content)])
        case .lagged(let after):
            state = .finished
            waiting = NoticeQueue()
            statuses = [:]
            forgetListed()
            return .tellLagged(Revision(after.number + 1), droppedAfter: after)
        case .listing, .finished:
            return .end
        }
    }

    /// The client was told of some of the entries that exist, each as of its revision.
    package mutating func entriesWereListed(_ entries: [(id: EntryID, revision: Revision)]) {
        defer { checkInvariants() }
        guard case .listing(let from) = state else { return }
        for (id, revision) in entries where revision > from {
            let bytes = listed[id] == nil ? id.listedBytes : 0
            guard listedBytes + bytes <= Limits.watchListedBytesMax else { return }
            listed[id] = revision
            listedBytes += bytes
        }
    }

    package mutating func listingEnded() {
        defer { checkInvariants() }
        guard case .listing(let from) = state else { return }
        state = .catchingUp(after: from)
        guard hasBookmarks else { return }
        waiting.append(Notice(revision: from, content: .bookmark(isInitialDone: true)))
        bookmarked = from
    }

    /// The reader read all changes of interest up to `through` from the log.
    package mutating func pageWasRead(
        _ changes: [Change],
        through: Revision,
        published: Revision
    ) {
        defer { checkInvariants() }
        guard case .catchingUp(let after) = state else { return }
        for change in changes where change.revision > after && interest.covers(change) {
            if let id = change.id, let seen = listed[id], change.revision <= seen { continue }
            waiting.append(Notice(change))
        }
        guard through >= published else {
            state = .catchingUp(after: through)
            return
        }
        state = .live
        forgetListed()
        appendStatuses(at: max(through, told))
    }

    /// The log no longer has the revision after which the watcher has to read.
    package mutating func pageWasGone() {
        guard case .catchingUp(let after) = state else { return }
        state = .lagged(after: after)
    }

    package mutating func beatIsDue(published: Revision) -> BeatAction {
        guard state == .live, hasBookmarks, waiting.isEmpty, bookmark == nil else {
            return .beat(told)
        }
        told = max(told, published)
        guard told > (bookmarked ?? told) else { return .beat(told) }
        bookmarked = told
        return .tell(Notice(revision: told, content: .bookmark(isInitialDone: false)))
    }

    // MARK: Waiting notices

    private mutating func appendStatuses(at revision: Revision) {
        for (subject, state) in statuses.sorted(by: { $0.key < $1.key }) {
            waiting.append(Notice(revision: revision, content: .status(subject, state)))
        }
        statuses = [:]
    }

    private mutating func takeNotices() -> [Notice] {
        let notices = waiting.take(Limits.watchBatchNotices)
        told = notices.last?.revision ?? told
        return notices
    }

    private mutating func forgetListed() {
        listed = [:]
        listedBytes = 0
    }
}

extension EntryID {
    /// The approximate size in memory of a listed entry.
    var listedBytes: Int { text.utf8.count + Limits.watchNoticeOverheadBytes }
}

extension WatchMachine {
    package struct Notice: Equatable, Sendable {
        package enum Content: Equatable, Sendable {
            /// `coalesced` is the number of puts that the notice stands for, at least 1.
            case change(Change, coalesced: Int)
            case status(Subject, String)
            case bookmark(isInitialDone: Bool)
        }

        package var revision: Revision
        package var content: Content
        /// Whether more notices of the same step follow; the client must not resume at this
        /// revision.
        package var hasMore = false
    }

    /// A thing whose present state is told, and never replayed.
    package enum Subject: Hashable, Sendable {
        case origin(OriginName)
        /// The credential of the watcher's account at an origin.
        case credential(OriginName)
        case prefetch(PrefetchName)

        var kind: WatchKind {
            switch self {
            case .origin: .origin
            case .credential: .auth
            case .prefetch: .prefetch
            }
        }
    }
}

extension WatchMachine.Subject: Comparable {
    private var name: String {
        switch self {
        case .origin(let name), .credential(let name): name.text
        case .prefetch(let name): name.text
        }
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.kind.rawValue, left.name) < (right.kind.rawValue, right.name)
    }
}

extension WatchMachine.Notice {
    init(_ change: Change, coalesced: Int = 1) {
        self.init(revision: change.revision, content: .change(change, coalesced: coalesced))
    }

    var id: EntryID? {
        if case .change(let change, _) = content { change.id } else { nil }
    }

    /// The approximate size in memory.
    var bytes: Int {
        guard case .change(let change, _) = content else { return Limits.watchNoticeOverheadBytes }
        let bytes =
            switch change.event {
            case .put(let id, let cause), .delete(let id, let cause):
                id.text.utf8.count + (cause.text?.utf8.count ?? 0)
            case .evict(let id, _, _): id.text.utf8.count
            case .remapped(let id, let real): id.text.utf8.count + real.text.utf8.count
            case .modifier(let modifier):
                modifier.targets.reduce(modifier.problem.count + modifier.answer.count) {
                    $0 + $1.text.utf8.count
                }
            }
        return bytes + Limits.watchNoticeOverheadBytes
    }
}

extension WatchMachine {
    /// Checks the invariants of the machine's documentation; costs nothing in release.
    func checkInvariants() {
        waiting.checkInvariants()
        assert(waiting.next.map { $0.revision >= told } ?? true, "it was not told")
        assert(listed.keys.reduce(0) { $0 + $1.listedBytes } == listedBytes, "it is counted")
        assert(listedBytes <= Limits.watchListedBytesMax, "what is remembered is bounded")
    }
}
