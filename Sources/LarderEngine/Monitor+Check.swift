import LarderModel
import LarderStore
package import LarderWire

extension Monitor {
    /// Has the daemon look at itself: its files, who may read them, the reserves, its clock, its
    /// warnings.
    ///
    /// It ends within ``Limits/checkTime``; one runs at a time.
    package func examine(daemonUID: UInt32) async throws(Problem) -> CheckReport {
        store.upkeep.want()
        let (files, latest) = try await storingAll { () async throws(StoreError) in
            let files = try await store.files.check { [clock] in
                // It is cancelled when the check has come to its own end.
                try? await clock.sleep(for: Limits.checkTime)
            }
            return (files, try await store.files.latestStoredAt())
        }
        var findings = files.map(CheckReport.Finding.init)
        let rights = store.files.rights.compactMap {
            CheckReport.Finding($0, daemonUID: daemonUID)
        }
        findings +=
            rights.isEmpty
            ? [.init("permissions", .ok, "the files and their folders are the daemon's alone")]
            : rights
        findings += store.files.reserves.map { CheckReport.Finding($0, daemonUID: daemonUID) }
        findings.append(CheckReport.Finding(clock: clock.now(), latest: latest))
        findings += store.files.asideSets.map {
            .init("state.db", .warning, $0.sentence, fix: $0.removal)
        }
        let warnings = warnings(store.totals)
        findings += warnings.map { .init("status", .warning, $0, fix: "See: cachectl status") }
        return CheckReport(findings: findings)
    }
}

extension CheckReport.Finding {
    fileprivate init(_ file: FileFinding) {
        if !file.damage.isEmpty {
            let more = file.damage.count > 1 ? " (and \(file.damage.count - 1) more)" : ""
            self.init(
                file.name,
                .failed,
                "the file is damaged: \(file.damage[0])\(more)",
                fix: "Restart the daemon: what it finds damaged then is set aside and made anew."
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

    /// Nil for what is as it should be.
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

    /// A clock that is behind makes every entry stale, as it lies in the future.
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
}
