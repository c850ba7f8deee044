import LarderModel

/// Holds what the model says against what the engine shows, in both directions.
///
/// What was begun at once may come about in any order, and what a crash cut off may have come about
/// or not: the judge keeps every queue that may be, and whoever sees the engine rules out those
/// that are not. None left is a failure.
struct SimulationJudge {
    /// A modifier as the engine tells it.
    struct Told: Hashable, CustomStringConvertible {
        let id: String
        let state: String
        let reason: String?
        let attempts: Int
        let key: String
        /// In whose request it is.
        let joinedInto: String?

        var description: String {
            let joined = joinedInto.map { " in \($0)" } ?? ""
            return "\(id) \(state)\(reason.map { "(\($0))" } ?? "") attempts=\(attempts) key=\(key)"
                + joined
        }
    }

    /// All that can be seen from outside.
    struct Sight: Hashable {
        var shown: [String: PlainQueue.Shown] = [:]
        /// What is seen of entities by their own URLs.
        var atURLs: [String: PlainQueue.Shown] = [:]
        /// What becomes of each pin.
        var pins: [String: String] = [:]
        /// Unsettled ones and dead letters, in the order of acceptance.
        var told: [Told] = []
        /// What became of the others.
        var outcomes: [String: String] = [:]
        /// In whose request those were.
        var joinedInto: [String: String] = [:]
    }

    /// A request that has set out.
    struct Departure {
        enum What {
            /// Nil where the request does not say what it does.
            case write(id: String, key: String, PlainRequest?)
            /// The GET of a target after a 412.
            case check(String)
        }

        let what: What
        let user: Int
        let isTurnedAway: Bool
    }

    /// What has happened since the engine was seen last.
    struct Window {
        var inputs: [SimulationInput] = []
        var departures: [Departure] = []
        /// How the daemon ended in between; nil where it did not.
        var end: End?
        /// Those that set out after it began anew.
        var departuresAfterEnd: [Departure] = []
        /// Whether more than one thing happened, or the end came.
        var isCrowded = false
        /// Whether an operation of SQLite has failed.
        var hasDiskFailed = false
        /// What fetches have shown.
        var heard: [HeardFrame] = []

        /// Whether a frame shows what the network said and the disk did not take, with the writes that
        /// wait: "the view is always base plus the unsettled modifiers" (P-04).
        fileprivate func isUnkept(_ frame: HeardFrame, from queues: [PlainQueue]) -> Bool {
            guard hasDiskFailed else { return false }
            return inputs.contains { input in
                queues.contains { queue in
                    let shown: PlainQueue.Shown
                    switch input.event {
                    case .answeredRead(frame.path, .value(let value), _):
                        shown = queue.shown(frame.path, on: .value(value))
                    case .answeredList(let rows, _) where frame.path == PlainQueue.list:
                        shown = queue.shownList(on: rows)
                    case _: return false
                    }
                    return frame.view == shown.view && frame.pending == shown.pending
                }
            }
        }

        /// Index of the refused cancel of a write whose attempt, or that of its group, reached no
        /// server.
        fileprivate func refusedCancel(
            during departure: Departure,
            from queue: PlainQueue,
            _ now: Duration
        ) -> Int? {
            guard departure.isTurnedAway, case .write(let sent, _, _) = departure.what else {
                return nil
            }
            return inputs.firstIndex { input in
                guard case .notCancelled(let id) = input.event else { return false }
                let groups = id == sent ? [] : queue.groups(of: sent, at: now)
                return id == sent || groups.contains { $0.contains { $0.id == id } }
            }
        }

        enum End {
            /// When nothing was left to be done.
            case quiet
            /// In the middle of something.
            case sudden
        }
    }

    private(set) var queues: [PlainQueue]
    /// What may have been seen of each target from one look to the next.
    private var passing: [[String: Set<PlainQueue.Shown>]] = []
    /// The targets that are looked at.
    var paths: [String]
    /// Why the last of the possible queues was ruled out.
    private var refusals: [String] = []

    init(_ queue: PlainQueue, paths: [String]) {
        queues = [queue]
        self.paths = paths
    }

