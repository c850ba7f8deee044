import ArgumentParser
import Glibc
import LarderClient
import LarderModel

/// The command: it parses, runs one subcommand, and turns its failure into words and a code.
@main
struct Cachectl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cachectl",
        abstract: "Look into the cache of larderd and work on it.",
        discussion: """
            Data goes to stdout, messages to stderr. Without --socket, --system or --user the \
            daemon is looked for at $LARDER_SOCKET, then the user's own, then the system's.

            Without --json an id, list or message shows control, bidirectional and invisible \
            characters escaped, as \\u{202E}; with --json each value is as the daemon has it.

            Example: cachectl get https://api.example.com/articles/42

            Exit codes: 0 done, 1 failed, 3 not found, 64 wrong usage, 69 no daemon, 75 nothing to \
            show while offline, 77 not permitted, 78 bad configuration.
            """,
        version: Version.text,
        subcommands: [
            Status.self, Get.self, Put.self, Rm.self, Ls.self, Inspect.self, Evict.self, Purge.self,
            Pin.self, Unpin.self, Prefetch.self, QueueGroup.self, Watch.self,
            Df.self, Doctor.self,
            OriginGroup.self, Stats.self, Reload.self,
        ]
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    static func main() async {
        // A reader that goes away is seen where it is written to.
        signal(SIGPIPE, SIG_IGN)
        // A write beyond `ulimit -f` fails instead.
        signal(SIGXFSZ, SIG_IGN)
        if let failure = unreadableArgument() { failure.exit() }
        do {
            var command = try await asyncParseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let error as LarderError {
            CommandFailure(error).exit()
        } catch let failure as CommandFailure {
            failure.exit()
        } catch {
            // Help, versions and completion scripts are no refusal.
            guard !exitCode(for: error).isSuccess else { exit(withError: error) }
            if let failure = unknownCommand(CommandLine.arguments.dropFirst()) { failure.exit() }
            exit(refusing: error)
        }
    }

    /// Why an argument cannot be used: the parser gets U+FFFD in the place of bytes that are not
    /// UTF-8, so that two ids would be one.
    private static func unreadableArgument() -> CommandFailure? {
        // A shell asks for completions of words that may end in the middle of a character.
        guard CommandLine.arguments.dropFirst().first != "---completion" else { return nil }
        for place in 1..<max(1, Int(CommandLine.argc)) {
            guard let bytes = UnsafeRawPointer(CommandLine.unsafeArgv[place]) else { continue }
            let text = bytes.assumingMemoryBound(to: CChar.self)
            guard String(validatingCString: text) == nil else { continue }
            return CommandFailure(
                .usage,
                "argument \(place) is not UTF-8",
                hint: "Give ids, URLs, names and paths in UTF-8."
            )
        }
        return nil
    }

    /// Ends with the parser's message, which may repeat arguments.
    private static func exit(refusing error: any Error) -> Never {
        let console = Console()
        for line in fullMessage(for: error).split(separator: "\n", omittingEmptySubsequences: false)
        {
            console.note(line: String(line))
        }
        exit(withError: exitCode(for: error))
    }

    /// Why the arguments were refused, if the reason is that they name no command.
    static func unknownCommand(_ arguments: some Collection<String>) -> CommandFailure? {
        var group: any ParsableCommand.Type = Cachectl.self
        var path = "cachectl"
        var isValue = false
        for argument in arguments {
            if isValue {
                isValue = false
                continue
            }
            guard !argument.hasPrefix("-") else {
                isValue = argument == "--socket" || argument == "--account"
                continue
            }
            let commands = group.configuration.subcommands
            guard !commands.isEmpty else { return nil }
            guard let next = commands.first(where: { $0._commandName == argument }) else {
                let names = commands.map { $0._commandName }
                guard argument != "help" else { return nil }
                return CommandFailure(
                    .usage,
                    "unknown command '\(argument)', "
                        + nearestNameAdvice(on: argument, among: names),
                    hint: "See: \(path) --help"
                )
            }
            group = next
            path += " \(argument)"
        }
        return nil
    }
}

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
