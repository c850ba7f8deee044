/// A request of writes that must not be joined, which no daemon sends (case 17).
struct ForgedRequest {
    /// The writes that wait, and those that are in the request.
    private let writes: [PlainModifier]
    private let joined: [PlainModifier]

    init(against rule: PlainRule) {
        let first = Self.write("m1", "/a", .merge("count", .number(1)))
        var last = Self.write("m3", "/a", .merge("count", .number(3)))
        var others: [PlainModifier] = []
        switch rule {
        case .heldIsSentAlone: last.holdUntil = .seconds(1)
        case .parentIsSentAlone:
            var child = Self.write("m4", "/b", .put(PlainValue()))
            child.dependsOn = [last.id]
            others = [child]
        case _: others = [Self.write("m2", "/a", .put(PlainValue()), method: "POST")]
        }
        writes = ([first, last] + others).sorted { $0.id < $1.id }
        joined = [first, last]
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
    func look(without rule: PlainRule? = nil) throws {
        var queue = PlainQueue(
            acceptedLimit: .seconds(1),
            hasEntities: false,
            isShared: false,
            isHonoured: false,
            joins: .writes,
            without: rule
        )
        for write in writes { queue.accept(write) }
        let paths = ["/a", "/b"]
        var judge = SimulationJudge(queue, paths: paths)
        let merge = PlainRequest.merge(["count": .number(3)])
        var window = SimulationJudge.Window()
        window.departures = [
            SimulationJudge.Departure(
                what: .write(id: "m1", key: "m1", merge),
                user: 0,
                isTurnedAway: false
            )
        ]
        queue.send(joined)
        let sight = SimulationJudge.sight(of: queue, paths, at: .zero)
        try judge.look(window, sight, underWay: ["m1"], at: .zero)
    }
}
