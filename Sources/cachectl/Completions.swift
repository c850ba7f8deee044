import ArgumentParser

/// `cachectl completions`.
struct Completions: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints what completes this command's words in a shell.",
        discussion: """
            Example: cachectl completions bash >~/.local/share/bash-completion/completions/cachectl
            """
    )

    enum Shell: String, ExpressibleByArgument, CaseIterable {
        case bash
        case zsh
        case fish

        fileprivate var completionShell: CompletionShell {
            switch self {
            case .bash: .bash
            case .zsh: .zsh
            case .fish: .fish
            }
        }
    }

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Argument(help: "The shell: bash, zsh or fish.")
    var shell: Shell

    func run() throws {
        let script = Cachectl.completionScript(for: shell.completionShell)
        try Console().write(Array((script + "\n").utf8))
    }
}
