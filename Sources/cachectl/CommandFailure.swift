import Glibc
import LarderClient
import LarderConfiguration
import LarderModel

/// Why a command ends, in words for a person and a code for a script.
struct CommandFailure: Error, Equatable {
    var code: ExitStatus
    var message: String
    var hint: String?
    /// The beginning of what the origin said of it.
    var body: [UInt8]?
    /// Where the daemon passes through what it cannot keep.
    var rawPath: String?

    init(_ code: ExitStatus, _ message: String, hint: String? = nil) {
        self.code = code
        self.message = message
        self.hint = hint
    }

    /// The reader of stdout is gone; the command prints no message about it.
    static let stdoutClosed = CommandFailure(.failed, "")

    static func noTerminal(_ hint: String) -> CommandFailure {
        CommandFailure(.usage, "there is no terminal to ask on", hint: hint)
    }

    /// The error of the last system call on a file.
    static func lastError(of path: String) -> CommandFailure {
        CommandFailure(.failed, "\(path): \(String(cString: strerror(errno)))")
    }

    var isClosed: Bool { self == .stdoutClosed }

    func exit() -> Never {
        let console = Console()
        if !message.isEmpty { console.note(message) }
        if let body, !body.isEmpty, TerminalText.isShowable(body) {
            for line in String(decoding: body, as: UTF8.self).split(whereSeparator: \.isNewline) {
                console.note(line: "  \(line.replacing("\t", with: "    "))")
            }
        }
        for line in hint?.split(separator: "\n") ?? [] { console.note(line: String(line)) }
        Glibc.exit(code.rawValue)
    }
}

extension Problem {
    /// The detail, with the hint if another credential helps.
    var words: String { wantsCredential ? "\(detail). \(hint)" : detail }
}

extension CommandFailure {
    init(_ error: LarderError) {
        switch error {
        case .unreachable(let failures):
            self.init(
                .noDaemon,
                error.summary,
                hint: serviceAdvice(sockets: failures.map(\.path))
            )
        case .socketRefused(let path):
            let own = path == SocketRights.systemSocket ? "\n\(WayToBegin.own)" : ""
            let advice =
                SocketRights(of: path)?.advice ?? "See who may open it: ls -l '\(path)'"
            self.init(.notPermitted, error.summary, hint: advice + own)
        case .other(let problem): self.init(.failed, problem.detail, hint: problem.hint)
        case .timedOut:
            self.init(
                .failed,
                error.summary,
                hint: "Try again in a moment; see the daemon's log for what it is busy with."
            )
        case .cutOff:
            self.init(.failed, error.summary, hint: "Try again; see the daemon's log.")
        case .badAnswer:
            self.init(
                .failed,
                error.summary,
                hint: "Is larderd of the same version? See: cachectl --version, larderd --version"
            )
        default:
            let problem = error.problem
            let hint = problem.map { Self.hint($0) }
            self.init(problem?.kind.exit ?? .failed, error.summary, hint: hint)
            rawPath = problem?.rawHref
            body = problem?.quotedBody
        }
    }

    /// The failure with the name of what was asked for, unless its message has it already.
    func about(_ name: String) -> CommandFailure {
        guard !message.isEmpty, !message.contains(name) else { return self }
        var named = self
        named.message = "\(name): \(message)"
        return named
    }

    /// For `pin` and `unpin`, where a miss is something else than for those that read.
    init(pinningFailedWith error: LarderError, of name: String) {
        self.init(error)
        self = about(name)
        guard case .miss = error else { return }
        if let url = EntryArgument(name).meantURL {
            hint = "Did you mean \(url)?"
        } else {
            hint = "See what is pinned: cachectl pin --list    and what is cached: cachectl ls"
        }
    }

