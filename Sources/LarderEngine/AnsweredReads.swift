import LarderModel
import LarderStore
import LarderStrategy
import LarderWire
import Logging
import Synchronization

/// Reads the shared rows for which confirmed writes wait, until each has an answer.
///
/// A failed read is repeated after the pauses of pins. A read whose answer settled nothing is
/// repeated until the longest pause. While the origin is away there are no reads: when it is back,
/// ``begin(at:)`` reads all rows.
final class AnsweredReads: Sendable {
    private let context: EngineContext
    private let records: ModifierRecords
    private let readings = Mutex<(rows: [TargetName: Reading], pauseCount: Int)>(([:], 0))
    /// Keeps the rows of a long queue from using up a user's share of requests.
    private let turns = Turnstile(places: 8)

    private enum Reading: Equatable {
        /// Whether another write has been confirmed since the request.
        case underWay(isAgain: Bool)
        /// Waits for the next request; the number changes when a later write ends the pause.
        case pausing(Int)
    }

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
        guard let origin = context.address(of: id, in: scope)?.origin else { return }
        let name = TargetName(scope, id)
        let rests = rest(of: origin, name) > .zero
        let isNew = readings.withLock { readings in
            switch readings.rows[name] {
            case .underWay: readings.rows[name] = .underWay(isAgain: true)
            // The origin has said itself when.
            case .pausing where rests: break
            case .pausing, nil:
                readings.rows[name] = .underWay(isAgain: false)
                return true
            }
            return false
        }
        guard isNew else { return }
        // Refused only when the engine ends.
        _ = context.work.add { [self] in
            var pause = Duration.zero
            while let found = context.address(of: id, in: scope) {
                let wait = max(pause, rest(of: found.origin, name))
                guard await waits(for: wait, name, found.origin.name) else { return }
                // The origin may have other settings now, such as a new credential.
                guard let (url, origin) = context.address(of: id, in: scope) else { break }
                let request = FetchRequest(FetchOrder(url: url), origin: origin)
                let outcome = await turns.pass {
                    await context.board.answer(to: request, scope, isForNobody: true)
                }
                let next = min(max(pause * 2, Limits.pinRetryBase), Limits.pinRetryMax)
                // An answer that has ended nothing was not stored, or its request was too early.
                let isRepeated = outcome.mayBeAnotherLater || pause < Limits.pinRetryMax
                guard let isAgain = isToBeRead(name, origin.name, isRepeated) else { return }
                pause = isAgain ? .zero : next
            }
            readings.withLock { $0.rows[name] = nil }
        }
    }

    private func rest(of origin: OriginSettings, _ name: TargetName) -> Duration {
        context.originStates.rest(of: origin.name, for: name.scope.scope)
    }

    /// Waits before the next request for a row; false if another task makes it, or none is needed.
    private func waits(
        for pause: Duration,
        _ name: TargetName,
        _ origin: OriginName
    ) async -> Bool {
        guard pause > .zero else { return !Task.isCancelled }
        let pausing = readings.withLock { readings in
            readings.pauseCount += 1
            let pausing = Reading.pausing(readings.pauseCount)
            readings.rows[name] = pausing
            return pausing
        }
        let isOver = (try? await context.clock.sleep(for: pause)) != nil
        return readings.withLock { readings in
            guard readings.rows[name] == pausing else { return false }
            let isToBeRead = isOver && isWanted(name, origin)
            readings.rows[name] = isToBeRead ? .underWay(isAgain: false) : nil
            return isToBeRead
        }
    }

    /// Whether a row is read once more, and then whether without a pause; nil where its task ends.
    private func isToBeRead(
        _ name: TargetName,
        _ origin: OriginName,
        _ isRepeated: Bool
    ) -> Bool? {
        readings.withLock { readings in
            let isAgain = readings.rows[name] == .underWay(isAgain: true)
            guard isAgain || isRepeated, isWanted(name, origin) else {
                readings.rows[name] = nil
                return nil
            }
            readings.rows[name] = .underWay(isAgain: false)
            return isAgain
        }
    }

    private func isWanted(_ name: TargetName, _ origin: OriginName) -> Bool {
        context.store.modifiers.isTarget(name.scope, name.id)
            && !context.originStates.isDown(origin)
    }
}

extension FlightOutcome {
    /// Whether the origin may answer later although it failed now; another credential counts, too.
    fileprivate var mayBeAnotherLater: Bool {
        switch self {
        case .current, .deleted, .passed: false
        case .failed(let problem), .refused(_, let problem):
            problem.isTransient || [401, 407].contains(problem.originStatus)
        }
    }
}
