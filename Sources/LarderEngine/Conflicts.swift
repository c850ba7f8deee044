import LarderJSON
import LarderModel
import LarderNormalize
import LarderStore
import LarderStrategy
import LarderWire
import Logging

import struct LarderAPI.APIEncoder
import struct LarderAPI.ModifierConflict

/// Compares the targets of a modifier with the values that it has seen of them (case 19).
///
/// ``ConflictRules`` decides what follows.
struct Conflicts: Sendable {
    let context: EngineContext

    // MARK: Before a round

    /// Whether a modifier is sent, and with which If-Match; called on the writer's thread.
    ///
    /// `read`: the targets were read for an ETag just now.
    func decision(on departing: DepartingModifier, after read: PlainRead?) -> SendDecision {
        let modifier = departing.whole.modifier
        let settings = settings(of: modifier)
        guard settings.match != .none, !settings.rules.hasOwnCondition else {
            return .send(etag: nil)
        }
        // A repeat is the same request.
        guard !modifier.mayBeApplied else { return .send(etag: modifier.etag) }
        let etag = etag(of: departing, after: read)
        let needsTag =
            settings.match == .strict || departing.isTagOfCodedBytes && departing.taken.isEmpty
        guard etag != nil || !needsTag || read != nil else { return .look }
        let theirs = changed(departing.whole, departing.compared, departing.taken)
        if settings.rules.beforeRound(isChanged: !theirs.isEmpty) != nil {
            return .stop(theirs: theirs)
        }
        // Each of them is then looked at when it is its turn.
        let hasHeld = departing.joined.contains { isHeld($0, departing.compared, departing.taken) }
        return hasHeld ? .part : .send(etag: etag)
    }

    /// Whether a modifier may not be sent, as another device has changed the same.
    func isHeld(
        _ whole: WholeModifier,
        _ bases: [EntryID: TargetBase],
        _ taken: [EntryID: [[UInt8]]] = [:]
    ) -> Bool {
        let settings = settings(of: whole.modifier)
        guard settings.match != .none, !settings.rules.hasOwnCondition else { return false }
        return settings.rules.beforeRound(isChanged: !changed(whole, bases, taken).isEmpty) != nil
    }

    /// Gives the step that follows a ``SendDecision/stop(theirs:)``.
    func step(of modifier: StoredModifier) -> ConflictRules.Step {
        settings(of: modifier).rules.beforeRound(isChanged: true) ?? .wait
    }

    /// The ETag of the If-Match, which is a strong one.
    ///
    /// The result of the user's own earlier write has another ETag, which only a read tells.
    private func etag(of departing: DepartingModifier, after read: PlainRead?) -> String? {
        // A coded answer may have come since the read, or in place of the plain one.
        guard !departing.isTagOfCodedBytes else { return read?.etag }
        guard read != nil || departing.taken.isEmpty else { return nil }
        return departing.etag.flatMap { $0.hasPrefix("\"") ? $0 : nil }
    }

    /// Reads what the request's URL gives, or else the targets that are compared.
    ///
    /// If that fails, this gives what follows for the queue: an origin that puts the read off puts
    /// the write off.
    func readBeforeRound(_ whole: WholeModifier) async -> BeforeRound {
        let (number, rules) = (whole.modifier.number, rules(of: whole.modifier))
        switch await read(needed(by: whole), whole) {
        case .read(let read): return .read(read)
        case .failed(let verdict) where !isEnding:
            return .notRead { [context] in
                $0.readFailed(
                    number,
                    verdict,
                    rules: rules,
                    randomUnit: context.randomUnit(),
                    now: $1
                )
            }
        case .failed, .overtaken: return .notRead(nil)
        }
    }

    enum BeforeRound: Sendable {
        case read(PlainRead)
        /// Nil if the step is not committed now.
        case notRead(ModifierQueueRunner.Turn?)
    }

    struct PlainRead: Sendable {
        /// The strong ETag of the plain bytes that the request's own URL gave.
        var etag: String?
    }

    private func needed(by whole: WholeModifier) -> [EntryID] {
        let (modifier, scope) = (whole.modifier, context.store.key(for: whole.modifier.scope))
        let named = modifier.targets.filter { !modifier.implied.contains($0) }
        if modifier.method != "POST",
            let own = named.first(where: { context.address(of: $0, in: scope)?.url == modifier.url }
            )
        {
            return [own]
        }
        return whole.changes.filter { $0.seen != nil }.map(\.id).filter {
            context.address(of: $0, in: scope)?.origin.name == modifier.origin
        }
    }

    private var isEnding: Bool { Task.isCancelled || context.isDraining }

    func rules(of modifier: StoredModifier) -> ModifierRules {
        context.origins.origin(of: modifier.url, for: modifier.scope.uid)?.modifiers
            ?? ModifierRules()
    }