    /// A hint for users of cachectl; some of the daemon's hints are for programs on its socket.
    private static func hint(_ problem: Problem) -> String {
        switch problem.kind {
        case .miss: "See what is cached: cachectl ls    Ask the network: cachectl get URL"
        case .deleted: "Ask the origin again, if it may be back: cachectl get URL"
        case .noSuchSet: "See which there are: cachectl prefetch"
        case .noSuchOrigin: "See which there are: cachectl origin list"
        case .originExists where problem.hint == problem.kind.hint:
            "Replace it: cachectl origin add --replace NAME URL    or choose another name."
        case .pinned where problem.hint == problem.kind.hint: "Unpin it first: cachectl unpin ID"
        case .pinned: "Remove the set, or replace it without the entry: cachectl prefetch"
        case .noSuchModifier:
            "See which there are: cachectl queue list    and which there were: cachectl queue list "
                + "--settled"
        case .alreadySent where problem.hint == problem.kind.hint:
            "See its state: cachectl queue show ID    Give it up, once it waits again: "
                + "cachectl queue drop --discard ID"
        case .alreadySent where problem.hint != ProblemKind.alreadySettled.hint:
            "See what it waits for: cachectl queue show ID"
        case .alreadySent, .alreadySettled:
            "Read its result: cachectl queue show ID    If it failed, drop it: "
                + "cachectl queue drop ID"
        case .queueFull:
            "Drop what failed: cachectl queue drop ID    or wait for the network, or raise "
                + "queue.max_modifiers or queue.max_bytes."
        case .targeted: "See what is to be sent: cachectl queue list"
        case .notApplied:
            "Send it again: cachectl queue retry ID    or drop it: cachectl queue drop ID"
        default: problem.hint.replacing("the detail", with: "the message")
        }
    }
}

/// Access rights of a daemon's socket, and advice for users without access.
struct SocketRights {
    static let systemSocket = "/run/larder/api.sock"

    let path: String
    let isSocket: Bool
    let mode: Int
    let uid: uid_t
    let gid: gid_t

    /// Nil where there is nothing at the path.
    init?(of path: String) {
        var answer = stat()
        guard stat(path, &answer) == 0 else { return nil }
        self.path = path
        isSocket = answer.st_mode & S_IFMT == S_IFSOCK
        mode = Int(answer.st_mode & 0o777)
        (uid, gid) = (answer.st_uid, answer.st_gid)
    }

    var isPrivate: Bool { mode & 0o077 == 0 }

    /// As chmod(1) spells it: `0660`.
    var modeText: String { "0" + String(mode, radix: 8) }

    /// The group's name, or its number.
    var group: String { AccountLookup.groupName(gid) ?? String(gid) }

    /// Advice for a user without access: a private daemon has no group that the user could join.
    var advice: String {
        guard path == Self.systemSocket else {
            return
                "The daemon belongs to uid \(uid). Start one for yourself: larderd &    or ask the "
                + "system's: cachectl --system"
        }
        guard mode & 0o020 != 0 else {
            return
                "The socket has mode \(modeText), which admits no group. Give it sockets.mode: "
                + "\"0660\", or in larder.socket SocketMode=0660."
        }
        guard gid != 0 else {
            return "The socket has the group root. Give it one for its clients: "
                + "SocketGroup=larder-clients in larder.socket."
        }
        // adduser(8) takes a group by its name only.
        let command = Int(group) == nil ? "adduser NAME \(group)" : "usermod -aG \(group) NAME"
        return "Use the system's daemon: sudo \(command)    (log in again)"
    }
}

/// Commands that show why a daemon does not answer, and that start it: of the service that its
/// socket belongs to.
///
/// `sockets` are those that were tried.
func serviceAdvice(sockets: [String]) -> String {
    let system = SocketLocation.system.candidates
    // Where systemd runs the user's services there is a runtime directory.
    let user = SocketLocation.user.candidates.prefix(1).filter { !system.contains($0) }
    let usesUser = sockets.contains(where: user.contains)
    let usesSystem = sockets.contains(where: system.contains)
    return switch (usesUser, usesSystem) {
    case (true, true):
        "\(WayToBegin.system)\n\(WayToBegin.own)\n"
            + "See why none answers: systemctl status larder    systemctl --user status larder"
    case (true, false):
        "See why: systemctl --user status larder    journalctl --user -u larder    Start "
            + "it: systemctl --user enable --now larder.socket    or: larderd &"
    case (false, true):
        "See why: systemctl status larder    journalctl -u larder    Start it: sudo "
            + "systemctl start larder" + (user.isEmpty ? "" : "\n\(WayToBegin.own)")
    case (false, false):
        "Start it with: larderd &    or the system's: sudo systemctl start larder"
    }
}
