/// The queue by the letter of the design: for each target what the server said last, and the
/// modifiers that are not settled, in the order of acceptance.
///
/// It was written from the cases of the design and knows nothing of lanes that are waited for,
/// timers, files or tasks: it says what may be, not when it comes about.
struct PlainQueue: Hashable {
    /// What somebody may see of a target.
    struct Shown: Hashable {
        let base: Base
        let view: PlainView
        /// Nil where nothing is shown, and so nothing said of it.
        let pending: [String]?
        let failed: Int
    }

    private(set) var bases: [String: Base] = [:]
    /// In the order of acceptance, dead letters among them.
    var modifiers: [PlainModifier] = []
    /// What became of those that left: confirmed or cancelled.
    var outcomes: [String: String] = [:]
    /// In whose request those were that left, as far as they were in another one's.
    var joinedInto: [String: String] = [:]
    /// The members of each target that confirmed writes have touched (P-06).
    private(set) var confirmations: [String: PlainTouches] = [:]
    /// Members of own rows that answers of writes, or writes settled with them, have changed.
    private(set) var ownConfirmations: [String: PlainTouches] = [:]
    private(set) var pinned: Set<String> = []
    /// What pins keep that the origin has deleted.
    private(set) var kept: [String: Base] = [:]
    /// Pins whose bytes the cache alone has: it could not be read when they were made.
    private(set) var unsaved: Set<String> = []
    private(set) var paused: Set<String> = []
    /// The answers in a row that refused the credential, and the modifier that tries it; nil for one
    /// that works (case 23).
    var doubt: Doubt?
    var rows: PlainRows
    private let acceptedLimit: Duration
    /// Whether the origin does what carries one key once.
    private let isHonoured: Bool
    /// Whether targets are entities, which are read by their keys and by their own URLs.
    let hasEntities: Bool
    /// Which writes are joined.
    let joins: Joins
    /// Whether there is a list of entities.
    let hasList: Bool
    /// The paths of entities whose temporary id was replaced, by those that they had.
    var aliases: [String: String] = [:]
    /// What answers are there of entities' own URLs.
    var answers: [String: Answer] = [:]
    /// The rule that is taken out, so that the judge fails.
    private let missing: PlainRule?

    struct Doubt: Hashable {
        var refusals = 0
        var trial: String?
    }

    enum Answer {
        case entity
        /// That it is gone.
        case tombstone
    }

    init(
        acceptedLimit: Duration,
        hasEntities: Bool,
        hasList: Bool = false,
        isShared: Bool,
        isHonoured: Bool,
        joins: Joins = .none,
        without missing: PlainRule? = nil
    ) {
        self.missing = missing
        rows = PlainRows(isShared: isShared)
        self.isHonoured = isHonoured
        self.joins = joins
        self.acceptedLimit = acceptedLimit
        (self.hasEntities, self.hasList) = (hasEntities, hasList)
    }

    func holds(_ rule: PlainRule) -> Bool { rule != missing }

    subscript(id: String) -> PlainModifier? { modifiers.first { $0.id == id } }

    var unsettled: [PlainModifier] { modifiers.filter { !$0.isDead } }

    func base(_ path: String) -> Base { bases[path] ?? .unknown }

    func isTargeted(_ path: String) -> Bool {
        unsettled.contains { $0.changes.contains { $0.path == path } }
    }

    mutating func set(_ path: String, _ base: Base) {
        let old = self.base(path)
        guard old != base else { return }
        // A pin keeps the bytes that it has.
        if Self.view(old).value != nil, base == .deleted, pinState(path) == "held" {
            kept[path] = old
        } else {
            kept[path] = nil
        }
        unsaved.remove(path)
        bases[path] = base
    }

    // MARK: Clients

    mutating func accept(_ modifier: PlainModifier) {
        // Nothing is known of an account without modifiers.
        if unsettled.isEmpty { doubt = nil }
        let renamed = renamed(modifier)
        var modifier = holds(.revertComputesAgain) ? renamed : withSnapshot(renamed)
        if !holds(.objectIsEntity) {
            modifier.changes.removeAll { if case .place = $0.effect { true } else { false } }
        }
        if !holds(.emptyFormShows) { modifier.changes = modifier.changes.map(\.withoutForm) }
        modifier.seen = seen(by: modifier)
        modifiers.append(modifier)
        for change in modifier.changes {
            unsaved.remove(change.path)
            rows.waiting.remove(change.path)
        }
        // One that failed in the same moment takes it along.
        for parent in modifier.dependsOn where !isConfirmedOrOpen(parent) {
            die(modifier.id, "parent_failed")
        }
    }

