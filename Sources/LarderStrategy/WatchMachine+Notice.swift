package import LarderModel

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

        var kind: WatchKind {
            switch self {
            case .origin: .origin
            case .credential: .auth
            }
        }
    }
}

extension WatchMachine.Subject: Comparable {
    private var name: OriginName {
        switch self {
        case .origin(let name), .credential(let name): name
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
