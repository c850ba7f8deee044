import ArgumentParser
import LarderClient
import LarderConfiguration
import LarderJSON
import LarderModel

struct OriginAdd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add a server that the daemon may ask.",
        discussion: """
            The origin is there immediately and stays after a restart of the daemon; a file of the \
            state directory keeps it. A URL on loopback or a private address sets --allow-private. \
            For administrators of the daemon.

            With --graphql a GraphQL program works offline: POSTs to the path that are queries are \
            answered as GETs are, an answer with errors replaces none, and objects with __typename \
            and id are kept once.

            Example: cachectl origin add api https://api.example.com/v1 --by-type
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Argument(help: "Name of the origin: 1 to 64 letters, digits, '.', '_', '-'.")
    var name: String

    @Argument(help: "Base URL of the origin: scheme, host, and where needed port and path.")
    var url: String

    @Flag(help: "Allow loopback and private addresses.")
    var allowPrivate = false

    @Option(
        name: .customLong("redirect-host"),
        help: ArgumentHelp(
            "Further host to which the origin's redirects may lead; may be repeated.",
            valueName: "host"
        )
    )
    var redirectHosts: [String] = []

    @Flag(help: "Keep one copy of each answer, for all users.")
    var shared = false

    @Option(
        help: ArgumentHelp(
            "Proxy for connections to the origin; @FILE or - (stdin) has the URL, as it may hold a "
                + "password.",
            valueName: "url"
        )
    )
    var proxy: String?

    @Option(
        help: ArgumentHelp(
            "Root certificates to trust instead of the system's, in PEM.",
            valueName: "file"
        ),
        completion: .file()
    )
    var caFile: String?

    @Option(
        help: ArgumentHelp("Certificate that identifies the daemon, in PEM.", valueName: "file"),
        completion: .file()
    )
    var clientCert: String?

    @Option(
        help: ArgumentHelp("Private key of --client-cert, in PEM.", valueName: "file"),
        completion: .file()
    )
    var clientKey: String?

    @Option(
        name: .customLong("header"),
        help: ArgumentHelp(
            "Header to send with each request, 'Name: value'; may be repeated. @FILE or - (stdin) "
                + "has one a line, so that no secret is among the arguments.",
            valueName: "field"
        )
    )
    var headers: [String] = []

    @Flag(help: "Keep one copy of each object that names its type and its id.")
    var byType = false

    @Option(
        help: ArgumentHelp(
            "File with rules for objects that are kept once, as under normalize in the "
                + "configuration, in YAML or JSON.",
            valueName: "file"
        ),
        completion: .file()
    )
    var normalize: String?

    @Option(
        name: .customLong("post-read"),
        help: ArgumentHelp(
            "Path after the base URL where a POST changes nothing, such as '/search/*'; may be "
                + "repeated.",
            valueName: "path"
        )
    )
    var postReads: [String] = []

    @Option(
        help: ArgumentHelp("Path of the GraphQL endpoint, such as /graphql.", valueName: "path")
    )
    var graphql: String?

    @Flag(help: "Replace the origin of this name that was added before.")
    var replace = false

    func validate() throws {
        for header in headers where !header.contains(":") && !SecretLines.isNamed(header) {
            throw ValidationError("'\(header)' is not a header such as 'X-Client: larder'.")
        }
        try SecretLines.check(headers + [proxy].compactMap(\.self))
        if byType, normalize != nil {
            throw ValidationError("--by-type and --normalize exclude each other.")
        }
    }

    func run() async throws {
        var definition = definition
        definition.headers = NamedValues(try await fields())
        if let proxy { definition.proxy = try await SecretLines.line(proxy, of: "a proxy") }
        definition.normalize = try rules()
        let complete = definition
        try await options.show {
            try await $0.addOrigin(name, complete, replacing: replace)
        } lines: { origin, console in
            console.remark("added \(origin.name) (\(origin.baseURL))")
            return []
        }
    }

    private var definition: OriginDefinition {
        var definition = OriginDefinition(baseURL: url)
        definition.allowPrivate = allowPrivate || isPrivate
        definition.redirectHosts = redirectHosts
        definition.shared = shared
        var files = OriginTLS()
        files.caFile = caFile.map(absolutePath)
        files.clientCert = clientCert.map(absolutePath)
        files.clientKey = clientKey.map(absolutePath)
        definition.tls = files
        if !postReads.isEmpty || graphql != nil {
            var fetch = OriginFetch()
            fetch.postReads = postReads + (graphql.map { [$0] } ?? [])
            definition.fetch = fetch
        }
        guard graphql != nil else { return definition }
        let errors = [OriginRefusalRule(pointer: "/errors")]
        definition.fetch?.refusedIf = errors
        var modifiers = OriginModifiers()
        modifiers.refusedIf = errors
        definition.modifiers = modifiers
        return definition
    }

    private func fields() async throws -> [NamedValues<String>.Member] {
        var fields: [NamedValues<String>.Member] = []
        for argument in headers {
            for (index, line) in try await SecretLines.read(argument).enumerated() {
                guard line.contains(":") else {
                    throw CommandFailure(
                        .failed,
                        "header \(index + 1) of \(SecretLines.name(argument)) is not a header such "
                            + "as 'X-Client: larder'"
                    )
                }
                let name = line.prefix(while: { $0 != ":" })
                let value = line.dropFirst(name.count + 1).drop(while: { $0 == " " })
                fields.append(.init(String(name), String(value)))
            }
        }
        return fields
    }

    /// The rules of the file; with `--by-type` or `--graphql` objects say their type and id
    /// themselves, in the members that the file names or in the standard ones.
    private func rules() throws -> OriginNormalize? {
        guard byType || graphql != nil || normalize != nil else { return nil }
        var rules = OriginNormalize()
        if let normalize {
            do throws(ConfigurationError) {
                rules = OriginNormalize(try NormalizeRules.load(file: normalize))
            } catch {
                let lines = error.description.split(separator: "\n", maxSplits: 1)
                let others = lines.dropFirst().first.map { String($0) }
                throw CommandFailure(.failed, String(lines.first ?? ""), hint: others)
            }
        }
        if byType || graphql != nil, rules.byType == nil { rules.byType = .standard }
        return rules
    }

    /// Whether the URL itself says that the server lives on loopback or a private address.
    private var isPrivate: Bool {
        guard let url = try? WebURL(url) else { return false }
        let isLocal = url.host == "localhost" || url.host.hasSuffix(".localhost")
        return isLocal || HostKind(url.host).isRefusedAddress
    }
}