    private func isConfirmedOrOpen(_ id: String) -> Bool {
        outcomes[id] == "confirmed" || self[id].map { !$0.isDead } ?? false
    }

    /// The user has given another credential.
    mutating func renewCredential() {
        let refused = modifiers.filter { $0.standing == .authWait }
        guard doubt != nil || !refused.isEmpty, holds(.newCredentialWakes) else { return }
        for modifier in refused { change(modifier.id) { $0.standing = .waiting } }
        doubt = Doubt()
    }

    mutating func pause(_ lane: String, _ isPaused: Bool) {
        if isPaused { paused.insert(lane) } else { paused.remove(lane) }
    }

    /// A pin without what the cache cannot give now waits for its origin.
    mutating func pin(_ path: String, isCacheRead: Bool = true) {
        let isNew = pinned.insert(path).inserted
        rows.waiting.remove(path)
        if path == Self.list, shownList.base == .unknown {
            // "An evicted child: the whole answer is a miss", so there are no bytes to keep.
            if base(path) != .unknown { unsaved.insert(path) }
        } else if isCacheRead {
            unsaved.remove(path)
        } else if isNew, !isTargeted(path), case .value = base(path) {
            unsaved.insert(path)
        }
    }

    /// What its origin has deleted meanwhile is gone for good.
    mutating func unpin(_ path: String) {
        pinned.remove(path)
        unsaved.remove(path)
        rows.waiting.remove(path)
        kept[path] = nil
    }

    // MARK: Sending

    /// Why a modifier must not be sent now; nil where it may (P-03, P-05, case 14).
    ///
    /// With `isMet` it may be one that has met another device's edit.
    func refusal(
        toSend id: String,
        key: String,
        at now: Duration,
        isMet: Bool = false
    ) -> String? {
        guard let modifier = self[id] else { return "it is not in the queue" }
        switch modifier.standing {
        case .waiting:
            if let hold = modifier.holdUntil, hold > now, holds(.heldWaits) { return "it is held" }
        case .unsent, .retryWait: break
        case .unknown:
            if modifier.waitsForPerson, holds(.personDecides) { return "a person decides" }
        case .inFlight, .checking, .authWait, .conflict, .accepted, .answered, .failed:
            if holds(.waitingIsSent) { return "it is \(modifier.standing)" }
        }
        if modifier.key != key, holds(.keyStays) { return "P-05: its key is \(modifier.key)" }
        for other in unsettled.prefix(while: { $0.id != id }) where holds(.earlierGoesFirst) {
            if other.state(at: now) == "accepted" || other.standing == .answered { continue }
            if let lane = other.lanes.intersection(modifier.lanes).min() {
                return "P-03: \(other.id) is before it in \(lane)"
            }
        }
        if let lane = modifier.lanes.intersection(paused).min(), holds(.pausedLaneWaits) {
            return "\(lane) is paused"
        }
        for parent in modifier.dependsOn
        where outcomes[parent] != "confirmed" && self[parent]?.standing != .answered {
            if holds(.dependantWaits) { return "it depends on \(parent)" }
        }
        if !isMet, isOvertakenByOthers(modifier) == true {
            return "case 19: another device has changed what it changes"
        }
        guard let doubt else { return nil }
        if doubt.refusals >= 3, holds(.threeRefusalsWait) {
            return "the credential was refused three times"
        }
        let isTried = unsettled.contains { $0.id == doubt.trial && $0.isUnderWay }
        return isTried && holds(.oneTriesCredential) ? "another one tries the credential" : nil
    }

    /// The GET of a target after a 412 sets out; false where nobody needs it (case 22).
    mutating func check(_ path: String) -> Bool {
        for modifier in unsettled {
            guard case .checking(let left, false, let found) = modifier.standing,
                left.first == path
            else { continue }
            change(modifier.id) { $0.standing = .checking(left, isAsked: true, found: found) }
            return true
        }
        return false
    }

