import ArgumentParser
import LarderClient

struct Reload: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make the daemon read its configuration again.",
        discussion: """
            All of it is taken, or nothing where anything in it is wrong. Origins, their headers \
            and TLS files, limits, the administrators' group and the log level change without a \
            restart; what does not is named. For administrators of the daemon.

            Exit codes: 0 taken, 78 refused.

            Example: cachectl reload
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    func run() async throws {
        let report = try await options.show {
            try await $0.reload()
        } lines: { report, _ in
            lines(report).map { TerminalText($0) }
        }
        guard report.state != .taken else { return }
        throw CommandFailure(
            .badConfiguration,
            "the configuration is refused, nothing has changed",
            hint: "Correct it, then: cachectl reload"
        )
    }

    private func lines(_ report: ReloadReport) -> [String] {
        var lines = report.refused.map { "refused: \($0)" }
        lines += report.taken.map { "taken: \($0)" }
        lines += report.needsRestart.map { "needs a restart: \($0)" }
        lines += report.warnings.map { "warning: \($0)" }
        if report.state == .taken, report.taken.isEmpty {
            lines.insert("nothing has changed", at: 0)
        }
        return lines
    }
}
