import LarderClient

/// Decides which answer of a fetch is printed, and when.
///
/// A snapshot of the network is the last word. A snapshot of the cache is the last word, too,
/// unless there is time to wait for the network. Then the plan holds it, and shows it meanwhile if
/// ``showsHeld`` is true.
struct GetPlan {
    enum Step {
        case wait
        /// To be shown until the last word is here.
        case show(Snapshot)
        case last(FinalResult)
    }

    /// How the asking ended.
    enum FinalResult {
        /// The last word, and what the message about it adds of the network.
        case print(Snapshot, String)
        case fail(CommandFailure)
    }

    /// Name of the entry in messages.
    let name: String
    /// Whether an answer of the cache is held until the network had its say.
    let waitsForNetwork: Bool
    /// Whether what is held is shown.
    let showsHeld: Bool
    /// Whether a stale answer counts as none.
    let mustBeFresh: Bool
    /// The answer of the cache that waits for the network's.
    private(set) var held: Snapshot?

    mutating func updateArrived(_ update: FetchUpdate) -> Step {
        switch update {
        case .snapshot(let snapshot): snapshotArrived(snapshot)
        case .unchanged: .last(unchangedArrived())
        case .deleted:
            .last(
                .fail(
                    CommandFailure(
                        .notFound,
                        "\(name) is gone: the origin says so, or a write that waits to be sent"
                    )
                )
            )
        case .failed(let problem):
            .last(streamFailed(CommandFailure(.problem(problem)), problem.words))
        case .end(.shutdown): .last(streamFailed(Self.shutdown))
        case .end: .last(ended())
        case .origin: .wait
        }
    }

    private static var shutdown: CommandFailure {
        CommandFailure(.problem(Problem(.shuttingDown, "larderd is ending")))
    }

    func streamFailed(_ failure: CommandFailure, _ words: String? = nil) -> FinalResult {
        guard let held, isGoodEnough(held) else { return .fail(failure.about(name)) }
        return .print(held, "; \(words ?? failure.message)")
    }

    private mutating func snapshotArrived(_ snapshot: Snapshot) -> Step {
        let mayBeLast = snapshot.source == .network || !waitsForNetwork && isGoodEnough(snapshot)
        guard !mayBeLast else { return .last(.print(snapshot, "")) }
        held = snapshot
        return showsHeld && isGoodEnough(snapshot) ? .show(snapshot) : .wait
    }

    private func unchangedArrived() -> FinalResult {
        switch held {
        case let held?: .print(held, ", confirmed by the network")
        case nil:
            .fail(CommandFailure(.failed, "larderd confirmed of \(name) what it had not sent"))
        }
    }

    private func ended() -> FinalResult {
        switch held {
        case let held? where isGoodEnough(held): .print(held, "")
        case _?: .fail(CommandFailure(.nothingToShow, "what is cached of \(name) is stale"))
        case nil: .fail(CommandFailure(.nothingToShow, "there was no answer for \(name)"))
        }
    }

    private func isGoodEnough(_ snapshot: Snapshot) -> Bool { !mustBeFresh || !snapshot.stale }
}
