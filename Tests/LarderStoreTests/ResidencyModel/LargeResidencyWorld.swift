/// Worlds for `scripts/soak`.
extension NamedResidencyWorld {
    static let large = [
        loops, failingFront, cutFront, failingEntities, failingChanges, lostGarbage,
    ]

    private static let loops = Self(
        "two loops with kept transactions",
        .init(puts: 1, pins: 1, demotions: 1, reads: 3)
    ) {
        ($0.reads, $0.readers, $0.keeps) = ([.get(0, 0)], 2, true)
    }
    private static let failingFront = Self(
        "groups with an own row in front of a shared one fail",
        .init(puts: 2, pins: 1, evictions: 1, demotions: 1, kills: 1, cacheFails: 1, stateFails: 1)
    ) {
        ($0.isShared, $0.known, $0.pins, $0.commandsMax) = (true, .first, .both, 2)
        $0.puts = [.first, .second, .both]
    }
    private static let cutFront = Self(
        "power cuts with an own row in front of a shared one",
        .init(fetches: 2, moves: 1, pins: 1, evictions: 1, demotions: 1, powerCuts: 1)
    ) {
        ($0.isShared, $0.pins) = (true, .both)
        let own = ResidencyFetch.Kind(user: 0, isShared: false)
        $0.fetches = [own, .init(user: 0, isShared: true), .init(user: 1, isShared: true)]
    }
    private static let failingEntities = Self(
        "groups with an entity fail",
        .init(puts: 2, pins: 1, evictions: 1, demotions: 2, losses: 1, cacheFails: 1)
    ) {
        ($0.ids, $0.refersFrom, $0.commandsMax) = (2, 2, 2)
        $0.puts = [.first, .second, .both]
    }
    private static let failingChanges = Self(
        "groups with a change log fail",
        .init(puts: 2, pins: 1, evictions: 1, demotions: 1, kills: 1, cacheFails: 1)
    ) {
        ($0.ids, $0.hasLog, $0.puts, $0.commandsMax) = (2, true, [.both, .second], 2)
    }
    private static let lostGarbage = Self(
        "garbage of a shared row and an own one",
        .init(puts: 2, pins: 1, forgets: 1, evictions: 1, demotions: 2, garbage: 1, losses: 1)
    ) {
        ($0.isShared, $0.puts, $0.pins) = (true, [.first, .second], .both)
    }
}
