import ArgumentParser
import LarderClient
import LarderModel

struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Look for problems, and say how to fix them.",
        discussion: """
            The command checks the configuration, who can read its secrets, the socket, how the \
            daemon sees you, its files and their permissions, their logs, the reserves, the disk, \
            the clock, and whether your own daemon outlives your session. Checks that only an \
            administrator may ask for are skipped for other users.

            Exit codes: 0 nothing was found, 1 something was, 78 among it a configuration that is \
            refused, 69 no daemon answers (what needs none was looked at), 77 its socket may not \
            be opened.

            Example: cachectl doctor --json | jq 'select(.state != "ok")'
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Option(
        help: ArgumentHelp(
            "Check this configuration file; by default the one that the daemon has read.",
            valueName: "file"
        ),
        completion: .file()
    )
    var config: String?

    func run() async throws {
        let console = Console()
        let (findings, failure) = await examine()
        for finding in findings {
            if options.json {
                try console.write(json: finding)
            } else {
                for line in lines(finding, console) { try console.line(line) }
            }
        }
        if let failure { throw failure }
        if findings.contains(where: { $0.subject == "configuration" && $0.state == .failed }) {
            throw ExitCode(ExitStatus.badConfiguration.rawValue)
        }
        if findings.contains(where: { $0.state == .failed || $0.state == .warning }) {
            throw ExitCode(ExitStatus.failed.rawValue)
        }
    }

    private func lines(_ finding: Finding, _ console: Console) -> [TerminalText] {
        let mark =
            switch finding.state {
            case .ok: console.coloured("ok     ", .good)
            case .warning: console.coloured("warning", .warning)
            case .failed: console.coloured("failed ", .bad)
            case _: console.coloured("skipped", .quiet)
            }
        let fix: [TerminalText] = finding.fix.map { ["         \($0)"] } ?? []
        return ["\(mark)  \(finding.subject): \(finding.detail)"] + fix
    }
}

extension Doctor {
    /// Everything that was found, in the order in which it is told, and why the daemon could not be
    /// asked.
    private func examine() async -> ([Finding], CommandFailure?) {
        do {
            return try await options.withClient { client in
                let status = try await client.status()
                let told = Self.findings(status) + (await Self.fileFindings(client, status))
                return (seen(client.socketInUse, status.configuration, around: told), nil)
            }
        } catch let error as LarderError {
            let failure = CommandFailure(error)
            let told = [Finding("daemon", .failed, failure.message, fix: failure.hint)]
            let socket = LocalChecks.socket(of: options.location.candidates)
            return (seen(socket, nil, around: told), CommandFailure(failure.code, ""))
        } catch {
            return ([], CommandFailure(.failed, "\(error)"))
        }
    }

    /// Adds findings of local checks, which need no daemon, around the daemon's own findings.
    private func seen(
        _ socket: String?,
        _ inForce: ConfigurationStatus?,
        around told: [Finding]
    ) -> [Finding] {
        let checks = LocalChecks(socket: socket)
        return checks.configuration(file: config, inForce: inForce)
            + checks.socketFindings(inForce: inForce) + told + checks.lingerFindings
    }

    // MARK: Findings of the daemon

    private static func findings(_ status: StatusReport) -> [Finding] {
        var findings: [Finding] = []
        if status.version == Version.text {
            findings.append(Finding("version", .ok, "larderd and cachectl are \(Version.text)"))
        } else {
            let versions = "larderd is \(status.version), cachectl \(Version.text)"
            let fix = "Restart larderd, if the newer one is installed."
            findings.append(Finding("version", .warning, versions, fix: fix))
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
            findings.append(Finding("disk", .skipped, error.summary))
        }
        guard status.you?.administrator == true else {
            let reason = "only an administrator may have them looked at"
            let fix = "Ask as root, or as the daemon's own user: sudo cachectl doctor"
            return findings + [Finding("files", .skipped, reason, fix: fix)]
        }
        do throws(LarderError) {
            // The findings of status are in the list already.
            findings += try await client.check().filter { $0.subject != "status" }
        } catch {
            findings.append(Finding("files", .skipped, error.summary))
        }
        return findings
    }

    private static func diskFindings(_ usage: UsageReport) -> [Finding] {
        var findings: [Finding] = []
        for file in usage.files {
            let log = "\(file.name) has a log of \(HumanFormat.size(file.walBytes))"
            // The writer restarts the log at 16 MB, and every reader permits that within a moment.
            if file.walBytes > Int64(4 * Limits.walPagesMax * 4_096) {
                let fix = "Restart the daemon, and tell its authors: something reads for long."
                findings.append(Finding("log", .warning, log, fix: fix))
            } else {
                findings.append(Finding("log", .ok, log))
            }
        }
        guard let free = usage.disk.freeBytes else {
            let reason = "the file system does not say what is free"
            return findings + [Finding("disk", .skipped, reason)]
        }
        let left = "\(HumanFormat.size(free)) are free"
        guard free < usage.disk.minFreeBytes else { return findings + [Finding("disk", .ok, left)] }
        let least = HumanFormat.size(usage.disk.minFreeBytes)
        let detail = "\(left), cache.min_free_bytes is \(least): the cache grows no more"
        let fix = "Free space on the cache's disk, or lower cache.min_free_bytes."
        return findings + [Finding("disk", .warning, detail, fix: fix)]
    }
}
