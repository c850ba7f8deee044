/// Everything at one moment of the model: both files, memory, and what the model knows beside it.
///
/// Nothing of the store is in it; the store is written from it.
///
/// Terms
///
/// * *number*: a step's revision, from one counter, given in the order of commits, never twice.
/// * *published*: the last number of the last group that is in both files.
/// * *row*: what `cache.db` has under an id: content, `rev` (since when it says so, shown),
///   `written` (the step that wrote it last). A *head* is a row whose body is in `saved` alone.
/// * *claim*, *saved*: in `state.db`, that a row must not be lost, and its last word.
/// * *base*: the row, or `saved` where the row does not count. *View*: base with what shows of it.
/// * *mark*: the `written` from which on a row counts, after a commit of `cache.db` that failed.
/// * *reader's number*: what published was before its transaction was opened, its own last number,
///   or the greatest `written` of all rows that it reads, whichever is most. It is *registered*
///   in the step in which published is read, until the view is there, and as long as the
///   transaction is kept.
///
/// Invariants, between two groups
///
/// 1. `saved` stands under a claim only; what a modifier targets or a pin names is claimed.
/// 2. Base is the last word: of the origin, of a client, or of a settle.
/// 3. A row's `written` is at most that of `saved`, less only under a mark or after a loss.
/// 4. A head has `saved`, or stands under a mark.
/// 5. What was refused is not in `state.db`; what was accepted is, until it is settled.
/// 6. A view of any number of rows is that of one number, not below what was told before the read
///    began, nor below what the reader showed before; `rev` stands for one view and never goes
///    back.
/// 7. After a crash no row's `written` is below what was told while it was claimed.
/// 8. Left alone, every claim without a reason goes, every mark, every settled change.
///
/// A claimed row
///
///              accept, pin                        cache.db fails
///     CACHED -------------> CLAIMED ------------------------------> MARKED
///       ^                   |  ^  ^                                  |
///       |     last reason   |  |  | put again, with a number         | misses: saved
///       |     gone,         |  |  +----------------------------------+
///       |     row synced    |  |
///       +-------------------+  | put again        cache.db lost
///                           +--+---------- MISSING <------- CLAIMED, MARKED
///
/// * CACHED → CLAIMED: claim and `saved` are committed, then the overlay says so. A crash between:
///   the claim is there at the start.
/// * CLAIMED → CLAIMED (news, settle): `saved`, the overlay, the row, published. A crash after the
///   first: the row is put again at the start, as `saved` is newer.
/// * CLAIMED → MARKED: the row in `cache.db` is older than `saved`; what is older than the mark is
///   a miss.
/// * MARKED → CLAIMED: the next group puts the row first. The mark goes when no reader has a
///   number below that group's last.
/// * CLAIMED → CACHED: housekeeping, once a checkpoint has reached a row that is not older than
///   `saved`. The overlay keeps the claim for readers below its number. A head goes with its
///   claim; a crash between the two files leaves it, and the start takes it away.
///
/// The rules are `PlaceRule`; each is needed for one of the invariants, as the tests show.
struct PlaceState {
    let world: PlaceWorld
    var budget: PlaceBudget

    var durable = PlaceDurable()
    /// What a crash may bring back of a commit whose sync failed, where rule 4 is out.
    var halfDurable: PlaceDurable?
    /// The commits of `cache.db` since the last one that is synced, which stands first.
    var versions = [PlaceCache()]
    /// The `written` of each row that a checkpoint is known to have synced.
    var synced = PlacePair<PlaceNumber>(0)

    var published: PlaceNumber = 1
    var next: PlaceNumber = 2
    var overlay = PlaceOverlay()
    var fences = PlacePair<PlaceNumber>(0)
    var group: PlaceGroup?
    var readers: [PlaceReader]
    var fetch = PlaceFetch()

    var origin = PlacePair(PlaceContent.word(1))
    var applied = PlacePair(false)
    var isAccepted = PlacePair(false)
    var nextWord: UInt8 = 2

    /// What was told, and under which number at most.
    var told = PlacePair(PlaceTold.nothing)
    var toldNumber: PlaceNumber = 1
    var settled = PlacePair(false)
    /// Under which `written` a client was told that the row is durable.
    var floors = PlacePair<PlaceNumber>(0)
    var account = PlaceAccount()
    /// What was seen after each step, from the earliest on that a reader may still show.
    var moments: [PlaceMoment] = []
    /// A watcher's bookmark and what it knows.
    var watched: PlaceMoment?
    var fault: String?

    init(_ world: PlaceWorld) {
        self.world = world
        budget = world.budget
        readers = Array(repeating: PlaceReader(), count: world.readers)
        for id in 0..<world.ids where world.known & (1 << UInt8(id)) != 0 {
            versions[0].rows[id] = PlaceRow(content: .word(1), rev: 1, written: 1)
            account.words[id] = .word(1)
        }
        moments = [account.moment(1, world)]
        if world.watches { watched = moments[0] }
    }

    var rules: PlaceRules { world.rules }

    var cache: PlaceCache { versions[versions.count - 1] }

    func has(_ modifier: Int, on id: Int) -> Bool {
        world.targets[modifier] & (1 << UInt8(id)) != 0
    }

    mutating func fail(_ text: String) {
        if fault == nil { fault = text }
    }
}
