/// What clients may see of a queue.
extension PlainQueue {
    /// P-04.
    func shown(_ path: String) -> Shown {
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

    /// What somebody may see of an entity by its own URL: of what has no answer there, only what
    /// modifiers make of it; nil where there are no entities.
    func shownAtURL(_ path: String) -> Shown? {
        guard hasEntities else { return nil }
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
