import ArgumentParser
import LarderClient
import LarderJSON
import LarderModel

/// Options of every subcommand, before or after its name.
struct GlobalOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Path of the daemon's socket.", valueName: "path"))
    var socket: String?

    @Flag(help: "Talk to the system's daemon, at /run/larder/api.sock.")
    var system = false

    @Flag(help: "Talk to the user's own daemon.")
    var user = false

    @Flag(help: "Print JSON, one value a line, as the API spells it.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "Name of one of your accounts, each with its own entries and credential; without it, "
                + "default.",
            valueName: "name"
        )
    )
    var account: String?

    func validate() throws {
        guard [socket != nil, system, user].filter({ $0 }).count <= 1 else {
            throw ValidationError("Give one of --socket, --system and --user.")
        }
    }

    var location: SocketLocation {
        if let socket { return .path(socket) }
        if system { return .system }
        return user ? .user : .found
    }

    /// Says what a command has done: `{"id":"a","outcome":"removed"}`, or `removed a` to a person.
    func report(_ outcome: String, _ id: String) throws(CommandFailure) {
        let console = Console()
        guard json else { return console.remark("\(outcome) \(id)") }
        var line = JSONWriter()
        line.object { line in
            line.member("id", id)
            line.member("outcome", outcome)
        }
        try console.write(line.bytes + [UInt8(ascii: "\n")])
    }

    /// Asks for a report and prints it: with --json as the daemon sent it, else the lines that say it.
    @discardableResult
    func show<Report: Sendable>(
        _ ask: (LarderClient) async throws -> Report,
        lines: (Report, Console) throws -> [TerminalText]
    ) async throws -> Report {
        let sent = SentReports()
        let report = try await withClient { client in
            try await sent.noting { try await ask(client) }
        }
        let console = Console()
        if json {
            try console.write(line: sent.last)
        } else {
            for line in try lines(report, console) { try console.line(line) }
        }
        return report
    }

    /// Runs `body` with a client, whose connections are closed when it returns or when the daemon
    /// does not answer any more.
    func withClient<Result>(
        _ body: (LarderClient) async throws -> Result
    ) async throws -> Result {
        let client = LarderClient(socket: location, account: account ?? "default")
        let check = Task { await DaemonCheck.run(on: client) }
        do {
            let result = try await body(client)
            check.cancel()
            await client.shutdown()
            return result
        } catch {
            check.cancel()
            await client.shutdown()
            throw await check.value ?? error
        }
    }
}

/// Users whose entries or writes a command selects; other users' are for administrators.
struct ScopeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Select what this user has, in all accounts unless --account names one; for "
                + "administrators.",
            valueName: "n"
        ),
        completion: DaemonWords.users
    )
    var uid: UInt32?

    @Flag(help: "Select what all users have; for administrators.")
    var allUsers = false

    func validate() throws {
        guard uid == nil || !allUsers else {
            throw ValidationError("Give one of --uid and --all-users.")
        }
    }

    var areOthers: Bool { uid != nil || allUsers }

    /// The rows to ask for, where `options` may name an account.
    func scope(_ options: GlobalOptions) throws -> EntryScope {
        guard allUsers else { return options.scope(ofUser: uid) }
        guard options.account == nil else {
            throw ValidationError("--account does not go with --all-users.")
        }
        return .all
    }
}

extension GlobalOptions {
    /// The rows of a user; without one, the caller's own.
    func scope(ofUser uid: UInt32?) -> EntryScope {
        uid.map { .user($0, account: account) } ?? .own
    }
}

extension EntryOwner {
    /// As a person reads it: `1000`, `1000/work`, `everybody`.
    var words: String {
        switch self {
        case .user(let uid, "default"): "\(uid)"
        case .user(let uid, let account): "\(uid)/\(account)"
        case .everybody: "everybody"
        }
    }
}

/// Checks while a command waits whether the daemon still answers, and ends the command if not.
///
/// A daemon that hangs takes connections and is silent. The same is true of a daemon that cannot
/// start while systemd keeps its socket.
enum DaemonCheck {
    /// How long a command waits before it asks whether the daemon still answers.
    private static let pause = Duration.seconds(10)
    /// How long that answer may take: only a daemon that hangs, or whose disk does, is later.
    private static let answerTime = Duration.seconds(20)

    /// Goes on until it is cancelled, or closes the client's connections and returns why.
    static func run(on client: LarderClient) async -> LarderError? {
        while (try? await Task.sleep(for: pause)) != nil {
            guard await isSilent(client), !Task.isCancelled else { continue }
            let path = client.socketInUse ?? ""
            let reason = "it takes connections and does not answer"
            await client.shutdown()
            return .unreachable([SocketFailure(path: path, reason: reason)])
        }
        return nil
    }

    /// Whether an answer takes too long; any answer counts, a refusal too.
    private static func isSilent(_ client: LarderClient) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                _ = try? await client.status()
                return false
            }
            group.addTask { (try? await Task.sleep(for: Self.answerTime)) != nil }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
    }
}

