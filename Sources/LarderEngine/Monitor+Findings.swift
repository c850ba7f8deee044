import LarderModel
import LarderStore
import LarderWire

/// What waits for a person: writes, lanes that are paused, pins that failed; each with the command
/// that helps.
extension Monitor {
    /// Those of `asker`; of everybody, by uid, for an administrator and for nobody in particular.
    ///
    /// However long the queue is, this reads no more than the lanes that are paused.
    func findings(for asker: StatusReport.You?) async -> [CheckReport.Finding] {
        let own = asker.flatMap { $0.isAdministrator ? nil : $0.uid }
        let writes = store.modifiers.totals.waitingForPerson
        let pins = store.pins.totals.failed
        var findings: [CheckReport.Finding] = []
        for uid in Set(writes.keys).union(pins.keys).sorted() where own == nil || own == uid {
            let whose = Whose(uid: uid, isAsker: uid == asker?.uid)
            for state in ModifierState.waitingForPerson {
                guard let count = writes[uid]?[state] else { continue }
                findings.append(CheckReport.Finding(count, state, whose))
            }
            if let count = pins[uid] {
                findings.append(CheckReport.Finding(failedPins: count, whose))
            }
        }
        do throws(StoreError) {
            for (scope, lane) in try await store.modifiers.pausedLanes() {
                guard let uid = scope.uid, own == nil || own == uid else { continue }
                let whose = Whose(uid: uid, isAsker: uid == asker?.uid)
                findings.append(CheckReport.Finding(paused: lane, of: scope, whose))
                if findings.count == Limits.statusFindingsMax { break }
            }
        } catch {
            findings.append(
                .init("queue", .warning, "the paused lanes were not read: \(error.message)")
            )
        }
        return Array(findings.prefix(Limits.statusFindingsMax))
    }

    /// Whom a finding is about, as whoever asks reads it.
    fileprivate struct Whose {
        let uid: UInt32
        let isAsker: Bool

        var words: String { isAsker ? "" : " of uid \(uid)" }
        var option: String { isAsker ? "" : " --uid \(uid)" }
    }
}

extension CheckReport.Finding {
    fileprivate init(_ count: Int64, _ state: ModifierState, _ whose: Monitor.Whose) {
        let (one, many) = count == 1 ? ("write", "it") : ("writes", "them")
        let fate =
            switch state {
            case .unknown: "may or may not have reached the server"
            case .conflict: "met a change of somebody else's and must be decided on"
            case .authWait: "must have a credential that the server takes"
            case .dead, .held, .queued, .inFlight, .accepted, .retryWait, .confirmed, .cancelled:
                "failed for good"
            }
        let list = "cachectl queue list --state \(state.rawValue)\(whose.option)"
        let retry = "cachectl queue retry --state \(state.rawValue)\(whose.option)"
        let discard = state == .dead ? "" : " --discard"
        let drop = "cachectl queue drop --state \(state.rawValue)\(discard)\(whose.option)"
        // A retry is refused like the attempt before, and another header sends them anyway.
        let help =
            state == .authWait
            ? "An administrator replaces the header of the server, which sends \(many): "
                + "cachectl origin add --replace NAME URL --header @FILE    or in the "
                + "configuration, then: cachectl reload"
            : "Send again: \(retry)"
        self.init(
            "queue",
            .warning,
            "\(count) \(one)\(whose.words) \(fate)",
            fix: "See \(many): \(list)    \(help)    Give up: \(drop)"
        )
    }

    fileprivate init(failedPins count: Int64, _ whose: Monitor.Whose) {
        let one = count == 1 ? "pin" : "pins"
        self.init(
            "pins",
            .warning,
            "\(count) \(one)\(whose.words) failed",
            fix:
                "See which and why: cachectl pin --list    Pin again, or give up: cachectl unpin ID"
        )
    }

    fileprivate init(paused lane: Lane, of scope: Scope, _ whose: Monitor.Whose) {
        let account = scope.account == .default ? "" : " --account \(scope.account.text)"
        self.init(
            "lane",
            .warning,
            "the lane '\(lane.text)'\(whose.words) is paused",
            fix: "Let it go on: cachectl queue resume '\(lane.text)'\(whose.option)\(account)"
        )
    }
}
