import ArgumentParser
import Glibc
import LarderClient
import LarderModel

struct Get: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print the answer of a URL, or what is cached under an id.",
        discussion: """
            On a terminal the cached answer comes immediately, and the network's replaces it. A \
            pipe gets one body, the network's if possible; stderr says where it came from and how \
            old it is. A body that is too large for the cache is passed through. An argument with \
            :// is a URL. Any other is an id if there is such an entry, else an entity's key.

            Policies: cache-then-network (what is cached, then the network's), cache-first (what \
            is cached while it is fresh, else as network-first), network-first (the network's, \
            and what is cached when that fails or is slow), stale-while-revalidate (what is \
            cached; the daemon then asks the network), cache-only, network-only.

            Exit codes: 0 a body was printed, 1 the origin refuses, 3 the answer is gone or, with \
            cache-only, not cached, 75 the origin cannot be reached or is late, or with --fresh \
            the cached answer is stale, 77 the origin is unknown or its address is refused.

            With --follow the command runs until it is interrupted, and prints each further body, \
            followed by a line feed; with --json it prints every frame. With --refresh the daemon \
            asks the origin again at that interval meanwhile.

            Example: cachectl get https://api.example.com/articles/42 | jq .title
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Argument(help: "URL, id or entity's key to print.", completion: DaemonWords.ids)
    var what: String

    @OptionGroup(title: "Entities")
    var entity: KeyOptions

    @Option(
        help: ArgumentHelp(
            "Policy, one of those above.",
            valueName: "policy"
        ),
        completion: DaemonWords.values(LarderAPI.FetchPolicy.self),
        transform: wireArgument
    )
    var policy: LarderAPI.FetchPolicy?

    @Flag(help: "Print a cached answer even if some of its entities were evicted.")
    var partial = false

    @Flag(help: "Treat a stale answer as missing.")
    var fresh = false

    @Option(
        help: ArgumentHelp("Wait at most this long in all, such as 10s.", valueName: "duration"),
        transform: durationArgument
    )
    var timeout: Duration?

    @Flag(help: "Keep running, and print each further body.")
    var follow = false

    @Option(
        help: ArgumentHelp(
            "Interval at which the daemon asks the origin again meanwhile, such as 30s.",
            valueName: "duration"
        ),
        transform: durationArgument
    )
    var refresh: Duration?

    @Option(
        name: [.short, .customLong("output")],
        help: ArgumentHelp(
            "Write the body into this file: all of it, or nothing.",
            valueName: "file"
        ),
        completion: .file()
    )
    var output: String?

    @Flag(name: .shortAndLong, help: "Print no message except why the command failed.")
    var quiet = false

    @Option(
        help: ArgumentHelp("Header for the server; may be repeated.", valueName: "name: value")
    )
    var header: [String] = []

    func validate() throws {
        _ = try headers()
        guard follow || refresh == nil else { throw ValidationError("--refresh needs --follow.") }
        guard !follow || output == nil && !fresh else {
            throw ValidationError("--follow prints more than one body: leave out -o and --fresh.")
        }
        switch EntryArgument(what) {
        case .url:
            guard !entity.isForced else {
                throw ValidationError("--key and --origin are for keys; '\(what)' is a URL.")
            }
        case .id(let id):
            guard policy == nil, timeout == nil, header.isEmpty, !partial, !follow else {
                let meant = EntryArgument(what).meantURL.map { " Did you mean \($0)?" } ?? ""
                throw ValidationError(
                    "--policy, --timeout, --partial, --follow and --header are for URLs; "
                        + "'\(id)' is an id." + meant
                )
            }
        }
    }

    func run() async throws {
        let file = try output.map { path throws(CommandFailure) in try OutputFile(path) }
        let console =
            file.map { Console(descriptor: $0.descriptor, name: $0.path, isQuiet: quiet) }
            ?? Console(isQuiet: quiet)
        try await run(on: console)
        try file?.finish()
    }

    private func run(on console: Console) async throws {
        try await options.withClient { client in
            switch EntryArgument(what) {
            case .id(let text) where options.json:
                let snapshot = try await entity.found(text, of: client) { id throws(LarderError) in
                    try await Self.cached(id, in: client)
                }
                try console.write(FetchFrame.snapshot(snapshot).encodedLine())
                let end = EndFrame(outcome: .cache, revision: Revision(snapshot.rev))
                try console.write(FetchFrame.end(end).encodedLine())
            case .id(let text): try await copy(text, of: client, to: console)
            case .url(let url): try await fetch(url, of: client, to: console)
            }
        }
    }

    private func copy(
        _ text: String,
        of client: LarderClient,
        to console: Console
    ) async throws {
        let entry = try await entity.found(text, of: client) { id throws(LarderError) in
            try await client.entryStream(id)
        }
        let age = entry.metadata.age.map { ", \(HumanFormat.span($0)) old" } ?? ""
        guard console.isTerminalOut else {
            console.note("from the cache\(age)")
            try await console.copy(entry.chunks)
            return
        }
        var body: [UInt8] = []
        for try await chunk in entry.chunks { body += chunk }
        var view = SnapshotView(console: console)
        try view.show(
            body,
            mediaType: entry.metadata.mediaType,
            message: "from the cache\(age)"
        )
    }
}

extension Get {
    private func fetch(
        _ url: String,
        of client: LarderClient,
        to console: Console
    ) async throws {
        let isWatched = console.isTerminalOut && !options.json
        let policy = policy ?? (isWatched ? .cacheThenNetwork : .networkFirst)
        var fetchOptions = FetchOptions(policy: policy)
        fetchOptions.timeout = timeout
        fetchOptions.partial = partial
        fetchOptions.headers = try headers()
        guard !follow else { return try await follow(url, of: client, fetchOptions, to: console) }
        let plan = GetPlan(
            name: url,
            waitsForNetwork: isWatched || policy == .cacheThenNetwork,
            showsHeld: isWatched,
            mustBeFresh: fresh
        )
        if options.json {
            let lines = client.frameLines(url, options: fetchOptions)
            try await FetchPrinter(console: console, plan: plan).copy(lines, of: client)
        } else {
            let frames = client.fetch(url, options: fetchOptions)
            var printer = FetchPrinter(console: console, plan: plan)
            do {
                try await printer.print(frames)
            } catch let failure as CommandFailure {
                guard let path = failure.rawPath, !console.isTerminalOut else { throw failure }
                try await copy(passedThrough: path, of: url, client, fetchOptions, to: console)
            }
        }
    }

    /// Prints each view, until the command is interrupted.
    private func follow(
        _ url: String,
        of client: LarderClient,
        _ fetchOptions: FetchOptions,
        to console: Console
    ) async throws {
        var fetchOptions = fetchOptions
        fetchOptions.refresh = refresh
        guard !options.json else {
            fetchOptions.follow = true
            for try await line in client.frameLines(url, options: fetchOptions) {
                try console.write(line.bytes + [UInt8(ascii: "\n")])
            }
            return
        }
        for try await update in client.follow(url, options: fetchOptions) {
            switch update {
            case .value(let snapshot) where console.isTerminalOut:
                let body = try await snapshot.exactBody()
                let text = SnapshotView.text(of: body, mediaType: snapshot.mediaType)
                try console.write(Array(text.utf8))
            case .value(let snapshot):
                try await console.copy(try await snapshot.bodyChunks())
                try console.write([UInt8(ascii: "\n")])
            case .deleted: console.note("\(url) is gone")
            case .unchanged: break
            case .failed(let problem): console.note(problem.words)
            case .origin(let origin):
                console.note("\(origin.origin) is \(origin.state.rawValue)")
            case .disconnected(let error): console.note(error.summary)
            }
        }
    }

    /// Copies what the daemon cannot keep, as it comes.
    private func copy(
        passedThrough path: String,
        of url: String,
        _ client: LarderClient,
        _ fetchOptions: FetchOptions,
        to console: Console
    ) async throws {
        let answer = try await client.stream(passedThrough: path, options: fetchOptions)
        console.note("from the network, too large to be kept")
        do {
            try await console.copy(answer.chunks)
        } catch LarderError.cutOff {
            // The daemon hands on what comes: where it is still there, it was not its connection that
            // broke.
            guard (try? await client.status()) != nil else { throw LarderError.cutOff }
            let origin = (try? WebURL(url))?.originText ?? url
            throw CommandFailure(.failed, "\(origin) broke off its answer in the middle of \(url)")
        }
    }

    private func headers() throws -> NamedValues<String> {
        var headers = NamedValues<String>()
        for line in header {
            guard let colon = line.firstIndex(of: ":"), colon > line.startIndex else {
                throw ValidationError("'\(line)' is not a header: give 'Name: value'.")
            }
            let value = line[line.index(after: colon)...].drop(while: { $0 == " " })
            let name = String(line[..<colon])
            guard headers[name] == nil else {
                throw ValidationError("The header '\(name)' is given twice.")
            }
            headers.members.append(NamedValues.Member(name, String(value)))
        }
        return headers
    }
}

extension Get {
    /// The frame of what is cached under an id.
    private static func cached(
        _ id: String,
        in client: LarderClient
    ) async throws(LarderError) -> SnapshotFrame {
        let batch = try await client.batch([id])
        if let snapshot = batch.found.first { return snapshot.frame }
        throw .problem(
            batch.deleted.isEmpty
                ? Problem(.miss, "nothing is cached under '\(id)'")
                : Problem(.deleted, "the origin says that it is gone")
        )
    }
}