    private func settings(
        of modifier: StoredModifier
    ) -> (match: ModifierRules.MatchRule, rules: ConflictRules) {
        let defaults = rules(of: modifier)
        return (modifier.ifMatch ?? defaults.ifMatch, ConflictRules(of: modifier, defaults))
    }

    // MARK: After an answer

    struct Finding: Sendable {
        var verdict: ModifierVerdict
        /// The touched values of the targets.
        var theirs: [EntryID: [UInt8]] = [:]
        /// JSON that tells watchers of it.
        var told: [UInt8] = []
    }

    /// Before the first attempt of a round, another device's edits were found.
    func finding(on whole: WholeModifier, _ theirs: [EntryID: [UInt8]]) -> Finding {
        Finding(verdict: .conflict(.look), theirs: theirs, told: told(whole, theirs))
    }

    /// Reads the targets and gives the meaning of a 409, 412 or 428; nil when the daemon is ending.
    ///
    /// The verdict on any other answer stays.
    func finding(on whole: WholeModifier, _ end: ModifierAttempt.End) async -> Finding? {
        guard case .conflict = end.verdict, let status = end.answer?.status else {
            return Finding(verdict: end.verdict)
        }
        let modifier = whole.modifier
        do throws(StoreError) {
            let before = try await targets(of: modifier).mapValues(\.base)
            let named = modifier.targets.filter { !modifier.implied.contains($0) }
            guard case .read = await read(named, whole) else {
                return isEnding ? nil : Finding(verdict: .notNow(retryAfter: nil))
            }
            let targets = try await targets(of: modifier)
            let (after, taken) = (targets.mapValues(\.base), targets.taken(before: modifier.number))
            // The rule may have been corrected during the reads.
            let settings = self.settings(of: modifier)
            let isCompared = settings.match != .none
            let theirs = isCompared ? changed(whole, after, taken) : [:]
            let step = settings.rules.afterAnswer(
                status,
                isChanged: !theirs.isEmpty,
                isSameBase: modifier.targets.allSatisfy { Self.isSame(before[$0], after[$0]) }
            )
            guard let step else { return Finding(verdict: .refused) }
            var finding = finding(on: whole, present(whole, after))
            finding.verdict = .conflict(step)
            return finding
        } catch {
            context.note("the targets of a modifier were not read", error)
            return Finding(verdict: .notNow(retryAfter: nil))
        }
    }

    private func targets(
        of modifier: StoredModifier
    ) async throws(StoreError) -> [EntryID: Target] {
        try await context.store.modifiers.withTargets(modifier.number)?.1 ?? [:]
    }

    /// Whether a target says the same; nothing tells that one has changed that was not known.
    private static func isSame(_ before: TargetBase?, _ after: TargetBase?) -> Bool {
        guard let before, before.isKnown, let after else { return true }
        if before.serverValue == after.serverValue, before.serverValue != nil { return true }
        return before.mark == after.mark
    }

    private enum ReadResult {
        case read(PlainRead)
        /// A write was confirmed meanwhile, so the answer may be older.
        case overtaken
        case failed(ModifierVerdict)
    }

    /// Asks the origin what targets are now; an origin that refuses to say so was asked, too.
    ///
    /// Without a coding, as only the ETag of plain bytes can be an If-Match.
    private func read(_ ids: [EntryID], _ whole: WholeModifier) async -> ReadResult {
        let scope = context.store.key(for: whole.modifier.scope)
        var read = PlainRead()
        for id in ids {
            guard let again = await FetchRequest.again(id, in: scope, context) else { continue }
            let origin = again.origin
            let request = FetchRequest(again.command, origin: origin.plain)
            switch await context.flightStarter.answer(to: request, scope, startsNew: true) {
            case .current(let answer) where answer.isOvertaken: return .overtaken
            case .current(let answer) where again.url == whole.modifier.url:
                guard !answer.entry.isDecoded else { continue }
                read.etag = answer.entry.etag.flatMap { $0.hasPrefix("\"") ? $0 : nil }
            case .current, .deleted, .passed: continue
            case .failed(let problem), .refused(_, let problem):
                // Nothing that another origin does is about this one.
                let notNow = ModifierVerdict.notNow(retryAfter: nil)
                guard origin.name == whole.modifier.origin else { return .failed(notNow) }
                if problem.wantsCredential { return .failed(.authNeeded) }
                switch problem.kind {
                case .unreachable, .offline: return .failed(.neverLeft)
                case .captive: return .failed(.captive)
                case _ where problem.isTransient: return .failed(notNow)
                default: continue
                }
            }
        }
        return .read(read)
    }

    // MARK: Comparing

