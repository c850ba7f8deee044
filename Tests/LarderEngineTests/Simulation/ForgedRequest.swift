/// A request that no daemon sends: of writes that must not be joined (case 17), or of one write
/// that must not be sent.
struct ForgedRequest {
    /// The queue before the request.
    private var queue: PlainQueue
    /// The writes that are in the request, its key, and what it asks for if that can be read.
    private var joined: [PlainModifier] = []
    private var key = "m1"
    private var plain: PlainRequest?

    init(against rule: PlainRule, without missing: PlainRule? = nil) {
        queue = PlainQueue(
            acceptedLimit: .seconds(1),
            hasEntities: false,
            isShared: false,
            isHonoured: false,
            joins: .writes,
            without: missing
        )
        if PlainRule.keptApart.contains(rule) { join(against: rule) } else { send(against: rule) }
    }

    private mutating func join(against rule: PlainRule) {
        var first = Self.write("m1", "/a", .merge("count", .number(1)))
        var last = Self.write("m3", "/a", .merge("count", .number(3)))
        var others: [PlainModifier] = []
        switch rule {
        case .heldIsSentAlone: last.holdUntil = .seconds(1)
        case .parentIsSentAlone:
            var child = Self.write("m4", "/b", .put(PlainValue()))
            child.dependsOn = [last.id]
            others = [child]
        case .joinedAreCompared:
            queue.set("/a", .value(PlainValue(["count": .number(0)])))
            first = Self.write("m1", "/a", .merge("liked", .number(1)))
            (first.onConflict, last.onConflict) = (.person, .person)
        case _: others = [Self.write("m2", "/a", .put(PlainValue()), method: "POST")]
        }
        let writes = ([first, last] + others).sorted { $0.id < $1.id }
        for write in writes { queue.accept(write) }
        joined = [first, last]
        plain = .merge(["count": .number(3)])
        guard rule == .joinedAreCompared else { return }
        queue.set("/a", .value(PlainValue(["count": .number(7)])))
        plain = .merge(["liked": .number(1), "count": .number(3)])
    }

    private mutating func send(against rule: PlainRule) {
        var first = Self.write("m1", "/a", .put(PlainValue()), method: "POST")
        var last = Self.write("m2", "/b", .put(PlainValue()), method: "POST")
        switch rule {
        case .earlierGoesFirst: first.lanes = last.lanes
        case .dependantWaits: last.dependsOn = [first.id]
        case .heldWaits: last.holdUntil = .seconds(1)
        case .expiredIsNotSent: last.expiresAt = .zero
        case _: break
        }
        for write in [first, last] { queue.accept(write) }
        (joined, key) = ([last], last.id)
        switch rule {
        case .pausedLaneWaits: queue.pause("id:/b", true)
        case .waitingIsSent: queue.send([last])
        case .keyStays: key = "m2.2"
        case .personDecides:
            queue.send([last])
            _ = queue.attemptEnded(last.id, .unclear, input: 0, at: .zero)
        case .oneTriesCredential:
            queue.doubt = PlainQueue.Doubt(refusals: 1)
            queue.send([first])
        case .threeRefusalsWait: queue.doubt = PlainQueue.Doubt(refusals: 3)
        case _: break
        }
    }

    private static func write(
        _ id: String,
        _ path: String,
        _ effect: PlainEffect,
        method: String = "PATCH"
    ) -> PlainModifier {
        PlainModifier(
            id: id,
            user: 0,
            changes: [PlainModifier.Change(path: path, effect: effect)],
            method: method,
            lanes: ["id:\(path)"],
            dependsOn: [],
            attemptsMax: nil,
            unclear: .auto,
            isRepeatable: method != "POST"
        )
    }

    /// Shows a judge the request, and the queue as it would be then.
    func look() throws {
        let paths = ["/a", "/b"]
        var judge = SimulationJudge(queue, paths: paths)
        var window = SimulationJudge.Window()
        window.departures = [
            SimulationJudge.Departure(
                what: .write(id: joined[0].id, key: key, plain),
                user: 0,
                isTurnedAway: false
            )
        ]
        var sent = queue
        sent.send(joined)
        let sight = SimulationJudge.sight(of: sent, paths, at: .zero)
        let underWay = sent.unsettled.filter(\.isUnderWay).map(\.id)
        try judge.look(window, sight, underWay: Set(underWay), at: .zero)
    }
}
