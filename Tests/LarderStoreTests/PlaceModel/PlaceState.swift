/// Everything at one moment of the model: both files, memory, readers.
///
/// It is a model of what `StoreWriter`, `CommitQueue`, `KeptIndex` and `StoreReader` do.
///
/// Terms
///
/// * *step*: a change that is told, under a number of its own. A *group* is what waited, committed
///   at once.
/// * *row*: what `cache.db` has under an id: content and `rev`, since when it says so. A *head* is a
///   row whose body stands in `state.db` alone.
/// * *claimed*: `state.db` has a row of the id: it is pinned, or targeted by modifiers, or a copy of
///   the row that everybody shares, or *released*: none of this any more.
/// * *saved*: the last word on a claimed id, in its row of `state.db`.
/// * *behind*: of a claimed id: `cache.db` may say something older of it.
/// * *base*: what is saved; the row where nothing claims the id. *View*: base with the changes of
///   modifiers that are not settled.
/// * *moment*: what every client sees after a step, by the order of the steps alone (`PlaceAccount`).
///
/// A group
///
///     begin ──► state.db ──► cache.db ──► published ──► memory ──► answered
///       │         │ fails      │ fails                    ▲
///       │         ▼            └─── what it showed is behind
///       │       memory as before; each runs again alone
///       └─ memory has what is claimed and targeted anew
///
/// A read of one id; an arrow is a moment at which anything may happen
///
///     memory: targeted? ──► state.db: base and changes ─────────────────┐
///       │ no                   │ no changes                             │
///       ▼                      ▼                                        ▼
///     memory: from state? ──► state.db: saved ──────────────────────► shown, unless a place
///       │ no                   │ nothing                                ▲  has changed
///       ▼                      ▼                                        │  meanwhile
///     cache.db: the row of a transaction that is as new as published ───┤
///       │ nothing, or a head                                            │
///       ▼                                                               │
///     memory: claimed? ──► state.db: saved ─────────────────────────────┘
///
/// A claimed id
///
///               accept, pin                cache.db fails, is lost; a start
///     CACHED ────────────────► CLAIMED ──────────────────────────────► BEHIND
///       ▲                      │     ▲        shown again                │
///       │    shown whole,      │     └──────────────────────────────────┘
///       └──── synced ──────────┘
///
/// Invariants between two groups (`check()`)
///
/// 1. Base is the last word: of the origin, of a client, or of a settlement.
/// 2. Memory says of each id what `state.db` has.
/// 3. A row that is not behind says what is saved of it, or is not there.
/// 4. What was refused is not in `state.db`; what was accepted is, until it is settled.
///
/// Invariants of reads (`show`), after crashes (`checkAfterCrash`) and at rest (`checkQuiet`)
///
/// 5. A view of any number of ids is that of one moment, not before what was told when the read
///    began, nor before what the reader has shown.
/// 6. For one reader the `rev` of a view never goes back, and stands for one view.
/// 7. After a crash base is not older than what was told while the id was claimed.
/// 8. Left alone nothing stays behind, and what is released leaves `state.db`.
///
/// The rules by which it goes are ``PlaceRule``; each is needed for one of these, as the tests show.
/// The last of them the model has found: `ClaimFaultTests` has each at the store itself.
///
/// Not modelled: bytes, deletions by the origin, quotas, chunks and leases; the logs of changes and who
/// reads them; a time without any `cache.db`; variants, and the merging of entities, of which several
/// ids that one step writes and one view shows stand here; that a copy waits for ten minutes at most.
/// A row that nothing claims, and a copy that has gone, may be older after a crash.
struct PlaceState: Hashable {
    let world: PlaceWorld
    var budget: PlaceBudget
    var durable = PlaceDurable()
    /// What a crash may bring back of a commit whose sync failed.
    var halfDurable: PlaceDurable?
    /// The commits of `cache.db` since the last one that is synced, which stands first.
    var versions = [PlaceCache()]
    var memory = PlacePair(PlaceInMemory())
    var group: PlaceGroup?
    var readers: [PlaceReader]
    var fetch: PlaceFetch?
    /// The last write that was confirmed of each id, as the engine knows.
    var fences = PlacePair<PlaceNumber>(0)
    /// What is being released.
    var release: PlaceRelease?
    var next: PlaceNumber = 2

    var origin = PlacePair(PlaceContent.word(1))
    var nextWord: UInt8 = 2
    var applied = PlacePair(false)

    var account = PlaceAccount()
    /// What clients were told of the two modifiers.
    var told = PlacePair(PlaceTold.nothing)
    /// Everything up to it was told.
    var toldNumber: PlaceNumber = 1
    /// The `rev` that was told of an id while it was claimed.
    var floors = PlacePair<PlaceNumber>(0)
    /// From the earliest on that a reader may still show.
    var moments: [PlaceMoment] = []
    var fault: String?

    init(_ world: PlaceWorld) {
        self.world = world
        budget = world.budget
        readers = Array(repeating: PlaceReader(), count: world.readers)
        for id in 0..<world.ids where !(world.isShared && id == 1) && world.known.contains(id) {
            let row = PlaceRow(content: .word(1), rev: 1, said: world.isShared ? 1 : 0)
            versions[0].rows[id] = row
            account.words[id] = .word(1)
        }
        moments = [account.moment(1, world)]
    }

    var cache: PlaceCache { versions[versions.count - 1] }

    func holds(_ rule: PlaceRule) -> Bool { world.rules.holds(rule) }

    mutating func fail(_ text: String) {
        if fault == nil { fault = text }
    }
}

/// What clients see, by the order of the steps alone: the model's own account, which knows no file.
struct PlaceAccount: Hashable {
    /// Of a shared row the second is the copy's.
    var words = PlacePair(PlaceContent.absent)
    var hasCopy = false
    /// When what a shared row and its copy say was said.
    var said = PlacePair<PlaceNumber>(0)
    var pins = PlacePair(false)
    var changes = PlacePair(false)
    /// The last write that was confirmed of each id.
    var fences = PlacePair<PlaceNumber>(0)

    func moment(_ number: PlaceNumber, _ world: PlaceWorld) -> PlaceMoment {
        var moment = PlaceMoment(number: number, views: words)
        if world.isShared {
            moment.views = PlacePair(hasCopy ? words[1] : words[0])
            moment.views[1] = words[0]
        }
        for modifier in 0..<2 where changes[modifier] {
            if world.isShared {
                moment.views[0] = moment.views[0].adding(modifier)
            } else {
                for id in 0..<world.ids where world.targets(modifier, id) {
                    moment.views[id] = moment.views[id].adding(modifier)
                }
            }
        }
        return moment
    }
}

/// The view of each id after a step; of a shared row that of its writer, and that of all others.
struct PlaceMoment: Hashable {
    var number: PlaceNumber
    var views: PlacePair<PlaceContent>
}

/// What a client was told of its modifier.
enum PlaceTold: UInt8 {
    case nothing
    case accepted
    case refused
    case settled
}

/// A GET on the way.
struct PlaceFetch: Hashable {
    let id: Int
    let setOut: PlaceNumber
    var content: PlaceContent
    var hasArrived = false
    /// Whether the fence had been passed when it arrived, where the writer does not ask.
    var hasPassed = false
}

/// A released row on its way out of `state.db`.
struct PlaceRelease: Hashable {
    let id: Int
    /// What was saved of it when it was shown whole.
    let row: PlaceRow
    var isSynced = false
}
