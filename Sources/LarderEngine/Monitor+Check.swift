package import LarderAPI
import LarderModel
import LarderStore
import LarderWire

extension Monitor {
    /// Checks the daemon: its files and their permissions, the reserves, the clock and the
    /// warnings.
    ///
    /// It ends within ``Limits/checkTime``; one runs at a time.
    package func examine(daemonUID: UInt32) async throws(Problem) -> [Finding] {
        store.maintenanceTrigger.want()
        let (files, latest) = try await storingAll { () async throws(StoreError) in
            let files = try await store.files.check { [clock] in
                // Cancelled when the check ends before its time limit.
                try? await clock.sleep(for: Limits.checkTime)
            }
            return (files, try await store.files.latestStoredAt())
        }
        var findings = files.map(Finding.init)
        let rights = store.files.rights.compactMap {
            Finding($0, daemonUID: daemonUID)
        }
        findings +=
            rights.isEmpty
            ? [.init("permissions", .ok, "the files and their folders are the daemon's alone")]
            : rights
        findings += store.files.reserves.map { Finding($0, daemonUID: daemonUID) }
        findings.append(Finding(clock: clock.now(), latest: latest))
        findings += store.files.asideSets.map {
            .init("state.db", .warning, $0.sentence, fix: $0.removal)
        }
        let warnings = warnings(store.totals)
        findings += warnings.map { .init("status", .warning, $0, fix: "See: cachectl status") }
        return findings
    }
}

extension Finding {
    fileprivate init(_ file: FileFinding) {
        if !file.damage.isEmpty {
            let more = file.damage.count > 1 ? " (and \(file.damage.count - 1) more)" : ""
            self.init(
                file.name,
                .failed,
                "the file is damaged: \(file.damage[0])\(more)",
                fix: "Restart the daemon: it sets a damaged file aside and recreates it."
            )
        } else if file.isComplete {
            self.init(file.name, .ok, "the file is sound")
        } else {
            self.init(
                file.name,
                .skipped,
                "the file is too large to be looked at within "
                    + "\(Limits.checkTime.components.seconds) s; so far it is sound"
            )
        }
    }

    /// Nil if the permissions are right.
    fileprivate init?(_ file: FileRights, daemonUID: UInt32) {
        let wanted: UInt32 = file.isDirectory ? 0o700 : 0o600
        guard file.uid == daemonUID else {
            self.init(
                "permissions",
                .failed,
                "\(file.path) belongs to uid \(file.uid), the daemon is uid \(daemonUID)",
                fix: "sudo chown \(daemonUID) '\(file.path)'"
            )
            return
        }
        guard file.mode & ~wanted & 0o777 != 0 else { return nil }
        let mode = "0" + String(wanted, radix: 8)
        self.init(
            "permissions",
            .warning,
            "\(file.path) is open to others: 0\(String(file.mode, radix: 8))",
            fix: "chmod \(mode) '\(file.path)'"
        )
    }

    /// While it is not held, little or nothing new is stored.
    fileprivate init(_ reserve: ReserveFinding, daemonUID: UInt32) {
        let size = ByteSize(bytes: reserve.bytes).unitText
        let (detail, fix) =
            switch reserve.state {
            case .held:
                ("\(reserve.path) holds \(size)", nil as String?)
            case .missing:
                (
                    "\(reserve.path), which is to hold \(size), is missing or cut short",
                    "Wait \(Limits.touchFlushTime.unitText): the daemon makes it again. If it does "
                        + "not, see that uid \(daemonUID) may write into its folder."
                )
            case .noRoom(let short):
                (
                    "\(reserve.path) is not held: there is no room for its \(size)",
                    "Free \(short) bytes more on its disk: the daemon takes it again by itself."
                )
            case .obstructed:
                (
                    "\(reserve.path), which is to hold \(size), is no file",
                    "mv '\(reserve.path)' '\(reserve.path).aside'"
                )
            }
        self.init("reserve", reserve.state == .held ? .ok : .warning, detail, fix: fix)
    }

    /// A clock that was set back makes every entry stale: entries are then from the future.
    fileprivate init(clock now: Timestamp, latest: Timestamp?) {
        let fix = "Set the clock: timedatectl set-ntp true"
        if now < Limits.plausibleSince {
            self.init("clock", .failed, "the clock says \(now.rfc3339)", fix: fix)
        } else if let latest, latest.since(now) > Limits.clockSlack {
            self.init(
                "clock",
                .warning,
                "the clock says \(now.rfc3339), and there are entries of \(latest.rfc3339)",
                fix: fix
            )
        } else {
            self.init("clock", .ok, "the clock says \(now.rfc3339)")
        }
    }

