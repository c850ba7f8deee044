import LarderModel
import LarderStore
import LarderStrategy
import LarderWire
import Logging
import Synchronization

/// Reads the shared rows for which confirmed writes wait, until an answer has come for each (case 29).
///
/// A read that fails is repeated, with the pauses of pins. While the origin is away there is none: once
/// it is back ``begin(at:)`` reads all of them.
final class AnsweredReads: Sendable {
    private let context: EngineContext
    private let records: ModifierRecords
    /// The rows that a task reads, and whether another write has been confirmed since its read began;
    /// guarded by its lock.
    private let reading = Mutex<[TargetName: Bool]>([:])

    init(_ context: EngineContext, _ records: ModifierRecords) {
        self.context = context
        self.records = records
    }

    /// Reads the rows of one origin or all: after a start, and once the origin can be asked again.
    func begin(at origin: OriginName? = nil) async {
        let store = context.store
        guard (store.modifiers.totals.byState[.accepted] ?? 0) > 0 else { return }
        do throws(StoreError) {
            for record in try await records.found(after: nil).records where record.isAnswered {
                guard origin.map({ $0 == record.origin }) ?? true else { continue }
                let scope = store.key(for: record.scope)
                for case .id(let id) in record.lanes where store.keepsShared(scope, id) {
                    read(id, scope)
                }
            }
        } catch {
            // The next client that reads the row has it read again, as it is stale.
            context.note("the modifiers were not read", error)
        }
    }

    func read(_ id: EntryID, _ scope: ScopeKey) {
        guard let (url, origin) = context.address(of: id, in: scope) else { return }
        let name = TargetName(scope, id)
        let isNew = reading.withLock { reading in
            let isRead = reading[name] != nil
            reading[name] = isRead
            return !isRead
        }
        guard isNew else { return }
        // Refused only when the engine ends.
        _ = context.work.add { [self, context] in
            let request = FetchRequest(FetchCommand(url: url), origin: origin)
            var pause = Duration.zero
            while true {
                let rest = max(pause, context.originStates.rest(of: origin.name, for: scope.scope))
                if rest > .zero, (try? await context.clock.sleep(for: rest)) == nil { return }
                guard isToBeRead(name, origin.name) else { return }
                let outcome = await withCheckedContinuation { continuation in
                    context.board.board(request, scope, cached: nil, isForNobody: true) {
                        continuation.resume(returning: $0)
                    }
                }
                guard isToBeRead(name, origin.name, after: outcome) else { return }
                pause = min(max(pause * 2, Limits.pinRetryBase), Limits.pinRetryMax)
            }
        }
    }

    /// Whether a row is to be read, again with `outcome`; if not, its task ends.
    private func isToBeRead(
        _ name: TargetName,
        _ origin: OriginName,
        after outcome: FlightOutcome? = nil
    ) -> Bool {
        reading.withLock { reading in
            let isAgain = reading[name] == true || outcome?.mayBeAnotherLater ?? true
            let isToBeRead =
                isAgain && context.store.modifiers.isTarget(name.scope, name.id)
                && !context.originStates.isDown(origin)
            reading[name] = isToBeRead ? false : nil
            return isToBeRead
        }
    }
}

extension FlightOutcome {
    /// Whether the same read may end otherwise later: the origin may answer then, or take another
    /// credential, and the store may keep what it could not.
    fileprivate var mayBeAnotherLater: Bool {
        switch self {
        case .current(let answer): answer.isLost
        case .deleted(_, _, let isKept): !isKept
        case .passed: false
        case .failed(let problem), .refused(_, let problem):
            problem.isTransient || [401, 407].contains(problem.originStatus)
        }
    }
}
