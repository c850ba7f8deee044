package import LarderModel

/// One line of a watch stream.
package enum WatchFrame: Equatable, Sendable {
    case put(EntryEvent)
    case delete(EntryEvent)
    case evict(EvictionEvent)
    case modifier(ModifierEvent)
    case origin(Revision, OriginName, state: String)
    /// An account's credential is needed at an origin, or what waited for it goes on.
    case auth(Revision, OriginName, AccountName, state: String)
    case bookmark(Revision, isInitialDone: Bool)
    /// The last line but for the connection's end: come back with `since=dropped_after`.
    case lagged(Revision, droppedAfter: Revision)
    /// Everything up to a revision was told.
    case heartbeat(Revision)
    /// Nothing follows; the revision is the one to come back with, nil where the list of what there
    /// is was not told to its end.
    case end(Ending, Revision?)

    /// Why a stream ends.
    package enum Ending: String, Sendable {
        case shutdown
        /// The watcher's own time is over.
        case timeout
    }

    /// Other bytes stand under an id, or it is deleted.
    package struct EntryEvent: Equatable, Sendable {
        package var revision: Revision
        package var id: EntryID
        package var source: String
        package var cause: String?
        /// The entities whose changes it shows, where it is of an entry in normalized form.
        package var changed: [EntityKey] = []
        /// Whether the watcher has brought it about itself, by its `Larder-Client` header.
        package var isOwn = false
        /// How many puts it stands for.
        package var coalesced = 1
        /// It was there when the watch began; its revision is not one to come back with.
        package var isInitial = false
        /// More of the same step follows; the revision is not yet one to come back with.
        package var hasMore = false

        package init(revision: Revision, id: EntryID, source: String, cause: String? = nil) {
            self.revision = revision
            self.id = id
            self.source = source
            self.cause = cause
        }
    }

    package struct EvictionEvent: Equatable, Sendable {
        package var revision: Revision
        package var id: EntryID
        package var reason: String
        package var isOwn = false
        package var hasMore = false

        package init(revision: Revision, id: EntryID, reason: String) {
            self.revision = revision
            self.id = id
            self.reason = reason
        }
    }

    package struct ModifierEvent: Equatable, Sendable {
        package var revision: Revision
        package var change: ModifierChange
        package var isOwn = false
        package var hasMore = false

        package init(revision: Revision, _ change: ModifierChange) {
            self.revision = revision
            self.change = change
        }
    }

    /// The revision to come back with once this frame was read; nil where there is none yet.
    package var resumption: Revision? {
        switch self {
        case .put(let event), .delete(let event):
            event.isInitial || event.hasMore ? nil : event.revision
        case .evict(let event): event.hasMore ? nil : event.revision
        case .modifier(let event): event.hasMore ? nil : event.revision
        case .origin(let revision, _, _), .auth(let revision, _, _, _),
            .bookmark(let revision, _), .heartbeat(let revision):
            revision
        case .end(_, let revision): revision
        case .lagged(_, let droppedAfter): droppedAfter
        }
    }
}

/// The answer to a long poll.
package struct WatchReport: Equatable, Sendable {
    /// What to ask for next as `since`.
    package var revision: Revision
    package var events: [WatchFrame]

    package init(revision: Revision, events: [WatchFrame]) {
        self.revision = revision
        self.events = events
    }
}
