package import LarderModel

/// Notices that wait for one watcher, in the order in which it gets them.
///
/// A put replaces an earlier put of its id that waits, and names the entities of both. The new put
/// comes last, and the earlier place becomes empty. Empty places, also at the front, are swept once
/// there are more than ``Limits/watchNoticesMax``. So a change costs the same however many notices
/// wait.
///
/// Invariants:
/// 1. The waiting notices are ordered by revision.
/// 2. ``count`` and ``bytes`` are those of the waiting notices.
/// 3. An id in ``puts`` has a put at that place, and no later notice about the id waits.
/// 4. There are at most ``Limits/watchNoticesMax`` empty places.
struct NoticeQueue: Sendable {
    typealias Notice = WatchMachine.Notice

    private(set) var places: [Notice?] = []
    /// All places before this one are empty.
    private(set) var first = 0
    private(set) var count = 0
    private(set) var bytes = 0
    /// The place of each waiting put that a later put of its id may replace.
    private(set) var puts: [EntryID: Int] = [:]

    var notices: [Notice] { places.compactMap(\.self) }
    var next: Notice? { places.lazy.compactMap(\.self).first }
    /// The last waiting revision.
    var end: Revision? { (places.last ?? nil)?.revision }
    var isEmpty: Bool { count == 0 }
    var isFull: Bool { count >= Limits.watchNoticesMax }

    /// Adds a change; false if there is no room for it.
    mutating func add(_ change: Change) -> Bool {
        let (notice, place) = notice(of: change)
        let freed = place.flatMap { places[$0] }?.bytes ?? 0
        guard place != nil || !isFull, bytes - freed + notice.bytes <= Limits.watchBytesMax else {
            return false
        }
        if let place { empty(place) }
        append(notice)
        sweep()
        return true
    }

    /// Adds a notice for which there must be room.
    mutating func append(_ notice: Notice) {
        if case .change(let change, _) = notice.content, let id = change.id {
            if case .put = change.event { puts[id] = places.count } else { puts[id] = nil }
        }
        places.append(notice)
        count += 1
        bytes += notice.bytes
    }

    /// Removes and returns at most so many notices, but whole steps.
    mutating func take(_ most: Int) -> [Notice] {
        var taken: [Notice] = []
        while first < places.count {
            guard let next = places[first] else {
                first += 1
                continue
            }
            guard taken.count < most || taken.last?.revision == next.revision else { break }
            taken.append(next)
            empty(first)
        }
        for index in taken.indices.dropLast() {
            taken[index].hasMore = taken[index].revision == taken[index + 1].revision
        }
        sweep()
        return taken
    }

    mutating func drop(from revision: Revision) {
        while let last = places.last {
            if let last, last.revision < revision { break }
            empty(places.count - 1)
            places.removeLast()
        }
        sweep()
    }

    /// The notice for a change, and the place of the put that it replaces.
    private func notice(of change: Change) -> (Notice, place: Int?) {
        guard case .put(let id, var cause) = change.event, let place = puts[id],
            case .change(let earlier, let coalesced)? = places[place]?.content
        else { return (Notice(change), nil) }
        // A change by several clients counts as no client's own.
        if cause.client != earlier.client { cause.client = nil }
        var both = Change(change.revision, change.scope, .put(id, cause))
        if case .put(_, let first) = earlier.event { both.add(changed: first.changed) }
        return (Notice(both, coalesced: coalesced + 1), place)
    }

    private mutating func empty(_ place: Int) {
        guard let notice = places[place] else { return }
        places[place] = nil
        count -= 1
        bytes -= notice.bytes
        if let id = notice.id, puts[id] == place { puts[id] = nil }
    }

    private mutating func sweep() {
        guard !isEmpty else {
            self = NoticeQueue()
            return
        }
        guard places.count - count > Limits.watchNoticesMax else { return }
        var swept: [Notice?] = []
        swept.reserveCapacity(count)
        for (place, notice) in places.enumerated() {
            guard let notice else { continue }
            if let id = notice.id, puts[id] == place { puts[id] = swept.count }
            swept.append(notice)
        }
        places = swept
        first = 0
    }
}

extension NoticeQueue {
    /// Checks the invariants of the queue's documentation; costs nothing in release.
    func checkInvariants() {
        assert(isCounted, "what waits is ordered and counted, and begins at the first")
        assert(putsAreLast, "the last notice of an id is known where it is a put")
        assert(places.count - count <= Limits.watchNoticesMax, "empty places are swept")
    }

    private var isCounted: Bool {
        var (found, size, last) = (0, 0, Revision(0))
        for case (let place, let notice?) in places.enumerated() {
            guard place >= first, notice.revision >= last else { return false }
            (found, size, last) = (found + 1, size + notice.bytes, notice.revision)
        }
        return (found, size) == (count, bytes)
    }

    private var putsAreLast: Bool {
        for case (let place, let notice?) in places.enumerated() {
            guard let id = notice.id, let put = puts[id] else { continue }
            guard place <= put else { return false }
        }
        return puts.allSatisfy { id, place in
            guard case .change(let change, _)? = places[place]?.content,
                case .put(id, _) = change.event
            else { return false }
            return true
        }
    }
}

/// The changes that a watcher wants to hear of.
package struct WatchInterest: Equatable, Sendable {
    package var ids: Set<EntryID>
    package var prefixes: [String]
    package var kinds: Set<WatchKind>
    /// Entities whose own URLs are among the ids; a modifier of such an entity is told under its
    /// key.
    package var written: Set<EntryID> = []

    /// Without ids and prefixes the interest covers every entry.
    package init(
        ids: Set<EntryID> = [],
        prefixes: [String] = [],
        kinds: Set<WatchKind> = Set(WatchKind.allCases)
    ) {
        self.ids = ids
        self.prefixes = prefixes
        self.kinds = kinds
    }

    package func covers(_ change: Change) -> Bool {
        switch change.event {
        case .put(let id, _): kinds.contains(.put) && covers(id)
        case .delete(let id, _): kinds.contains(.delete) && covers(id)
        case .evict(let id, _, _): kinds.contains(.evict) && covers(id)
        case .remapped(let id, let real):
            kinds.contains(.remapped) && (covers(id) || covers(real))
        case .modifier(let modifier):
            kinds.contains(.modifier)
                && (isEverything
                    || modifier.targets.contains { covers($0) || written.contains($0) })
        }
    }

    package func covers(_ id: EntryID) -> Bool {
        isEverything || ids.contains(id) || prefixes.contains { id.text.utf8.starts(with: $0.utf8) }
    }

    private var isEverything: Bool { ids.isEmpty && prefixes.isEmpty }
}