    /// Takes in what has happened and what is seen of it.
    ///
    /// `underWay` are the modifiers whose request waits for an answer, and the targets that are
    /// asked for after a 412.
    mutating func look(
        _ window: Window,
        _ sight: Sight,
        underWay: Set<String>,
        at now: Duration
    ) throws(Complaint) {
        refusals = []
        passing.append([:])
        let before = queues
        for queue in queues { pass(queue) }
        var possible = Alternatives()
        for queue in queues.flatMap({ $0.settled(at: now) }).flatMap(\.sweeps) {
            for after in outcomes(of: window, in: queue, now).all {
                for queue in beginnings(after: window, in: after, now).all.flatMap(\.sweeps) {
                    possible.insert(queue)
                }
            }
        }
        let paths = Array(sight.shown.keys)
        var found: [PlainQueue] = []
        // The least that is wrong comes first.
        var differences: [String] = []
        for queue in possible.all {
            let expected = Self.sight(of: queue, paths, at: now)
            let flying = Set(queue.unsettled.compactMap(\.request))
            if expected == sight, flying == underWay {
                found.append(queue)
            } else {
                differences.append(Self.difference(expected, sight, flying, underWay))
            }
        }
        guard !found.isEmpty else {
            differences.sort { $0.utf8.count < $1.utf8.count }
            let reasons = differences.prefix(2) + refusals.prefix(2)
            throw Complaint(text: reasons.joined(separator: "\n  or else: "))
        }
        queues = found
        for queue in queues { pass(queue) }
        for frame in window.heard {
            // What it was read from may have been so at any time since the fetch began.
            let seen = passing[frame.since...].flatMap { $0[frame.path] ?? [] }
            let isUnkept = window.isUnkept(frame, from: before + queues)
            guard !seen.contains(where: frame.agrees), !isUnkept else { continue }
            throw Complaint(text: "a fetch showed \(frame), which it never was: \(Set(seen))")
        }
    }

    /// How often it has looked.
    var looks: Int { passing.count }

    /// Notes what is to be seen meanwhile.
    private mutating func pass(_ queue: PlainQueue) {
        let last = passing.count - 1
        for path in paths { passing[last][path, default: []].insert(queue.shown(path)) }
    }

    /// Every order in which the inputs may have come about, and requests set out between them in
    /// the order in which they were seen to.
    private mutating func outcomes(
        of window: Window,
        in queue: PlainQueue,
        _ now: Duration
    ) -> Alternatives {
        pass(queue)
        guard !window.inputs.isEmpty || !window.departures.isEmpty else {
            return Alternatives(queue)
        }
        var found = Alternatives()
        let isCutOff = window.end != nil
        if let departure = window.departures.first {
            var rest = window
            rest.departures.removeFirst()
            let after = depart(departure, from: queue, isCutOff: isCutOff, now)
            for after in after.flatMap({ $0.settled(at: now) }) {
                found.formUnion(outcomes(of: rest, in: after, now))
                // The refusal of a cancel may have come while the attempt went on.
                guard let refused = rest.refusedCancel(during: departure, from: queue, now)
                else { continue }
                var others = rest
                others.inputs.remove(at: refused)
                found.formUnion(outcomes(of: others, in: after, now))
            }
        }
        for (index, input) in window.inputs.enumerated() {
            var rest = window
            rest.inputs.remove(at: index)
            let after = input.outcomes(
                in: queue,
                isAlone: !window.isCrowded,
                hasDiskFailed: window.hasDiskFailed,
                isKilled: window.end == .sudden
            )
            for queue in input.passing(from: queue) { pass(queue) }
            if after.isEmpty { refusals.append("\(input.event) cannot be") }
            for after in after.flatMap({ $0.settled(at: now) }) {
                found.formUnion(outcomes(of: rest, in: after, now))
            }
            // It may not have come about before the end.
            let isKept = input.isKept(hasDiskFailed: window.hasDiskFailed)
            if isCutOff, !isKept, index == 0 {
                found.formUnion(outcomes(of: rest, in: queue, now))
                if let fenced = input.fenced(in: queue) {
                    found.formUnion(outcomes(of: rest, in: fenced, now))
                }
            }
        }
        return found
    }

    /// The end and the new beginning, where there were any.
    private mutating func beginnings(
        after window: Window,
        in queue: PlainQueue,
        _ now: Duration
    ) -> Alternatives {
        guard let end = window.end else {
            var possible = Alternatives(queue)
            if window.hasDiskFailed {
                for queue in queue.unsent(at: now) { possible.insert(queue) }
            }
            return possible
        }
        var possible = Alternatives(queue)
        if case .sudden = end {
            // A send step that is committed, although nothing has left yet.
            for modifier in queue.unsettled {
                for queue in possible.all {
                    guard queue.refusal(toSend: modifier.id, key: modifier.key, at: now) == nil
                    else { continue }
                    for group in queue.groups(of: modifier.id, at: now) {
                        var sent = queue
                        sent.send(group)
                        possible.insert(sent)
                    }
                }
            }
        }
        var began = Alternatives()
        for queue in possible.all {
            var queue = queue
            queue.stop()
            for queue in queue.settled(at: now) { began.insert(queue) }
        }
        for departure in window.departuresAfterEnd {
            var next = Alternatives()
            for queue in began.all {
                let after = depart(departure, from: queue, isCutOff: false, now)
                for after in after.flatMap({ $0.settled(at: now) }) { next.insert(after) }
            }
            began = next
        }
        return began
    }

