import LarderJSON
import LarderModel
import LarderNormalize
import LarderStore
import LarderStrategy
import Logging
import Synchronization

/// Reads of origins that are in flight, and which of their answers are out of date (P-06).
///
/// A read *departs* before its first byte leaves, and *finishes* when its answer was stored or given
/// up. A write is *confirmed* when a clear answer said that it was done. An answer is
///
/// - *overtaken* if a write of the same thing was confirmed after the read departed. The members
///   that the write touched may be from before it, so they stay as they are.
/// - *late* if the same row already took the answer of a read that departed later. Reads with
///   different headers are in flight together, and their answers may have one id.
/// - *hidden* from a user if it is shared, and an own answer was stored under its id after the read
///   departed. It may be older than what the user has seen.
///
/// Invariants:
/// 1. A confirmation or a stored own row is forgotten once no read in flight departed before it.
/// 2. At most ``Limits/fencedWritesMax`` targets are remembered, and as many ids of own rows. For a
///    read that departed before a dropped one, all of every target was touched.
/// 3. Of a target at most ``Limits/fencedNameBytesMax`` bytes of names are remembered.
///
/// ```
///   read A      departed ────────────────────── answer: {"liked": false, "title": "new"} ── finished
///   write {"liked": true}   sent ── confirmed
///   stored                                      {"liked": true, "title": "new"}, stale
/// ```
final class ReadsInFlight: Sendable {
    private struct State {
        /// Numbers departures and confirmations, in their order.
        var moment = 0
        /// The rows for which later reads of the same URL have been answered, by departure.
        var answered: [Int: Set<TargetName>] = [:]
        var departures: [TargetName: Set<Int>] = [:]
        var written: [TargetName: Touches] = [:]
        /// The moment of the last own row under each id that may have a shared row.
        var owned: [EntryID: [ScopeKey: Int]] = [:]
        /// The last of these moments that was dropped while it was still needed.
        var lost = 0

        var oldest: Int { answered.keys.min() ?? .max }

        func earlier(than read: Read) -> Set<Int> {
            read.url.flatMap { departures[$0] }?.filter { $0 < read.departure } ?? []
        }

        func checkInvariants() {
            assert(written.values.allSatisfy { $0.last > oldest }, "1")
            assert(max(written.count, owned.count) <= Limits.fencedWritesMax, "2")
        }

        /// Notes what has happened, while a read is in flight.
        mutating func note(_ event: (inout State) -> Void) {
            guard !answered.isEmpty else { return }
            moment += 1
            event(&self)
            if max(written.count, owned.count) > Limits.fencedWritesMax {
                // All of them, so that this is rare.
                (lost, written, owned) = (moment, [:], [:])
            }
            checkInvariants()
        }
    }

    /// When confirmed writes last touched a target.
    private struct Touches {
        private var whole = 0
        private var members: [JSONName: Int] = [:]
        private(set) var last = 0

        mutating func note(_ touched: TouchedMembers, at moment: Int) {
            last = moment
            if case .members(let names) = touched {
                for name in names { members[name] = moment }
                let count = members.keys.reduce(0) { $0 + $1.text.utf8.count }
                guard count > Limits.fencedNameBytesMax else { return }
            }
            (whole, members) = (moment, [:])
        }

        func touched(since moment: Int) -> TouchedMembers {
            whole > moment ? .all : .members(Set(members.filter { $0.value > moment }.keys))
        }
    }

    final class Read: Sendable {
        private let reads: ReadsInFlight
        fileprivate let url: TargetName?
        fileprivate let departure: Int
        // Relaxed: set before the put that it is about returns, and read after.
        private let use = Atomic<Int>(0)

        fileprivate init(_ reads: ReadsInFlight, _ url: TargetName?, departure: Int) {
            (self.reads, self.url, self.departure) = (reads, url, departure)
        }

        /// The part of its answer that was stored; nil if no write has overtaken it.
        var overtakenUse: AnswerFence.Use? {
            AnswerFence.Use(rawValue: use.load(ordering: .relaxed))
        }

