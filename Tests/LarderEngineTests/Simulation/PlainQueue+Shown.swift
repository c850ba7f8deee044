/// What clients may see of a queue.
extension PlainQueue {
    /// P-04.
    func shown(_ path: String) -> Shown {
        if hasList, path == Self.list { return shownList }
        let path = current(path)
        let touching = unsettled.filter { !$0.changes(path).isEmpty }
        let kept = kept[path]
        var view = Self.view(touching.isEmpty ? kept ?? base(path) : base(path))
        for effect in touching.flatMap({ $0.changes(path) }) {
            view = effect.applied(to: view) ?? view
        }
        let failed = modifiers.filter { $0.isDead && !$0.changes(path).isEmpty }.count
        let isMiss = view == .unknown
        return Shown(
            base: kept ?? base(path),
            view: view,
            pending: isMiss ? nil : touching.filter { $0.standing != .answered }.map(\.id),
            failed: isMiss ? 0 : failed
        )
    }

    /// The view of an answer for a target, if the store does not keep that answer.
    func shown(_ path: String, on base: Base) -> Shown {
        var queue = self
        queue.set(path, base)
        return queue.shown(path)
    }

    /// What somebody may see of an entity by its own URL: of what has no answer there, only what
    /// modifiers make of it; nil where there are no entities.
    func shownAtURL(_ path: String) -> Shown? {
        guard hasEntities, path != Self.list, !Self.isTemporary(path) else { return nil }
        let shown = shown(path)
        let isGone = answers[path] == .tombstone
        let base = answers[path] == nil ? .unknown : shown.base
        if isGone, shown.view == .unknown {
            return Shown(base: .deleted, view: .deleted, pending: [], failed: 0)
        }
        guard answers[path] != nil || isTargeted(path) else {
            return Shown(base: base, view: .unknown, pending: nil, failed: 0)
        }
        return Shown(
            base: isGone && base == .unknown ? .deleted : base,
            view: shown.view,
            pending: shown.pending,
            failed: shown.failed
        )
    }
}

/// Queues that this one may have become without a word to a client.
extension PlainQueue {
    /// The state of a target's pin; nil for a target without a pin.
    func pinState(_ path: String) -> String? {
        guard pinned.contains(path) else { return nil }
        if kept[path] != nil { return "gone" }
        if Self.view(base(path)).value != nil, !unsaved.contains(path), !rows.waiting.contains(path)
        {
            return "held"
        }
        return "without bytes"
    }

    /// Only the answer goes of an entity's own URL.
    func answerless(_ path: String) -> PlainQueue {
        var queue = self
        queue.answers[path] = nil
        return queue
    }

    /// Whether `state.db` has the row of a target, which no loss of the cache and no eviction takes away
    /// then (P-07, P-08).
    ///
    /// A list that is kept keeps its entities: "a pinned feed survives the loss of `cache.db` with the
    /// newest state of every author in it".
    func isKept(_ path: String) -> Bool {
        if isTargeted(path) || ["gone", "held"].contains(pinState(path)) { return true }
        return hasList && path != Self.list && isListed(path) && isKept(Self.list)
    }

    /// The queues that this may be where the cache is lost: without what nothing else keeps, but for
    /// what something has kept until now.
    func losses(_ input: Int) -> [PlainQueue] {
        bases.keys.sorted().reduce([self]) { found, path in
            found.flatMap { queue in
                let answerless = queue.answerless(path)
                let found = answerless == queue ? [queue] : [queue, answerless]
                guard !queue.isKept(path), queue.base(path) != .unknown else { return found }
                return found + answerless.gone(path, input)
            }
        }
    }

    /// The queue with an answer of an entity's own URL that changed nothing else.
    func lateAnswer(_ path: String) -> [PlainQueue] {
        guard case .value = base(path) else { return [] }
        var queue = self
        queue.answers[path] = .entity
        return [queue]
    }
}