    /// The touched values of each target that another device has changed.
    ///
    /// Of a deleted target the origin says itself what an update means (case 20). `taken` has the
    /// effects of the user's own earlier writes that a read may show by now.
    private func changed(
        _ whole: WholeModifier,
        _ bases: [EntryID: TargetBase],
        _ taken: [EntryID: [[UInt8]]]
    ) -> [EntryID: [UInt8]] {
        let (origins, uid) = (context.origins, whole.modifier.scope.uid)
        var found: [EntryID: [UInt8]] = [:]
        for change in whole.changes {
            guard let seen = change.seen, let base = bases[change.id], base.isKnown,
                let effect = try? Effect(parsing: change.effect),
                let now = TouchedValues(of: base, change.id, [effect])
            else { continue }
            if case .deleted = now { continue }
            guard !seen.has(now) else { continue }
            let document = origins.document(change.id, for: uid)
            let values = TargetValues(base, of: change.id, [effect], document)
            let own = (taken[change.id] ?? []).compactMap { try? Effect(parsing: $0) }
            if !values.view([effect]).isInPlace, !seen.has(now, afterSomeOf: own, effect) {
                found[change.id] = now.encoded
            }
        }
        return found
    }

    /// The touched values of each target as it is.
    private func present(
        _ whole: WholeModifier,
        _ bases: [EntryID: TargetBase]
    ) -> [EntryID: [UInt8]] {
        var found: [EntryID: [UInt8]] = [:]
        for change in whole.changes where !change.isImplied {
            guard let base = bases[change.id], let effect = try? Effect(parsing: change.effect)
            else { continue }
            found[change.id] = TouchedValues(of: base, change.id, [effect])?.encoded
        }
        return found
    }

    /// Gives the values that a modifier of a user sees of a target when it is accepted.
    func look(_ scope: ScopeKey) -> SeenValues.Reader {
        let (origins, uid) = (context.origins, scope.scope.uid)
        return { id, target, effect, body in
            guard let effect = try? Effect(parsing: effect),
                let base = TouchedValues(of: target.base, id, [effect])
            else { return nil }
            guard !target.changes.isEmpty else { return SeenValues(base: base.encoded) }
            let document = origins.document(id, for: uid)
            guard let view = TouchedValues(beneath: target, id, [effect], document, body),
                !view.isSame(as: base)
            else { return SeenValues(base: base.encoded) }
            return SeenValues(base: base.encoded, view: view.encoded)
        }
    }

    /// Gives the values that a modifier sees once an earlier one of the same user was confirmed.
    ///
    /// The answer shows what that one has assigned as the origin keeps it. Elsewhere a difference is
    /// another device's edit, unless an If-Match has excluded that. A read may have shown the
    /// earlier one's effect before its answer came.
    ///
    /// `isConditional`: its request, or that of the modifier to which it was joined, had an If-Match.
    /// `isShown`: a read has shown its effect.
    func renewal(
        after whole: WholeModifier,
        isConditional: Bool,
        isShown: Bool
    ) -> SeenValues.Renewal {
        { change, before, after in
            guard let seen = change.seen, let effect = try? Effect(parsing: change.effect),
                let own = whole.effect(on: change.id),
                let old = TouchedValues(of: before, change.id, [effect]),
                let new = TouchedValues(of: after, change.id, [effect]), !seen.has(new)
            else { return nil }
            // Base was changed since the sending, and an addition was not applied to it.
            guard isShown || !own.counts || before.mark != after.mark else { return nil }
            // A large merge counts as touching nothing: a difference may be another device's.
            let places = isConditional ? .whole : TouchedPlaces([own], large: .places([]))
            let isOwn = seen.has(old) && new.differs(from: old, onlyAt: places)
            guard isOwn || seen.has(new, after: own, effect) else { return nil }
            // The view at the acceptance has what own writes beneath the modifier are to make.
            return seen.view == nil
                ? SeenValues(base: seen.base, view: new.encoded)
                : SeenValues(base: new.encoded, view: seen.view)
        }
    }

    // MARK: Telling

    /// The values of a conflict as watchers hear of them.
    private func told(_ whole: WholeModifier, _ theirs: [EntryID: [UInt8]]) -> [UInt8] {
        let conflicts = whole.changes.compactMap { change -> ModifierConflict? in
            guard let theirs = theirs[change.id] else { return nil }
            return change.conflict(theirs, whole.body).cut(to: Limits.toldAnswerBytesMax)
        }
        return APIEncoder().encode(Array(conflicts.prefix(Limits.toldConflictsMax)))
    }
}

extension SeenValues {
    /// Whether a target has the touched places as they were in base, or in the view.
    func has(_ now: TouchedValues) -> Bool {
        known.contains { now.isSame(as: $0) }
    }

    /// Whether an effect on one of them makes the places that another effect touches as they are.
    fileprivate func has(_ now: TouchedValues, after own: Effect, _ effect: Effect) -> Bool {
        known.contains { value in
            value.after(own, touching: effect).map { now.isSame(as: $0) } ?? false
        }
    }

