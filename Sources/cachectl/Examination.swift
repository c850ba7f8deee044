import LarderAPI
import LarderClient
import LarderModel
import LarderWire

/// Everything that `doctor` looks at, in the order in which it is told.
struct Examination {
    let options: GlobalOptions
    let configurationFile: String?

    /// What was found, and why the daemon could not be asked.
    func run() async -> ([Finding], CommandFailure?) {
        var findings: [Finding] = []
        do {
            findings += try await options.withClient { client in
                let status = try await client.status()
                let surroundings = Surroundings(socket: client.socketInUse)
                let inForce = status.configuration
                var findings = surroundings.configuration(
                    file: configurationFile,
                    inForce: inForce
                )
                findings += surroundings.socketFindings(inForce: inForce)
                findings += Self.findings(status)
                findings += await Self.fileFindings(client, status)
                findings += surroundings.lingerFindings
                return findings
            }
            return (findings, nil)
        } catch let error as LarderError {
            let surroundings = Surroundings(socket: Surroundings.socket(of: options.candidates))
            findings += surroundings.configuration(file: configurationFile, inForce: nil)
            findings += surroundings.socketFindings(inForce: nil)
            let failure = CommandFailure(error)
            findings.append(
                Finding("daemon", .failed, failure.message, fix: failure.hint)
            )
            return (findings + surroundings.lingerFindings, CommandFailure(failure.code, ""))
        } catch {
            return (findings, CommandFailure(.failed, "\(error)"))
        }
    }

    // MARK: What the daemon says

    private static func findings(_ status: StatusReport) -> [Finding] {
        var findings: [Finding] = []
        if status.version == Version.text {
            findings.append(Finding("version", .ok, "larderd and cachectl are \(Version.text)"))
        } else {
            findings.append(
                Finding(
                    "version",
                    .warning,
                    "larderd is \(status.version), cachectl \(Version.text)",
                    fix: "Restart larderd, if the newer one is installed."
                )
            )
        }
        let told = status.findings
        for warning in status.warnings where !told.contains(where: { $0.detail == warning }) {
            findings.append(Finding("status", .warning, warning, fix: "See: cachectl status"))
        }
        findings += told
        if let you = status.you {
            let groups = you.groups.map { String($0) }.joined(separator: ", ")
            let role = you.administrator ? "an administrator" : "no administrator"
            findings.append(
                Finding("you", .ok, "uid \(you.user), groups \(groups); \(role) of this daemon")
            )
        }
        return findings
    }

    private static func fileFindings(
        _ client: LarderClient,
        _ status: StatusReport
    ) async -> [Finding] {
        var findings: [Finding] = []
        do throws(LarderError) {
            findings += diskFindings(try await client.usage())
        } catch {
            findings.append(Finding("disk", .skipped, error.description))
        }
        guard status.you?.administrator == true else {
            return findings + [
                Finding(
                    "files",
                    .skipped,
                    "only an administrator may have them looked at",
                    fix: "Ask as root, or as the daemon's own user: sudo cachectl doctor"
                )
            ]
        }
        do throws(LarderError) {
            // What status warns of has been told.
            findings += try await client.check().filter { $0.subject != "status" }
        } catch {
            findings.append(Finding("files", .skipped, error.description))
        }
        return findings
    }

    private static func diskFindings(_ usage: UsageReport) -> [Finding] {
        var findings: [Finding] = []
        for file in usage.files {
            let log = "\(file.name) has a log of \(Words.size(file.walBytes))"
            // The writer begins anew at 16 MB, and every reader lets it within a moment.
            if file.walBytes > Int64(4 * Limits.walPagesMax * 4_096) {
                findings.append(
                    Finding(
                        "log",
                        .warning,
                        log,
                        fix: "Restart the daemon, and tell its authors: something reads for long."
                    )
                )
            } else {
                findings.append(Finding("log", .ok, log))
            }
        }
        guard let free = usage.disk.freeBytes else {
            return findings + [
                Finding("disk", .skipped, "the file system does not say what is free")
            ]
        }
        if free < usage.disk.minFreeBytes {
            findings.append(
                Finding(
                    "disk",
                    .warning,
                    "\(Words.size(free)) are free, cache.min_free_bytes is "
                        + "\(Words.size(usage.disk.minFreeBytes)): the cache grows no more",
                    fix: "Free space on the cache's disk, or lower cache.min_free_bytes."
                )
            )
        } else {
            findings.append(Finding("disk", .ok, "\(Words.size(free)) are free"))
        }
        return findings
    }
}
