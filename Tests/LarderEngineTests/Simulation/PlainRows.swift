/// Which rows a user sees of an origin that shares its answers: the user's own ones, and shared ones.
///
/// A row of the user's own is in front of the shared one. Once it has gone, the user sees a shared row
/// again only if its request started after the own row was stored (P-14). What may hide it longer is
/// left open: a miss is nothing older.
struct PlainRows: Hashable {
    private struct Presence: Hashable {
        /// The inputs by which the row was stored last, and by which it went.
        let from: Int
        var to: Int?
    }

    let isShared: Bool
    private var own: [String: Presence] = [:]
    /// What the user sees of a shared row once the own row in front of it goes.
    var behind: [String: PlainQueue.Base] = [:]
    /// Pins that wait for a row of the user's own, as the shared one was hidden.
    var waiting: Set<String> = []
    /// What other users' confirmed writes have touched.
    var confirmations: [String: PlainTouches] = [:]

    init(isShared: Bool) { self.isShared = isShared }

    /// Whether the user sees a row of its own; so it always does where nothing is shared.
    func hasOwn(_ path: String) -> Bool { !isShared || own[path].map { $0.to == nil } ?? false }

    /// Whether the shared row may be hidden although there is no own row.
    func mayHide(_ path: String) -> Bool { own[path]?.to != nil }

    /// Whether a read asks for the row that the user sees.
    func sees(_ path: String, _ reading: PlainReading) -> Bool {
        reading.user != nil || !hasOwn(path)
    }

    mutating func store(_ path: String, _ input: Int) {
        guard isShared else { return }
        own[path] = Presence(from: input)
        behind[path] = nil
        waiting.remove(path)
    }

    mutating func lose(_ path: String, _ input: Int) {
        own[path]?.to = input
        behind[path] = nil
    }

    /// The places for an answer: as the row that the user sees or may see, or hidden.
    func places(_ path: String, _ reading: PlainReading, _ input: Int) -> [PlainQueue.Place] {
        guard reading.user == nil else { return [.own(stored: input)] }
        guard let row = own[path] else { return [.shared(input)] }
        guard row.from <= reading.since.input else { return [.hidden] }
        return row.to.map { $0 <= reading.since.quiet } ?? false
            ? [.shared(input)] : [.shared(input), .hidden]
    }
}

/// A read that was asked for.
struct PlainReading {
    /// The last input before it set out, and the last one before that whose consequences were all drawn.
    let since: (input: Int, quiet: Int)
    /// Whose own row the answer is; nil for the shared row.
    let user: Int?
    /// When a later read of the path set out whose answer is already there.
    var later: (input: Int, quiet: Int)?
}

extension PlainQueue {
    /// Where an answer for a target goes.
    enum Place: Hashable {
        /// Into the user's own row; nil where it only confirms that.
        case own(stored: Int?)
        case shared(Int)
        /// Into the shared row, which the user does not see.
        case hidden
    }

    /// The queues that this may be where its row is evicted, or a shared one by an operator.
    func evicted(_ path: String, isShared: Bool = false, _ input: Int) -> [PlainQueue] {
        let isIt = !rows.isShared || isShared != rows.hasOwn(path)
        guard isIt, !isTargeted(path), !pinned.contains(path) else { return [answerless(path)] }
        return answerless(path).gone(path, input)
    }

    /// The queue where the cache could not be read as writes came: their targets are rows of the user's
    /// own then, of which nothing is known.
    func unread(_ paths: [String], _ input: Int) -> PlainQueue {
        var queue = self
        for path in paths
        where !rows.hasOwn(path) && !isTargeted(path) && pinState(path) != "held" {
            queue.rows.store(path, input)
            queue.set(path, .unknown)
        }
        return queue
    }

    /// The queues that this may be once the row has gone that its user sees: with the shared one where
    /// that was an own one.
    func gone(_ path: String, _ input: Int) -> [PlainQueue] {
        var gone = self
        gone.set(path, .unknown)
        guard rows.isShared, rows.hasOwn(path) else { return [gone] }
        gone.rows.lose(path, input)
        guard let behind = rows.behind[path] else { return [gone] }
        var shown = gone
        shown.set(path, behind)
        // The pin is of the row that has gone, and keeps no shared one.
        if pinned.contains(path) { shown.rows.waiting.insert(path) }
        return [gone, shown]
    }

    /// When the first of them ends by itself, or is held no more.
    func nextEnd(after now: Duration) -> Duration? {
        modifiers.flatMap { [$0.end, $0.holdUntil] }.compactMap { $0 }.filter { $0 > now }.min()
    }

    /// The queues that this may be as what no answer shows is swept.
    var sweeps: [PlainQueue] {
        guard hasEntities else { return [self] }
        return bases.keys.sorted().reduce([self]) { found, path in
            found.flatMap { queue in
                guard queue.answers[path] != .entity, path != Self.list,
                    !queue.isListed(path), !queue.isTargeted(path),
                    queue.base(path) != .unknown
                else {
                    return [queue]
                }
                var swept = queue
                swept.set(path, .unknown)
                return [queue, swept]
            }
        }
    }
}