    /// The send step; a row may be in it although nothing was seen to leave.
    mutating func send(_ group: [PlainModifier]) {
        guard let id = group.first?.id else { return }
        join(group)
        let queue = self
        doubt?.trial = id
        change(id) { modifier in
            modifier.standing = .inFlight(wasUnknown: modifier.standing == .unknown)
            modifier.attempts += 1
            modifier.hadLeft = modifier.mayHaveLeft
            modifier.mayHaveLeft = true
            for change in modifier.changes where modifier.sentOn[change.path] == nil {
                modifier.sentOn[change.path] = queue.base(change.path)
            }
        }
        for member in members(of: id) {
            let path = member.changes[0].path
            guard member.sentOn[path] == nil else { continue }
            let sentOn = base(path)
            change(member.id) { $0.sentOn[path] = sentOn }
        }
    }

    /// The queues that this may be if the disk has failed: a send step was not written.
    func unsent(at now: Duration) -> [PlainQueue] {
        let ready = unsettled.filter { modifier in
            modifier.standing == .waiting
                && refusal(toSend: modifier.id, key: modifier.key, at: now) == nil
        }
        return [self]
            + ready.map { modifier in
                var queue = self
                queue.change(modifier.id) { $0.standing = .unsent }
                return queue
            }
    }

    // MARK: What the origin says

    /// An attempt has ended; false where none was under way.
    mutating func attemptEnded(
        _ id: String,
        _ verdict: PlainVerdict,
        input: Int,
        at now: Duration
    ) -> Bool {
        guard let modifier = self[id], case .inFlight(let wasUnknown) = modifier.standing else {
            return false
        }
        guard case .created(let real, let value) = verdict else {
            end(modifier, verdict, wasUnknown: wasUnknown, input: input, at: now)
            return true
        }
        replaceTemporary(of: id, with: real)
        let told = value.map { (path: Self.path(of: real), value: $0) }
        end(self[id] ?? modifier, .confirmed(told), input: input, at: now)
        return true
    }

    /// The origin has said what a target is that was asked for after a 412; false where none was.
    mutating func checkEnded(
        _ path: String,
        _ answer: PlainCheck,
        input: Int,
        at now: Duration
    ) -> Bool {
        for modifier in unsettled {
            guard case .checking(var left, true, var found) = modifier.standing,
                left.first == path
            else { continue }
            switch answer {
            case .notNow: end(modifier, .unclear, input: input, at: now)
            case .nothing: leaveToPerson(modifier.id)
            case .said(let base):
                found[left.removeFirst()] = base
                change(modifier.id) { $0.standing = .checking(left, isAsked: false, found: found) }
                guard left.isEmpty else { break }
                end(modifier, .confirmed(nil), input: input, at: now)
            }
            return true
        }
        return false
    }

    private mutating func leaveToPerson(_ id: String) {
        change(id) {
            $0.needsPerson = true
            $0.standing = .unknown
        }
    }

    private mutating func end(
        _ modifier: PlainModifier,
        _ verdict: PlainVerdict,
        wasUnknown: Bool = false,
        input: Int,
        at now: Duration
    ) {
        let id = modifier.id
        note(verdict, of: id)
        switch verdict {
        case .confirmed(let told): confirmGroup(modifier, told, input)
        case .created: preconditionFailure("it is confirmed under its id")
        case .accepted: acceptGroup(modifier, until: now + acceptedLimit)
        case .serverFailed where modifier.isUnclearOnError && holds(.serverErrorIsUnclear):
            change(id) {
                $0.notApplied += 1
                $0.standing = .unknown
            }
        case .notNow, .busy, .serverFailed:
            guard holds(.notNowIsRepeated) else { return refuse(id) }
            change(id) { $0.notApplied += 1 }
            if modifier.isSpent, holds(.attemptsAreLimited) {
                die(id, "attempts")
            } else {
                change(id) { $0.standing = .retryWait }
            }
        case .refused(let status):
            guard modifier.mayBeApplied, (400..<500).contains(status),
                holds(.refusedRepeatIsUnknown)
            else { return refuse(id) }
            if status == 409, isHonoured { return end(modifier, .notNow, input: input, at: now) }
            leaveToPerson(id)
        case .preconditionFailed where !holds(.refusedRepeatIsChecked): refuse(id)
        case .preconditionFailed:
            // An earlier attempt may have made this change; without an effect nothing can show that.
            let paths = Set(([modifier] + members(of: id)).flatMap(\.visible).map(\.path)).sorted()
            guard !paths.isEmpty else { return leaveToPerson(id) }
            change(id) { $0.standing = .checking(paths, isAsked: false, found: [:]) }
        case .authNeeded:
            guard holds(.refusedCredentialWaits) else { return refuse(id) }
            change(id) {
                $0.attempts -= 1
                if $0.attempts == 0 { $0.sentOn = [:] }
                $0.standing = .authWait
            }
            guard modifier.attempts == 1 else { break }
            for member in members(of: id) { change(member.id) { $0.sentOn = [:] } }
        case .unclear:
            guard holds(.unclearIsRepeated) else { return refuse(id) }
            change(id) { $0.mayBeApplied = true }
            if modifier.isSpent, modifier.resends {
                die(id, "attempts")
            } else {
                change(id) { $0.standing = .unknown }
            }
        case .captive where !holds(.portalIsNoAnswer): confirm(modifier, nil, input)
        case .neverLeft, .captive:
            let uncounted = holds(.unsentIsNotCounted) ? 1 : 0
            change(id) { modifier in
                modifier.attempts -= uncounted
                if modifier.attempts == 0 { modifier.sentOn = [:] }
                modifier.mayHaveLeft = modifier.hadLeft
                modifier.standing = wasUnknown ? .unknown : .waiting
            }
            if !modifier.hadLeft { part(id) }
        }
    }