    /// Whether the first of several effects make the places that another effect touches as they are.
    fileprivate func has(
        _ now: TouchedValues,
        afterSomeOf own: [Effect],
        _ effect: Effect
    ) -> Bool {
        guard var value = TouchedValues(parsing: base) else { return false }
        for own in own {
            guard let next = value.after(own, touching: effect) else { continue }
            if now.isSame(as: next) { return true }
            value = next
        }
        return false
    }

    private var known: [TouchedValues] {
        [base, view].compactMap { $0.flatMap(TouchedValues.init(parsing:)) }
    }
}

extension [EntryID: Target] {
    /// The effects of modifiers before one that the origin has taken.
    fileprivate func taken(before number: ModifierNumber) -> [EntryID: [[UInt8]]] {
        mapValues { target in
            target.changes.filter { $0.number < number && $0.state == .accepted }
                .map(\.effect)
        }
    }
}

extension StoredModifier {
    /// Whether the program gave a condition itself.
    var hasOwnCondition: Bool { headers.haveCondition }
}

extension HeaderFields {
    /// Whether the request depends on what the origin has (RFC 9110 13.1).
    var haveCondition: Bool {
        ["If-Match", "If-None-Match", "If-Unmodified-Since"].contains { self[$0] != nil }
    }
}

extension WholeModifier {
    /// The values of a conflict; nil for a modifier that is in none.
    var conflict: [ModifierConflict]? {
        guard modifier.state == .conflict || modifier.reason == .conflict else { return nil }
        let found = changes.compactMap { change in
            change.theirs.map { change.conflict($0, body) }
        }
        return found.isEmpty ? nil : found
    }
}

extension StoredChange {
    fileprivate func conflict(_ theirs: [UInt8], _ body: [UInt8]) -> ModifierConflict {
        var mine: TouchedValues?
        if let effect = try? Effect(parsing: effect), let values = TouchedValues(parsing: theirs) {
            mine = values.after(effect, body: BodySummary(of: body, isJSON: false).digest)
        }
        return ModifierConflict(id, base: seen?.base, mine: mine?.encoded, theirs: theirs)
    }
}

extension TouchedValues {
    /// The places that effects assign to, as a target has them; nil if nothing can be compared.
    fileprivate init?(of base: TargetBase, _ id: EntryID, _ effects: [Effect]) {
        let content = TargetValues(base, of: id, effects).told
        self.init(effects, in: content, isPart: base.isPart, bytes: base.entry?.body.digest)
    }

    private init?(
        _ effects: [Effect],
        in content: TargetContent,
        isPart: Bool = false,
        bytes: Digest?
    ) {
        let places = TouchedPlaces(effects)
        guard !places.isEmpty else { return nil }
        self.init(places, in: content, isPart: isPart, bytes: bytes?.entityTag)
    }

    /// The same in the view with the changes of a target.
    fileprivate init?(
        beneath target: Target,
        _ id: EntryID,
        _ effects: [Effect],
        _ document: DocumentRules?,
        _ body: (ModifierNumber) -> [UInt8]?
    ) {
        guard !id.isEntity else {
            let waiting = target.changes.map(\.known)
            let view = EntityView(target.base.held, waiting, document) {
                body(target.changes[$0].number)
            }
            self.init(effects, in: TargetContent(told: view.held, effects), bytes: nil)
            return
        }
        let shown = target.shown(on: TargetContent(target.base), document, body)
        self.init(effects, in: shown.content, bytes: shown.bytes)
    }

    /// The touched places after an effect; nil if it does not fit.
    fileprivate func after(_ effect: Effect, body: Digest) -> TouchedValues? {
        switch effect {
        case .put(let value): return .values([.whole: value])
        case .replace: return .bytes(body.entityTag)
        case .delete: return .deleted
        case .merge, .patch, .set, .add, .listAdd, .listRemove, .all, .none: break
        }
        return after(effect, touching: effect)
    }

    /// The places that another effect touches, after an effect.
    fileprivate func after(_ effect: Effect, touching other: Effect) -> TouchedValues? {
        guard let value = asValue, case .json(let after) = View.of(.json(value), [effect]).content
        else { return nil }
        return TouchedValues([other], in: .json(after), bytes: nil)
    }

    /// An object with nothing but these places; nil without one.
    private var asValue: JSONValue? {
        guard case .values(let values) = self else { return nil }
        let assignments = values.map { JSONAssignment($0.key, $0.value) }
            .sorted { $0.pointer.text < $1.pointer.text }
        let view = View.of(.json(.object([])), [.set(assignments)])
        guard case .json(let value) = view.content
        else { return values.isEmpty ? .object([]) : nil }
        return value
    }
}
