import LarderJSON
import LarderModel
import LarderStore
import Synchronization

/// The fence of all reads and writes; guarded by a lock.
final class FenceTable: Sendable {
    private let fence = Mutex(WriteFence())

    func readDeparted() -> WriteFence.Departure {
        fence.withLock { $0.readDeparted() }
    }

    func readLanded(_ departure: WriteFence.Departure) {
        fence.withLock { $0.readLanded(departure) }
    }

    /// To be called before what the write made is stored.
    func writeConfirmed(
        _ id: EntryID,
        in scope: ScopeKey,
        touching touched: TouchedMembers
    ) {
        fence.withLock { $0.writeConfirmed(id, in: scope, touching: touched) }
    }

    fileprivate func isOvertaken(
        _ id: EntryID,
        in scope: ScopeKey,
        since departure: WriteFence.Departure
    ) -> Bool {
        fence.withLock { fence in
            ([id] + (Variants.url(of: id).map { [$0] } ?? [])).contains { id in
                fence.touched(id, in: scope, since: departure) != .nothing
            }
        }
    }
}

/// Keeps an answer out of the store that a write of the same thing has overtaken (P-06).
///
/// Such an answer is asked for anew: what of it is from after the write, nobody can tell.
final class Overtaking: Sendable {
    private let table: FenceTable
    private let departure: WriteFence.Departure
    // Relaxed: set before the put that it is about returns, and read after.
    private let flag = Atomic<Bool>(false)

    init(_ table: FenceTable, since departure: WriteFence.Departure) {
        self.table = table
        self.departure = departure
    }

    var hasHappened: Bool { flag.load(ordering: .relaxed) }

    var fence: AnswerFence {
        AnswerFence(
            covers: { [table, departure] scope, id in
                table.isOvertaken(id, in: scope, since: departure)
            },
            keptOut: { [self] in flag.store(true, ordering: .relaxed) }
        )
    }
}
