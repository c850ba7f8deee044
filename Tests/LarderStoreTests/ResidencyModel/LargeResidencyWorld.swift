/// Worlds for `scripts/soak`.
extension NamedResidencyWorld {
    static let large = [largeRow, largeLoops, largeGroups, largeFailures, largeShared, largeFront]

    private static let get = ResidencyQuery.get(0, 0)

    private static let largeRow = Self(
        "two modifiers, a pin and kills",
        .init(puts: 1, pins: 1, demotions: 2, kills: 1, reads: 1)
    ) {
        ($0.targets, $0.reads) = ((.first, .first), [get])
    }
    private static let largeLoops = Self(
        "two loops with kept transactions",
        .init(puts: 1, pins: 1, demotions: 1, reads: 3)
    ) {
        ($0.reads, $0.readers, $0.keeps) = ([get], 2, true)
    }
    private static let largeGroups = Self(
        "groups of two over two rows",
        .init(puts: 2, pins: 1, demotions: 1, losses: 1, reads: 1)
    ) {
        ($0.ids, $0.reads, $0.puts) = (2, [.list, get], [.both, .first])
        ($0.commandsMax, $0.pinned) = (2, .second)
    }
    private static let largeFailures = Self(
        "groups of two that fail",
        .init(puts: 2, pins: 1, evictions: 1, demotions: 1, kills: 1, cacheFails: 2, stateFails: 1)
    ) {
        ($0.ids, $0.puts, $0.commandsMax) = (2, [.both], 2)
        $0.targets.0 = .both
    }
    private static let largeShared = Self(
        "a shared row and modifiers of two users",
        .init(fetches: 2, moves: 1, demotions: 1, kills: 1, losses: 1)
    ) {
        ($0.isShared, $0.targets, $0.known) = (true, (.first, .first), .first)
        ($0.secondUser, $0.commandsMax) = (1, 2)
        $0.fetches = [.init(user: 1, isShared: true), .init(user: 0, isShared: false)]
    }
    private static let largeFront = Self(
        "an own row in front of a shared one, with everything",
        .init(
            fetches: 2,
            moves: 1,
            pins: 1,
            forgets: 1,
            evictions: 1,
            demotions: 1,
            kills: 1,
            losses: 1
        )
    ) {
        ($0.isShared, $0.known, $0.pins) = (true, .first, .both)
        let own = ResidencyFetch.Kind(user: 0, isShared: false)
        $0.fetches = [own, .init(user: 0, isShared: true), .init(user: 1, isShared: true)]
        ($0.targets.1, $0.secondUser) = (.first, 1)
    }
}