        var fence: AnswerFence {
            AnswerFence(
                touched: { [self] scope, id in reads.touched(since: self, id, in: scope) },
                hiddenFrom: { [self] id in reads.owners(of: id, since: self) },
                storesOwn: { [self] scope, id in reads.ownStored(id, in: scope) },
                used: { [self] in use.store($0.rawValue, ordering: .relaxed) }
            )
        }
    }

    private let state = Mutex(State())

    private var isInUse: Bool { state.withLock { !$0.answered.isEmpty } }

    /// Call this before the first byte leaves.
    func departed(_ url: EntryID?, in scope: ScopeKey) -> Read {
        let name = url.map { TargetName(scope, $0) }
        return state.withLock { state in
            state.moment += 1
            state.answered[state.moment] = []
            if let name { state.departures[name, default: []].insert(state.moment) }
            return Read(self, name, departure: state.moment)
        }
    }

    func finished(_ read: Read) {
        state.withLock { state in
            state.answered[read.departure] = nil
            if let url = read.url {
                state.departures[url]?.remove(read.departure)
                if state.departures[url]?.isEmpty == true { state.departures[url] = nil }
            }
            guard !state.written.isEmpty || !state.owned.isEmpty else { return }
            let oldest = state.oldest
            // If an earlier read is in flight, it still needs all of it.
            guard oldest > read.departure else { return }
            state.written = state.written.filter { $0.value.last > oldest }
            state.owned = state.owned.compactMapValues { owners in
                let left = owners.filter { $0.value > oldest }
                return left.isEmpty ? nil : left
            }
            state.checkInvariants()
        }
    }

    /// Call this before the result of the write is stored.
    func writeConfirmed(_ id: EntryID, in scope: ScopeKey, touching touched: TouchedMembers) {
        state.withLock {
            $0.note { state in
                state.written[TargetName(scope, id), default: Touches()]
                    .note(touched, at: state.moment)
            }
        }
    }

    /// Notes that an answer was stored as an own row that hides a shared one.
    ///
    /// Notes also an answer that the user got without it being stored.
    func ownStored(_ id: EntryID, in scope: ScopeKey) {
        state.withLock { $0.note { $0.owned[id, default: [:]][scope] = $0.moment } }
    }

    private func owners(of id: EntryID, since read: Read) -> [ScopeKey] {
        state.withLock { state in
            (state.owned[id] ?? [:]).filter { $0.value > read.departure }.map(\.key)
        }
    }

    private func touched(
        since read: Read,
        _ id: EntryID,
        in scope: ScopeKey
    ) -> TouchedMembers {
        let ids = [id] + (Variants.url(of: id).map { [$0] } ?? [])
        let url = id.urlOfRequest
        return state.withLock { state in
            guard read.departure >= state.lost else { return .all }
            // A write of the URL may have changed anything in the answer to a read with a body.
            if let url, let touches = state.written[TargetName(scope, url)],
                touches.last > read.departure
            {
                return .all
            }
            return ids.reduce(into: .none) { touched, id in
                guard let touches = state.written[TargetName(scope, id)] else { return }
                touched.formUnion(touches.touched(since: read.departure))
            }
        }
    }

    /// The answer of a read is about to be stored for a row; false if it is late.
    func takesAnswer(of read: Read, for id: EntryID, in scope: ScopeKey) -> Bool {
        let row = TargetName(scope, id)
        return state.withLock { state in
            guard state.answered[read.departure]?.contains(row) != true else { return false }
            for earlier in state.earlier(than: read) { state.answered[earlier]?.insert(row) }
            return true
        }
    }

    /// The answer that was taken could not be stored: it makes no other late.
    func answerNotStored(of read: Read, for id: EntryID, in scope: ScopeKey) {
        let row = TargetName(scope, id)
        state.withLock { state in
            for earlier in state.earlier(than: read) { state.answered[earlier]?.remove(row) }
        }
    }

