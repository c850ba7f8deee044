extension NamedWorld {
    /// Some hundred thousand states each; the two of more than three million are cut there.
    static let wide = [
        Self("answers and a deletion") {
            PlaceWorld(without: $0, PlaceBudget(fetches: 1, moves: 1, deletions: 1, reads: 2))
        },
        Self("puts, pins and a crash in groups of two") {
            PlaceWorld(
                without: $0,
                commandsMax: 2,
                PlaceBudget(puts: 1, pins: 1, checkpoints: 1, crashes: 1, cacheFails: 1, reads: 1)
            )
        },
        Self("heads in groups of two, and cache.db fails") {
            PlaceWorld(
                without: $0,
                hasHeads: true,
                commandsMax: 2,
                PlaceBudget(puts: 1, pins: 1, cacheFails: 1, reads: 2)
            )
        },
        Self("two rows in groups of two, and cache.db fails") {
            PlaceWorld(
                without: $0,
                ids: 2,
                targets: [3, 0],
                known: 2,
                commandsMax: 2,
                reads: [1, 2, 3],
                PlaceBudget(puts: 1, cacheFails: 1, reads: 3)
            )
        },
        Self("two rows, an answer and a loss of cache.db") {
            PlaceWorld(
                without: $0,
                ids: 2,
                targets: [3, 0],
                known: 2,
                reads: [1, 2, 3],
                PlaceBudget(fetches: 1, losses: 1, reads: 1)
            )
        },
        Self("two modifiers and a crash") {
            PlaceWorld(
                without: $0,
                targets: [1, 1],
                PlaceBudget(checkpoints: 1, crashes: 1, reads: 1)
            )
        },
        Self("a shared row, a crash, and cache.db fails") {
            PlaceWorld(
                without: $0,
                isShared: true,
                PlaceBudget(
                    fetches: 1,
                    expiries: 1,
                    checkpoints: 1,
                    crashes: 1,
                    cacheFails: 1,
                    reads: 1
                )
            )
        },
        Self("one client, two loops and heads") {
            PlaceWorld(
                without: $0,
                hasHeads: true,
                readers: 2,
                isOneClient: true,
                PlaceBudget(pins: 1, cacheFails: 1, reads: 2)
            )
        },
        Self("everything fails") {
            PlaceWorld(
                without: $0,
                PlaceBudget(
                    puts: 1,
                    checkpoints: 1,
                    crashes: 1,
                    cacheFails: 1,
                    stateFails: 1,
                    reads: 1
                )
            )
        },
    ]
}
