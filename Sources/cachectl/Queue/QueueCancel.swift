import ArgumentParser
import LarderClient

/// `cachectl queue cancel`.
struct QueueCancel: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Takes a write back before it is sent.",
        discussion: """
            Its changes do not show any more, and what depends on it is taken back with it. What \
            may have reached the server is not; `cachectl queue drop --discard` gives that up. Exit \
            code 3 if there is none of this id.

            Example: cachectl queue cancel 01JD2Q4W6Z0000000000000000
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @OptionGroup
    var one: OneModifier

    func run() async throws {
        let scope = one.scope(options)
        try await options.withClient { client in
            do throws(LarderError) {
                // A dead one stays: to drop it is another command.
                try await client.act(.cancel, onModifier: one.id, scope: scope)
            } catch {
                guard case .tooLate(let problem) = error, problem.kind == .alreadySettled else {
                    throw error
                }
                throw CommandFailure(
                    .failed,
                    problem.detail,
                    hint: "Read its result: cachectl queue show \(one.id)    Drop it: "
                        + "cachectl queue drop \(one.id)"
                )
            }
        }
        try options.report("cancelled", one.id)
    }
}