    /// Keeps answers whose requests started before now from changing what a confirmed write has
    /// touched.
    ///
    /// A value in the answer to the write is later than all that was read.
    func fence(_ whole: WholeModifier, _ said: SaidTargets, _ context: EngineContext) async {
        guard isInUse else { return }
        let (store, number) = (context.store, whole.modifier.number)
        let scope = store.key(for: whole.modifier.scope)
        for change in whole.changes {
            let touched = TouchedMembers(stored: change.effect)
            guard touched != .none else { continue }
            let own: TouchedMembers = said.contains(change.id) ? .all : touched
            for place in context.lookupScopes(scope, change.id).scopes {
                writeConfirmed(change.id, in: place, touching: place == scope ? own : touched)
            }
        }
        // Writes that were answered 202 go into base with it, unless it changes nothing.
        guard (store.modifiers.totals.byState[.accepted] ?? 0) > 0 else { return }
        for change in whole.changes where TouchedMembers(stored: change.effect) != .none {
            let target = try? await store.read { reader throws(StoreError) in
                try reader.targets.target(scope, change.id, upTo: number)
            }
            guard let target else {
                writeConfirmed(change.id, in: scope, touching: .all)
                continue
            }
            for other in target.changes where other.state == .accepted && !other.isAnswered {
                let touched = TouchedMembers(stored: other.effect)
                writeConfirmed(change.id, in: scope, touching: touched)
            }
        }
    }
}

/// A URL that the origin has changed by a write of a user (RFC 9111, section 4.4).
struct WrittenURL: EnginePart {
    let context: EngineContext
    let url: WebURL
    let scope: ScopeKey

    /// The targets under which writes of the URL are queued: its own id, and the entity at the URL.
    var targets: [EntryID] {
        guard let id = try? EntryID(url) else { return [] }
        return [id] + (context.entity(at: id, in: scope).map { [EntryID($0)] } ?? [])
    }

    /// Makes the cached answers of the URL stale, also those of reads with a body.
    ///
    /// Answers that are on their way are old from now on.
    func invalidate() async {
        for id in targets {
            for place in context.lookupScopes(scope, id).scopes {
                context.reads.writeConfirmed(id, in: place, touching: .all)
            }
        }
        await markStale()
    }

    /// Makes the cached answers of the URL stale, also those of reads with a body.
    func markStale() async {
        guard let id = targets.first else { return }
        do throws(StoreError) {
            try await store.markStale(id, in: context.lookupScopes(scope, id).scopes)
        } catch {
            context.note("a written URL was not marked stale", error, of: id)
        }
    }
}

extension WrittenURL {
    /// The URL of a modifier's request, or one that its answer names; nil for a target.
    init?(_ url: WebURL, by modifier: StoredModifier, _ context: EngineContext) {
        self.init(context: context, url: url, scope: context.store.key(for: modifier.scope))
        guard Set(targets).isDisjoint(with: modifier.targets) else { return nil }
    }

    /// Makes the cached answers of other URLs stale that the answer to a modifier names.
    ///
    /// A target with a temporary id may be at one of them, and gets its base from the answer. The
    /// answer to a read that is on its way may already show the write, so it is stored.
    static func markStale(
        namedBy answer: ModifierAttempt.Answer?,
        to modifier: StoredModifier,
        _ context: EngineContext
    ) async {
        guard let answer, answer.status < 400,
            modifier.targets.allSatisfy({ $0.temporary == nil })
        else { return }
        for url in modifier.url.named(by: modifier.headers, answer.headers) {
            await WrittenURL(url, by: modifier, context)?.markStale()
        }
    }
}

extension WebURL {
    /// The URLs of the same host that a write of this one or its answer names.
    ///
    /// See RFC 9111 4.4; COPY and MOVE have a Destination (RFC 4918 10.3).
    func named(by asked: HeaderFields, _ said: HeaderFields) -> [WebURL] {
        let names = [asked["Destination"], said["Location"], said["Content-Location"]]
        let urls = names.compactMap { name in name.flatMap { try? resolving($0) } }
        return urls.filter { $0.originText == originText && $0 != self }
    }
}
