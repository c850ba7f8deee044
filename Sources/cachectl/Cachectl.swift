import ArgumentParser
import LarderClient

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The command: it parses, runs one subcommand, and turns its failure into words and a code.
@main
struct Cachectl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cachectl",
        abstract: "Looks into the cache of larderd and works on it.",
        discussion: """
            Data goes to stdout, messages to stderr. Without --socket, --system or --user the \
            daemon is looked for at $LARDER_SOCKET, then the user's own, then the system's.

            Example: cachectl get https://api.example.com/articles/42

            Exit codes: 0 done, 1 failed, 3 not found, 64 wrong usage, 69 no daemon, 75 nothing \
            to show while offline, 77 not permitted.
            """,
        version: Version.text,
        subcommands: [
            Status.self, Get.self, Put.self, Rm.self, Ls.self, Inspect.self, Evict.self,
            Pin.self, Unpin.self, QueueGroup.self, Watch.self,
            Df.self, Doctor.self, Completions.self,
            OriginGroup.self, Stats.self,
        ]
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    static func main() async {
        // A reader that goes away is seen where it is written to.
        signal(SIGPIPE, SIG_IGN)
        do {
            var command = try parseAsRoot()
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
            exit(withError: error)
        }
    }
}
