import LarderAPI
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@testable import LarderConfiguration

/// `origins.d` beside the configuration file and in the state directory.
@Suite("Folders of origins")
struct OriginFolderTests {
    private let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory()
    }

    private func load() throws -> Configuration {
        try Configuration.load(
            file: folder.path("larder.yaml"),
            environment: [:],
            uid: 7,
            home: "/home/seven"
        )
    }

    private func complaints() throws -> String {
        do {
            _ = try load()
            return ""
        } catch let error as ConfigurationError {
            return error.description.replacing(folder.path + "/", with: "")
        }
    }

    /// Writes the configuration with `text` behind what names the state directory.
    private func configure(_ text: String = "") throws {
        try folder.write(
            "larder.yaml",
            "storage: {state_directory: \(folder.path("state"))}\n" + text
        )
    }

    @Test("An origin's file has the origin's name, and its content is that name's value")
    func added() throws {
        try configure("origins: {a: {base_url: https://a.example}}\n")
        try folder.write("origins.d/b.yaml", "base_url: https://b.example\nallow_private: true\n")
        try folder.write("origins.d/.hidden.yaml", "nonsense")
        try folder.write("origins.d/README", "nonsense")
        try folder.write("state/origins.d/c.yaml", "base_url: https://c.example\n")
        let read = try load()
        var b = OriginSettings(name: try OriginName("b"), baseURL: try WebURL("https://b.example"))
        b.allowPrivate = true
        let (a, c) = (try OriginName("a"), try OriginName("c"))
        #expect(
            read.knownOrigins == [
                KnownOrigin(
                    OriginSettings(name: a, baseURL: try WebURL("https://a.example")),
                    from: .file(folder.path("larder.yaml"))
                ),
                KnownOrigin(b, from: .file(folder.path("origins.d/b.yaml"))),
                KnownOrigin(
                    OriginSettings(name: c, baseURL: try WebURL("https://c.example")),
                    from: .api
                ),
            ]
        )
        #expect(read.warnings.isEmpty)
        #expect(read.printed().contains("  c:\n    base_url: https://c.example/\n"))
    }

    @Test("Without a configuration file the folder at its place counts")
    func nothingConfigured() throws {
        try folder.write("config/larder/origins.d/local.yaml", "base_url: https://b.example")
        let read = try Configuration.load(
            file: nil,
            environment: [
                "XDG_CONFIG_HOME": folder.path("config"), "XDG_STATE_HOME": folder.path("state"),
            ],
            uid: 7,
            home: "/home/seven"
        )
        #expect(read.origins.map(\.name.text) == ["local"])
    }

    @Test("A mistake in an origin's file is named with file, line and column")
    func wrong() throws {
        try configure()
        try folder.write("origins.d/b.yaml", "base_url: https://b.example\nalow_private: true\n")
        try folder.write("origins.d/c d.yaml", "base_url: https://c.example\n")
        try folder.write("origins.d/d.yaml", "")
        try folder.write("origins.d/e.yaml", "- base_url\n")
        try folder.write("origins.d/f.yml", "base_url: https://f.example\n")
        try folder.write("origins.d/g.yaml", "base_url: [\n")
        let expected = """
            origins.d/f.yml:1:1: its name must end in .yaml
            origins.d/b.yaml:2:1: there is no key 'origins.b.alow_private' (did you mean 'allow_private'?)
            origins.d/c d.yaml:1:1: 'c d' is not an origin's name: 1 to 64 letters, digits, '.', '_', '-'
            origins.d/d.yaml:1:1: origins.d needs a base_url
            origins.d/e.yaml:1:1: origins.e is a mapping of keys to values, not a list
            origins.d/g.yaml:2:1: this is not YAML: did not find expected node content
            """
        #expect(try complaints() == expected)
    }

    @Test("A name that two files have is named with both places")
    func sameName() throws {
        try configure("origins: {b: {base_url: https://a.example}}\n")
        try folder.write("origins.d/b.yaml", "base_url: https://b.example\n")
        #expect(
            try complaints()
                == "origins.d/b.yaml:1:1: origins.b is already defined in larder.yaml:2:11"
        )
    }

    @Test("An address that two origins have is named with both places")
    func sameAddress() throws {
        try configure("origins: {a: {base_url: https://a.example}}\n")
        try folder.write("origins.d/b.yaml", "base_url: https://a.example/\n")
        #expect(
            try complaints()
                == "origins.d/b.yaml:1:11: origins.b has the base_url of origins.a in "
                + "larder.yaml:2:25; an address belongs to one origin"
        )
    }

    @Test("A bad file in the state directory is left out with a warning")
    func leftOut() throws {
        try configure("origins: {a: {base_url: https://a.example}}\n")
        try folder.write("state/origins.d/a.yaml", "base_url: https://other.example\n")
        try folder.write("state/origins.d/b.yaml", "base_url: https://a.example\n")
        try folder.write("state/origins.d/c.yaml", "base_url: ftp://c.example\nx: y\n")
        try folder.write("state/origins.d/d.yaml", "base_url: https://d.example\n")
        let read = try load()
        #expect(read.origins.map(\.name.text) == ["a", "d"])
        #expect(read.origins[0].baseURL.text == "https://a.example/")
        let warnings = read.warnings.map {
            $0.replacing(folder.path + "/", with: "").prefix(while: { $0 != "'" })
        }
        #expect(
            warnings == [
                "an origin is left out: state/origins.d/a.yaml:1:1: origins.a is already defined in larder.yaml:2:11",
                "an origin is left out: state/origins.d/b.yaml:1:11: origins.b has the base_url of origins.a in larder.yaml:2:25; an address belongs to one origin",
                "an origin is left out: state/origins.d/c.yaml:1:11: ",
                "an origin is left out: state/origins.d/c.yaml:2:1: there is no key ",
            ]
        )
    }
}