    /// A request sets out; where nobody can be reached, that is its end.
    private mutating func depart(
        _ departure: Departure,
        from queue: PlainQueue,
        isCutOff: Bool,
        _ now: Duration
    ) -> [PlainQueue] {
        let (id, key, request): (String, String, PlainRequest?)
        switch departure.what {
        case .write(id: let who, key: let which, let what): (id, key, request) = (who, which, what)
        case .check(let path):
            var asked = queue
            guard asked.check(path) else {
                refusals.append("nobody has to ask for \(path)")
                return []
            }
            var back = asked
            guard departure.isTurnedAway, back.checkEnded(path, .notNow, input: 0, at: now) else {
                return [asked]
            }
            return isCutOff ? [asked, back] : [back]
        }
        if let refusal = queue.refusal(toSend: id, key: key, at: now) {
            refusals.append("\(id) was sent with the key \(key): \(refusal)")
            return []
        }
        // A group that has left is sent again, whatever its target is by then.
        let hasLeft = queue[id]?.mayHaveLeft == true
        let groups = queue.groups(of: id, at: now).filter { group in
            (hasLeft || !queue.isNeedless(group)) && request?.makes(group) ?? (group.count == 1)
        }
        if groups.isEmpty {
            let text = request.map { "\($0)" } ?? "a request of its own"
            refusals.append("\(id) and what may be joined to it do not make \(text)")
        }
        return groups.flatMap { group in
            var sent = queue
            sent.send(group)
            guard departure.isTurnedAway else { return [sent] }
            var back = sent
            guard back.attemptEnded(id, .neverLeft, input: 0, at: now) else { return [] }
            return isCutOff ? [sent, back] : [back]
        }
    }

    // MARK: What is to be seen

    static func sight(of queue: PlainQueue, _ paths: [String], at now: Duration) -> Sight {
        var sight = Sight()
        for path in paths {
            sight.shown[path] = queue.shown(path)
            sight.atURLs[path] = queue.shownAtURL(path)
            sight.pins[path] = queue.pinState(path)
        }
        sight.told = queue.modifiers.map { modifier in
            var reason: String?
            if case .failed(let why) = modifier.standing { reason = why }
            return Told(
                id: modifier.id,
                state: modifier.state(at: now),
                reason: reason,
                attempts: modifier.attempts,
                key: modifier.key,
                joinedInto: modifier.joinedInto
            )
        }
        sight.outcomes = queue.outcomes
        sight.joinedInto = queue.joinedInto
        return sight
    }

    private static func difference(
        _ expected: Sight,
        _ sight: Sight,
        _ flying: Set<String>,
        _ underWay: Set<String>
    ) -> String {
        var lines: [String] = []
        for (path, shown) in sight.shown where expected.shown[path] != shown {
            lines.append("\(path) is \(shown), not \(expected.shown[path].map { "\($0)" } ?? "-")")
        }
        for (path, shown) in sight.atURLs where expected.atURLs[path] != shown {
            let text = expected.atURLs[path].map { "\($0)" } ?? "-"
            lines.append("the URL \(path) is \(shown), not \(text)")
        }
        if expected.pins != sight.pins {
            lines.append("pins are \(sight.pins), not \(expected.pins)")
        }
        if expected.told != sight.told {
            lines.append("the queue is \(sight.told), not \(expected.told)")
        }
        if expected.outcomes != sight.outcomes {
            let wrong = sight.outcomes.filter { expected.outcomes[$0.key] != $0.value }
            let missing = expected.outcomes.filter { sight.outcomes[$0.key] != $0.value }
            lines.append("settled are also \(wrong), and not \(missing)")
        }
        if expected.joinedInto != sight.joinedInto {
            lines.append("settled are in \(sight.joinedInto), not in \(expected.joinedInto)")
        }
        if flying != underWay {
            lines.append("\(underWay.sorted()) are under way, not \(flying.sorted())")
        }
        return lines.joined(separator: "; ")
    }

    /// Queues that may be, none of them twice, in the order in which they were found: the same in
    /// every run.
    private struct Alternatives {
        private(set) var all: [PlainQueue] = []
        private var known: Set<PlainQueue> = []

        init(_ queue: PlainQueue? = nil) {
            if let queue { insert(queue) }
        }

        mutating func insert(_ queue: PlainQueue) {
            if known.insert(queue).inserted { all.append(queue) }
        }

        mutating func formUnion(_ others: Alternatives) {
            for queue in others.all { insert(queue) }
        }
    }

    /// What is not as the model has it.
    struct Complaint: Error, CustomStringConvertible {
        let text: String

        var description: String { text }
    }
}

extension PlainModifier {
    /// What of it waits for an answer.
    fileprivate var request: String? {
        switch standing {
        case .inFlight: id
        case .checking(let left, isAsked: true, found: _): left.first.map { "check \($0)" }
        case .checking(_, isAsked: false, found: _): "\(id) that nobody checks"
        case .waiting, .unsent, .retryWait, .unknown, .authWait, .conflict, .accepted, .answered,
            .failed:
            nil
        }
    }
}