    /// `refused` are the accounts of the user whose credential is refused, as far as known.
    fileprivate init(
        _ count: Int64,
        _ state: ModifierState,
        _ whose: Monitor.FindingOwner,
        _ refused: [CredentialName]
    ) {
        let (one, many) = count == 1 ? ("write", "it") : ("writes", "them")
        let outcomeText =
            switch state {
            case .unknown: "may or may not have reached the server"
            case .conflict: "met a change of another device"
            case .authWait: "must have a credential that the server takes"
            case .failed, .held, .queued, .inFlight, .accepted, .retryWait, .confirmed, .cancelled:
                "failed permanently"
            }
        let list = "cachectl queue list --state \(state.rawValue)\(whose.option)"
        let retry = "cachectl queue retry --state \(state.rawValue)\(whose.option)"
        let discard = state == .failed ? "" : " --discard"
        let drop = "cachectl queue drop --state \(state.rawValue)\(discard)\(whose.option)"
        let logins = refused.prefix(Limits.toldLoginsMax).map(\.loginCommand)
        let login = logins.isEmpty ? "cachectl origin login NAME" : logins.joined(separator: ", ")
        // A retry is refused like the attempt before, and another credential sends them anyway.
        let help =
            state == .authWait
            ? "Give a credential that the server takes, which sends \(many): \(login)"
            : state == .conflict ? "Keep \(many): \(retry)" : "Send again: \(retry)"
        let end = state == .conflict ? "Take the server's values" : "Give up"
        self.init(
            "queue",
            .warning,
            "\(count) \(one)\(whose.words) \(outcomeText)",
            fix: "See \(many): \(list)    \(help)    \(end): \(drop)"
        )
    }

    fileprivate init(failedPins count: Int64, _ whose: Monitor.FindingOwner) {
        let one = count == 1 ? "pin" : "pins"
        self.init(
            "pins",
            .warning,
            "\(count) \(one)\(whose.words) failed",
            fix:
                "See which and why: cachectl pin --list    Pin again, or give up: cachectl unpin ID"
        )
    }

    fileprivate init(paused lane: Lane, of scope: Scope, _ whose: Monitor.FindingOwner) {
        let account = scope.account == .default ? "" : " --account \(scope.account.text)"
        self.init(
            "lane",
            .warning,
            "the lane '\(lane)'\(whose.words) is paused",
            fix: "Let it go on: cachectl queue resume '\(lane)'\(whose.option)\(account)"
        )
    }
}

/// Findings that a person has to act on: writes, paused lanes and failed pins.
///
/// Each has the command that helps.
extension Monitor {
    /// The findings of `asker`; those of all users for an administrator, or without an `asker`.
    ///
    /// However long the queue is, this reads only the paused lanes.
    func findings(for asker: ClientStatus?) async -> [Finding] {
        let own = asker.flatMap { $0.administrator ? nil : $0.user }
        let writes = store.modifiers.totals.waitingForPerson
        let pins = store.pins.totals.failed
        var findings: [Finding] = []
        for uid in Set(writes.keys).union(pins.keys).sorted() where own == nil || own == uid {
            let whose = FindingOwner(uid: uid, isAsker: uid == asker?.user)
            for state in ModifierState.waitingForPerson {
                guard let count = writes[uid]?[state] else { continue }
                let refused = context.credentials.refused(of: uid)
                findings.append(Finding(count, state, whose, refused))
            }
            if let count = pins[uid] {
                findings.append(Finding(failedPins: count, whose))
            }
        }
        do throws(StoreError) {
            for (scope, lane) in try await store.modifiers.pausedLanes() {
                guard let uid = scope.uid, own == nil || own == uid else { continue }
                let whose = FindingOwner(uid: uid, isAsker: uid == asker?.user)
                findings.append(Finding(paused: lane, of: scope, whose))
                if findings.count == Limits.statusFindingsMax { break }
            }
        } catch {
            findings.append(
                .init("queue", .warning, "the paused lanes were not read: \(error.message)")
            )
        }
        return Array(findings.prefix(Limits.statusFindingsMax))
    }

    /// The user that a finding is about, worded for the asker.
    fileprivate struct FindingOwner {
        let uid: UInt32
        let isAsker: Bool

        var words: String { isAsker ? "" : " of uid \(uid)" }
        var option: String { isAsker ? "" : " --uid \(uid)" }
    }
}