    /// A read that has set out before a 2xx came cannot change what the write touched.
    mutating func touch(
        _ modifier: PlainModifier,
        _ told: (path: String, value: PlainValue)?,
        _ input: Int
    ) {
        for change in modifier.visible {
            let (path, none) = (change.path, PlainTouches())
            // A read that shows what the write has created is later than the write.
            let isCreated = aliases.values.contains(path) && change.effect.isPlace
            let touched: PlainTouched = isCreated ? .members([]) : change.effect.touched
            confirmations[path, default: none].note(touched, at: input)
            if told?.path == path { ownConfirmations[path, default: none].note(.all, at: input) }
            for before in unsettled.prefix(while: { $0.id != modifier.id }) {
                guard case .accepted = before.standing else { continue }
                for effect in before.changes(path) {
                    ownConfirmations[path, default: none].note(effect.touched, at: input)
                }
            }
        }
    }

    private mutating func note(_ verdict: PlainVerdict, of id: String) {
        switch verdict {
        case .neverLeft, .captive, .notNow, .refused: break
        case .authNeeded: doubt = Doubt(refusals: (doubt?.refusals ?? 0) + 1)
        case .confirmed, .created, .accepted:
            doubt = nil
            change(id) { $0.isPerhapsApplied = true }
        case .busy, .serverFailed, .preconditionFailed, .unclear:
            change(id) { $0.isPerhapsApplied = true }
        }
    }

    /// Cases 5 and 6; 29 for what its user sees of shared rows.
    mutating func confirm(
        _ modifier: PlainModifier,
        _ told: (path: String, value: PlainValue)?,
        _ input: Int? = nil
    ) {
        for path in modifier.visible.map(\.path) where holds(.acceptedGoesBeneath) {
            let earlier = unsettled.prefix { $0.id != modifier.id }
            for before in earlier where !before.changes(path).isEmpty {
                guard case .accepted = before.standing, self[before.id] != nil else { continue }
                confirm(before, nil)
            }
        }
        let modifier = self[modifier.id] ?? modifier
        let open = modifier.changes.filter { change in
            guard !rows.hasOwn(change.path) else { return false }
            guard change.effect.counts else { return true }
            return modifier.sentOn[change.path]?.isSame(as: base(change.path)) ?? false
        }
        self.change(modifier.id) { ($0.changes, $0.standing) = (open, .answered) }
        if open.isEmpty || !holds(.answeredShows) { settle(modifier.id) }
        for change in modifier.changes where rows.hasOwn(change.path) {
            if let input { rows.store(change.path, input) }
            let before = Self.view(base(change.path))
            confirm(change, of: modifier, told)
            // An addition that base does not take has made nothing of it.
            guard !change.effect.counts || Self.view(base(change.path)) != before else { continue }
            see(change.path, after: change.effect, of: modifier.id, from: before)
        }
    }

