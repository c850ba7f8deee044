import ArgumentParser
import LarderAPI
import LarderClient
import LarderWire

/// `cachectl doctor`.
struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Looks for what is wrong, and says how to put it right.",
        discussion: """
            It looks at the configuration, who can read its secrets, the socket, how the daemon sees you, its files and \
            their permissions, their logs, the reserves, the disk, the clock, and whether your own \
            daemon outlives your session. What only an administrator may ask is skipped for others.

            Exit codes: 0 nothing was found, 1 something was, 78 among it a configuration that is \
            refused, 69 no daemon answers (what needs none was looked at), 77 its socket may not be \
            opened.

            Example: cachectl doctor --json | jq 'select(.state != "ok")'
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Option(
        help: ArgumentHelp(
            "The configuration file to look at; by default the one that the daemon has read.",
            valueName: "file"
        ),
        completion: .file()
    )
    var config: String?

    func run() async throws {
        let console = Console()
        let examination = Examination(options: options, configurationFile: config)
        let (findings, failure) = await examination.run()
        for finding in findings {
            if options.json {
                try console.write(json: finding)
            } else {
                for line in lines(finding, console) { try console.line(line) }
            }
        }
        if let failure { throw failure }
        if findings.contains(where: { $0.subject == "configuration" && $0.state == .failed }) {
            throw ExitCode(CommandFailure.Code.badConfiguration.rawValue)
        }
        if findings.contains(where: { $0.state == .failed || $0.state == .warning }) {
            throw ExitCode(CommandFailure.Code.failed.rawValue)
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
