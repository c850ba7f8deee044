/// Everything at one moment: both files, memory, readers, and the truth to compare with.
///
/// Terms
///
/// * *key*: a row by scope and id. *Held*: `state.db` has a row or a marker of the key.
/// * *said*: the step at which the request of a row's answer started. *Mark*: the `said` of the first
///   user's own row; that user sees the shared row only if its `said` is later.
/// * *truth*: the views after each step, computed without files. *Moment*: the views between two
///   published steps.
///
/// A group; anything may happen at an arrow
///
///     begin ──► commit state.db ──► commit cache.db ──► publish ──► raise ──► finish
///       │         │ fails             │ fails: publish state.db, the rest runs again
///       │         ▼
///       │       nothing happened
///       └─ the index has what is promoted
///
/// A demotion
///
///     begin ──► commit cache.db ──► publish ──► commit state.db ──► publish ──► finish
///                                                          the index forgets the rows ─┘
///
/// Invariants
///
/// 1. Between two groups the files have the truth: rows, pins, modifiers, marks, changes (`check`).
/// 2. A read shows the views of one moment, not before the last answered step or the last read that
///    ended before it began. No revision goes back, and none has two views (`show`).
/// 3. After a kill the files have the truth. After a power cut or a loss of `cache.db` they have the
///    durable rows, and no row that was durable goes back (`crash`, `lose`).
/// 4. `state.db` holds no row permanently that needs no reason (`check`).
struct ResidencyState: Hashable {
    let world: ResidencyWorld
    var budget: ResidencyBudget

    // MARK: Disk

    var state = ModelState()
    /// A commit of `state.db` that failed and that a crash would still find.
    var failedState: ModelState?
    /// Commits of `cache.db` that a power cut may leave as the last one.
    var versions = [ModelCache()]

    // MARK: Memory

    /// The residency index.
    var index: ModelKeys = []
    var published = ResidencyNumbers()
    var fences = ModelPair<ModelStep>(0)
    /// The version of each id, for cached responses.
    var rowVersions = ModelPair<UInt8>(0)
    /// The ids of a group between its two raises.
    var changing: ModelKeys = []
    var response: ResidencyResponse?
    /// The copies in `cache.db` that maintenance has found to be garbage.
    var garbage: ModelKeys = []
    var group: ResidencyGroup?
    /// Commands whose part in `cache.db` was not committed.
    var again: [ResidencyCommand] = []
    /// A demotion whose first half is done, where it lets others in between.
    var half: ModelKeys = []
    var readers: [ResidencyReader]
    var next: ModelStep = 2

    // MARK: The world outside

    var origin = ModelContent.word(1)
    var nextWord: UInt8 = 2
    var applied = ModelPair(false)
    var fetches: [ResidencyFetch] = []
    var told = ModelPair(ResidencyTold.nothing)

    // MARK: Truth

    var truth = ResidencyTruth()
    /// From the earliest on that a read may still show.
    var moments: [ResidencyMoment] = []
    /// The place in `moments` before which no new read may be.
    var floor = 0
    /// The last view that a client has seen, by user and id.
    var shown = ModelPair(ModelPair(ModelRow()))
    /// The revision of each row while it was last durable.
    var durableRevs = ModelPair<ModelStep>(0)
    var fault: String?

    init(_ world: ResidencyWorld) {
        self.world = world
        budget = world.budget
        readers = Array(repeating: ResidencyReader(), count: world.readers)
        for key in world.keys where world.known.has(key) {
            let row = ModelRow(content: .word(1), rev: 1, said: 1)
            truth.rows[key] = ModelRow(content: .word(1), said: 1)
            if world.pinned.has(key) {
                state.rows[key] = row
            } else {
                versions[0].rows[key] = row
            }
        }
        if world.isShared {
            (versions[0].mark, truth.front) = (truth.rows[1].said, truth.rows[1].said)
        }
        (state.held, state.pins, index, truth.pins) =
            (world.pinned, world.pinned, world.pinned, world.pinned)
        moments = [truth.moment(world)]
    }

    var cache: ModelCache { versions[versions.count - 1] }

    func holds(_ rule: ResidencyRule) -> Bool { world.rules.holds(rule) }

    mutating func fail(_ text: String) {
        if fault == nil { fault = text }
    }

    /// The truth has another moment, which readers may show from now on.
    mutating func note(_ truth: ResidencyTruth) {
        let new = truth.log & ~self.truth.log
        if new != 0, self.truth.log != 0, new.trailingZeroBitCount < highestBit(self.truth.log) {
            fail("a change is logged before one that watchers have")
        }
        self.truth = truth
        let moment = truth.moment(world)
        if moment != moments.last { moments.append(moment) }
    }

    private func highestBit(_ log: UInt64) -> Int { 63 - log.leadingZeroBitCount }

    /// Drops moments that no read may show any more, so that equal states are equal.
    mutating func forget() {
        var least = floor
        for index in readers.indices {
            if readers[index].phase == .idle {
                readers[index].rest(keeps: world.keeps && budget.reads > 0)
            } else {
                least = min(least, readers[index].floor)
            }
        }
        if budget.reads == 0, readers.allSatisfy({ $0.phase == .idle }) {
            shown = ModelPair(ModelPair(ModelRow()))
            (moments, floor) = ([moments[moments.count - 1]], 0)
        } else if least > 0 {
            moments.removeFirst(least)
            floor -= least
            for index in readers.indices where readers[index].phase != .idle {
                readers[index].floor -= least
            }
        }
    }
}

/// The numbers of the last published commits.
struct ResidencyNumbers: Hashable {
    var state: UInt8 = 0
    var cache: UInt8 = 0
}

/// A response kept in memory.
struct ResidencyResponse: Hashable {
    let version: UInt8
    let view: ModelRow
}

/// The last answer to the client of a modifier.
enum ResidencyTold: UInt8 {
    case nothing
    case accepted
    case refused
    case settled
}

extension ResidencyWorld: Hashable {
    /// An exploration has a single world.
    static func == (_: Self, _: Self) -> Bool { true }
    func hash(into _: inout Hasher) {}
}