/// What the daemon keeps of origins that are added while it runs.
@Suite("Kept origins")
struct KeptOriginTests {
    private let state: TemporaryDirectory
    private let folder: OriginFolder

    init() throws {
        state = try TemporaryDirectory()
        folder = OriginFolder(inStateDirectory: state.path) { _ in nil }
    }

    private func kept() throws -> Configuration {
        try Configuration.load(
            file: nil,
            environment: ["XDG_CONFIG_HOME": state.path("none"), "STATE_DIRECTORY": state.path],
            uid: 7,
            home: "/home/seven"
        )
    }

    /// Settings in which every key differs from its default, with what must be quoted.
    private func odd() throws -> OriginSettings {
        try state.write("a b.pem", "pem")
        let json = #"""
            {"base_url": "https://odd.example:8443/v1", "allow_private": true,
            "redirect_hosts": ["[::1]:80", "null", "1.2.3.4"], "shared": true,
            "proxy": "http://u%3A:p%40%C3%A9@proxy.example:3128",
            "tls": {"ca_file": "PATH", "client_cert": "PATH", "client_key": "PATH"},
            "headers": {"X-Quote": "a \"b\" \\ c: #d é", "null": "~", "X-Number": "017"},
            "fetch": {"policy": "network-first", "network_wait": "1s", "timeout": "2m",
            "connect_timeout": "3s", "ttl": "4d", "store_no_store": true, "min_refresh": "7s",
            "compression": false, "post_reads": ["/g"], "vary": ["x-t"],
            "refused_if": [{"pointer": "/e"}, {"pointer": "/ok", "equals": false},
            {"pointer": "/code", "equals": 3}, {"pointer": "/data", "equals": null}]},
            "modifiers": {"respond_async": true, "idempotency": {"header": "1|#", "honoured": true},
            "answer": "representation", "after_unknown": "resend", "accepted_limit": "5d",
            "stalled_after": 6}}
            """#
            .replacing("PATH", with: state.path("a b.pem"))
        return try folder.read(OriginName("odd"), OriginDefinition(decoding: Array(json.utf8)))
    }

    @Test("A saved origin is read again as it was, and a removed one is not")
    func saved() throws {
        let origin = try odd()
        try folder.save(origin)
        #expect(try kept().knownOrigins == [KnownOrigin(origin, from: .api)])
        #expect(try kept().warnings.isEmpty)
        let again = try odd()
        try folder.save(again)
        #expect(try kept().origins.count == 1)
        try folder.remove(origin.name)
        try folder.remove(origin.name)
        #expect(try kept().origins.isEmpty)
    }

    @Test("A definition reads back as the origin, and covers its secrets if asked to")
    func told() throws {
        let origin = try odd()
        #expect(origin.fetch.refusedIf.map(\.equals) == [nil, "false", "3", "null"])
        #expect(try folder.read(origin.name, OriginDefinition(origin)) == origin)
        let told = OriginDefinition(origin, coversSecrets: true)
        let text = String(decoding: told.encoded(), as: UTF8.self)
        for secret in ["p%40", "p@", "017", "c: #d"] { #expect(!text.contains(secret)) }
        #expect(told.headers?.members.map(\.value) == ["***", "***", "***"])
        #expect(told.proxy == "http://***@proxy.example:3128")
        #expect(told.tls?.clientKey == state.path("a b.pem"))
    }

    @Test("A folder that cannot be written is a problem, and leaves what was there")
    func unwritable() throws {
        let origin = try odd()
        try folder.save(origin)
        try state.write("blocked", "no folder")
        let other = OriginFolder(inStateDirectory: state.path("blocked")) { _ in nil }
        let problem = #expect(throws: Problem.self) { try other.save(origin) }
        #expect(problem?.kind == .storage)
        #expect(try kept().origins == [origin])
    }

    @Test("An invalid value is refused by the words of the configuration")
    func refused() throws {
        let name = try OriginName("a")
        let cases: [(String, ProblemKind, String)] = [
            (
                #"{"base_url": "https://a.example", "redirect_hosts": ["b.example/x"]}"#,
                .badRequest,
                "'b.example/x' is not a host with an optional port, such as cdn.example.com:8443"
            ),
            (
                #"{"base_url": "https://a.example", "proxy": "socks://secret@p"}"#, .badRequest,
                "this is not a proxy such as http://proxy.example.com:3128: it begins with http://, also for https origins"
            ),
            (
                #"{"base_url": "https://a.example", "tls": {"client_key": "/no/such"}}"#,
                .badRequest,
                "there is no file /no/such; origins.a.tls.client_key needs client_cert too"
            ),
        ]
        for (json, kind, detail) in cases {
            let problem = #expect(throws: Problem.self) {
                try folder.read(name, OriginDefinition(decoding: Array(json.utf8)))
            }
            #expect(problem?.kind == kind)
            #expect(problem?.detail == detail)
        }
    }

    @Test("A file of tls that holds something else is told with its place")
    func badFile() throws {
        try state.write("ca.pem", "noise")
        let text =
            "origins: {a: {base_url: https://a.example, tls: {ca_file: \(state.path("ca.pem"))}}}"
        let error = #expect(throws: ConfigurationError.self) {
            try configuration(
                text,
                checkTLS: { _ in TLSFault(.caFile, "holds no certificates in PEM") }
            )
        }
        #expect(
            error?.description
                == "larder.yaml:1:59: origins.a.tls.ca_file: the file holds no certificates in PEM"
        )
    }
}