    private mutating func confirm(
        _ change: PlainModifier.Change,
        of modifier: PlainModifier,
        _ told: (path: String, value: PlainValue)?
    ) {
        if let told, told.path == change.path || !holds(.answerIsOfItsTarget) {
            return settle(change.path, on: .value(told.value))
        }
        let isSame = modifier.sentOn[change.path]?.isSame(as: base(change.path)) ?? false
        let isOnce = change.effect.counts && holds(.additionCountsOnce)
        guard isSame || !isOnce, holds(.confirmedChangesBase) else { return }
        switch confirmed(change) {
        case .value(let value, let isComplete):
            let isWhole = isComplete || !holds(.unknownStaysIncomplete)
            settle(change.path, on: isWhole ? .value(value) : .part(value))
        case .deleted: settle(change.path, on: .deleted)
        case .unknown, nil: break
        }
    }

    /// A confirmed write makes a new base, which is no other one for those that were sent before.
    ///
    /// Nor is one for those that touch what a mix has left as it was (case 8).
    private mutating func settle(
        _ path: String,
        on new: Base,
        touching touched: PlainTouched = .all
    ) {
        let old = base(path)
        for modifier in unsettled
        where modifier.sentOn[path]?.isSame(as: old) == true
            && modifier.changes(path).allSatisfy({ $0.touched.isSubset(of: touched) })
        {
            change(modifier.id) { $0.sentOn[path] = new }
        }
        set(path, new)
    }

    /// A part of an overtaken answer is new in base (case 8).
    mutating func settle(_ path: String, on mix: Base, touching touched: PlainTouched, isNew: Bool)
    {
        settle(path, on: mix, touching: touched)
        unsaved.remove(path)
        if hasEntities, isNew { answers[path] = .entity }
    }

    /// The server's own word on a target (case 3), which settles all that was answered 202 and that
    /// it shows (case 7).
    ///
    /// A 304 is nothing new: where nobody asked for it on behalf of a pin it saves nothing.
    mutating func say(
        _ path: String,
        _ base: Base,
        at place: Place = .own(stored: nil),
        isLookedAt: Bool,
        isNew: Bool = true
    ) {
        guard holds(.readsGoOn) || !isTargeted(path) else { return }
        switch place {
        case .own(let input):
            set(path, base)
            if let input { rows.store(path, input) }
        case .shared where rows.hasOwn(path):
            rows.behind[path] = base
            return
        case .hidden where rows.hasOwn(path):
            rows.behind[path] = nil
            return
        case .shared(let input):
            // The bytes of a pin are its user's own from then on.
            if base == .deleted, pinState(path) == "held" { rows.store(path, input) }
            set(path, base)
        case .hidden: set(path, .unknown)
        }
        endAnswered(path)
        if hasEntities, isNew { answers[path] = base == .deleted ? .tombstone : .entity }
        if isNew || path == Self.list { unsaved.remove(path) }
        if isLookedAt { look(path) }
    }

    /// Settles all that was answered 202 and that a target shows.
    mutating func look(_ path: String) {
        guard holds(.readConfirmsAccepted) else { return }
        var shown: [PlainModifier] = []
        for modifier in unsettled.reversed() where !modifier.changes(path).isEmpty {
            guard case .accepted = modifier.standing else { continue }
            let isShown = modifier.isShown(before: shown.reversed()) { Self.view(self.base($0)) }
            if isShown { shown.append(modifier) }
        }
        for modifier in shown.reversed() {
            settle(modifier.id)
            for change in modifier.visible {
                let view = Self.view(self.base(change.path))
                see(change.path, after: change.effect, of: modifier.id, from: view, isRead: true)
            }
        }
    }

    /// The origin has answered for the row that its user sees, which ends what is answered.
    mutating func endAnswered(_ path: String) {
        for modifier in modifiers where modifier.standing == .answered && holds(.readEndsAnswered) {
            change(modifier.id) { $0.changes.removeAll { $0.path == path } }
            if self[modifier.id]?.changes.isEmpty == true { settle(modifier.id) }
        }
    }

    mutating func settle(_ id: String) { remove(id, "confirmed") }

    mutating func remove(_ id: String, _ outcome: String) {
        joinedInto[id] = self[id]?.joinedInto
        modifiers.removeAll { $0.id == id }
        outcomes[id] = outcome
    }

    mutating func change(_ id: String, _ body: (inout PlainModifier) -> Void) {
        guard let index = modifiers.firstIndex(where: { $0.id == id }) else { return }
        body(&modifiers[index])
    }
}