/// Options that make an argument an entity's key; without them it is a key if no row has it as its
/// id.
struct KeyOptions: ParsableArguments {
    @Flag(help: "Take the argument as the key of an entity, Type:id.")
    var key = false

    @Option(
        help: ArgumentHelp(
            "Take the argument as the key of an entity of this origin; needed if several origins "
                + "have rules.",
            valueName: "name"
        ),
        completion: DaemonWords.origins
    )
    var origin: String?

    var isForced: Bool { key || origin != nil }

    /// Reads an argument as an id, or where nothing is under the id, as a key.
    func found<Value>(
        _ text: String,
        of client: LarderClient,
        _ read: (_ id: String) async throws(LarderError) -> Value
    ) async throws -> Value {
        guard !isForced else { return try await read(client.entityID(text, origin: origin)) }
        let miss: LarderError
        do throws(LarderError) {
            return try await read(text)
        } catch {
            guard case .miss = error, case .id = EntryArgument(text) else { throw error }
            miss = error
        }
        if let url = EntryArgument(text).meantURL {
            throw CommandFailure(
                .notFound,
                "nothing is cached under the id '\(text)', did you mean \(url)?"
            )
        }
        guard (try? EntityKey(text)) != nil else { throw miss }
        let origins = try await client.entityOrigins()
        guard let origin = origins.first else { throw miss }
        guard origins.count == 1 else {
            throw CommandFailure(
                .notFound,
                "nothing is cached under the id '\(text)', and whose key it is has to be said",
                hint: "Name the origin: --origin NAME"
            )
        }
        do throws(LarderError) {
            return try await read(LarderClient.entityID(text, of: origin))
        } catch .miss {
            throw miss
        }
    }
}

extension LarderClient {
    /// Names of the origins that have rules for entities.
    fileprivate func entityOrigins() async throws(LarderError) -> [String] {
        try await origins().filter { $0.settings.normalize != nil }.map(\.name)
    }

    /// The id of an entity by its key; without an origin, of the only one that has rules.
    func entityID(_ key: String, origin: String?) async throws -> String {
        LarderClient.entityID(key, of: try await entityOrigin(origin))
    }

    /// The origin that is named, or the only one that has rules.
    func entityOrigin(_ origin: String?) async throws -> String {
        if let origin { return origin }
        let names = try await entityOrigins()
        guard let only = names.first, names.count == 1 else {
            throw CommandFailure(
                .usage,
                names.isEmpty
                    ? "no origin has rules for entities"
                    : "more than one origin has entities: \(names.joined(separator: ", "))",
                hint: "Name it: --origin NAME    See which there are: cachectl origin list"
            )
        }
        return only
    }
}

/// Reads `7d`, `10s`, `300ms`.
func durationArgument(_ text: String) throws -> Duration {
    do throws(ModelError) {
        return try Duration(unit: text)
    } catch {
        throw ValidationError(error.message)
    }
}

/// Reads `500MiB`, `1GiB`.
func sizeArgument(_ text: String) throws -> Int64 {
    do throws(ModelError) {
        return try ByteSize(unit: text).bytes
    } catch {
        throw ValidationError(error.message)
    }
}

/// Reads a value that the API knows.
func wireArgument<Value: WireEnum>(_ text: String) throws -> Value {
    let value = Value(rawValue: text)
    if Value.known.contains(value) { return value }
    let known = Value.known.map(\.rawValue)
    let meant = nearestName(to: text, among: known).map { ", did you mean '\($0)'?" } ?? ""
    throw ValidationError("'\(text)' is none of \(known.joined(separator: ", "))\(meant)")
}

/// An entry as a user names it: a URL if the text has `://`, else an id.
enum EntryArgument: Equatable {
    case url(String)
    case id(String)

    init(_ text: String) { self = text.contains("://") ? .url(text) : .id(text) }

    /// The URL that was meant, where the id looks like one without its scheme: `localhost:8080/x`,
    /// `example.com/x`.
    var meantURL: String? {
        guard case .id(let text) = self, !text.contains(" ") else { return nil }
        let authority = text.prefix { $0 != "/" && $0 != "?" }
        let parts = authority.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 2, let host = parts.first, !host.isEmpty else { return nil }
        let hasPort = parts.count == 2 && UInt16(parts[1]) != nil
        guard parts.count == 1 || hasPort else { return nil }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        let isName = labels.allSatisfy { label in
            !label.isEmpty && label.utf8.allSatisfy { $0 == 0x2D || $0.isASCIIAlphanumeric }
        }
        let isNumber = labels.count == 4 && labels.allSatisfy { UInt8($0) != nil }
        let isLocal = host == "localhost" || isNumber
        // Without a path it may as well be a key, `User:42`, or a name, `notes.txt`.
        guard isName, isLocal || text.contains("/"), isLocal || labels.count > 1 || hasPort else {
            return nil
        }
        let scheme = isLocal || hasPort ? "http" : "https"
        return (try? WebURL("\(scheme)://\(text)")).map(\.text)
    }

    /// The id in its one spelling; a text that cannot be an id stays as it is.
    var rowID: String {
        switch self {
        case .id(let text), .url(let text): (try? EntryID(given: text))?.description ?? text
        }
    }
}
