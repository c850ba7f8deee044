import ArgumentParser
import Glibc
import LarderClient
import LarderModel

struct OriginLogin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Give your credential for a server.",
        discussion: """
            The command asks for the whole value of the header, such as 'Bearer TOKEN', without \
            showing it, or reads it from stdin or a file. The daemon sends it with your requests \
            and writes to this server only, and never shows it. Writes that waited for a \
            credential are sent, one first.

            Example: cachectl origin login api
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Argument(help: "Name of the origin.", completion: DaemonWords.origins)
    var name: String

    @Option(help: "Name of the header that has the credential.")
    var header = "Authorization"

    @Option(help: "File that has the value on one line; - is stdin.", completion: .file())
    var file: String?

    func run() async throws {
        let value = try await SecretValue.take(file, asking: "\(header) for \(name): ")
        try await options.show {
            try await $0.setCredential(value, as: header, at: name)
        } lines: { report, console in
            console.remark(
                report.waiting == 0
                    ? "\(name) has your credential"
                    : "\(name) has your credential; \(report.waitingWords) to be sent"
            )
            return []
        }
    }
}

struct OriginLogout: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "Remove your credential for a server.",
        discussion: """
            Writes that were accepted under the credential wait until you log in again; the \
            command says how many writes wait. Stored answers stay: cachectl evict --origin NAME \
            removes them.

            Example: cachectl origin logout api
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Argument(help: "Name of the origin.", completion: DaemonWords.origins)
    var name: String

    func run() async throws {
        try await options.show {
            try await $0.removeCredential(at: name)
        } lines: { report, console in
            let account = options.account.map { " --account \($0)" } ?? ""
            console.remark(
                "stored answers stay; remove them: cachectl evict --origin \(name)\(account)"
            )
            return [TerminalText("\(name): \(report.waitingWords)")]
        }
    }
}

extension CredentialReport {
    /// `1 write waits`.
    fileprivate var waitingWords: String {
        waiting == 1 ? "1 write waits" : "\(waiting) writes wait"
    }
}

/// A secret of one line, which no argument of a command may have (ps(1)).
private enum SecretValue {
    static func take(_ file: String?, asking question: String) async throws -> String {
        if file == nil, Console().canAsk { return try ask(question) }
        let path = file ?? "-"
        return try await SecretLines.line(path == "-" ? path : "@" + path, of: "a credential")
    }

    /// Reads a line from the terminal while that shows nothing of it.
    ///
    /// The keys come one by one: a terminal's own line ends after 4,095 bytes, and an interrupt must
    /// not leave the terminal without its echo.
    private static func ask(_ question: String) throws -> String {
        var shown = termios()
        guard tcgetattr(STDIN_FILENO, &shown) == 0 else {
            throw CommandFailure(.failed, "the terminal cannot be asked")
        }
        var hidden = shown
        hidden.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
        Console().prompt(question)
        guard tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden) == 0 else {
            throw CommandFailure(.failed, "the terminal cannot hide what is typed")
        }
        defer {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown)
            Console().note(line: "")
        }
        return try line()
    }

    private static func line() throws -> String {
        var bytes: [UInt8] = []
        var key: UInt8 = 0
        while true {
            let count = read(STDIN_FILENO, &key, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1, key != 3, key != 4 else {
                throw CommandFailure(.failed, "no credential was given")
            }
            switch key {
            case 10, 13:
                guard let text = String(validating: bytes, as: UTF8.self), !text.isEmpty else {
                    throw CommandFailure(.failed, "no credential was given")
                }
                return text
            case 8, 127: _ = bytes.popLast()
            case 21: bytes = []
            case ..<32: break
            case _: bytes.append(key)
            }
            guard bytes.count <= Limits.credentialBytesMax else {
                throw CommandFailure(
                    .failed,
                    "the credential has more than \(Limits.credentialBytesMax) bytes"
                )
            }
        }
    }
}
