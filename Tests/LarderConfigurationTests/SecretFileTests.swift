import LarderAPI
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@testable import LarderConfiguration

/// Values that may be secrets, in files of their own.
@Suite("Files of secrets")
struct SecretFileTests {
    private let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory()
    }

    private func load(_ text: String) throws -> Configuration {
        try folder.write("larder.yaml", text)
        return try Configuration.load(
            file: folder.path("larder.yaml"),
            environment: ["XDG_STATE_HOME": folder.path("state")],
            uid: 7,
            home: "/home/seven"
        )
    }

    @Test("A header's value and a proxy can be in files, and are printed as neither")
    func secretFiles() throws {
        try folder.write("token", "Bearer s3cret\n")
        try folder.write("proxy", "http://ada:s3cret@proxy.example:3128\n")
        let read = try load(
            """
            origins:
              a:
                base_url: https://a.example
                proxy: {file: \(folder.path("proxy"))}
                headers: {Authorization: {file: \(folder.path("token"))}, X-Plain: b}
            """
        )
        #expect(read.origins[0].headers["Authorization"] == "Bearer s3cret")
        #expect(read.origins[0].headers["X-Plain"] == "b")
        #expect(read.origins[0].proxy?.credentials?.password == "s3cret")
        #expect(!read.printed().contains("s3cret"))
        let files = ["headers.Authorization": "token", "proxy": "proxy"]
        let expected = files.map { ("origins.a.\($0.key)", folder.path($0.value)) }
        #expect(read.valueFiles == Dictionary(uniqueKeysWithValues: expected))
    }

    @Test("A file of a secret that cannot be used is named, and what is in it is not")
    func badSecretFiles() throws {
        try folder.write("two", "s3cret\nX-Other: s3cret\n")
        let missing = folder.path("missing")
        let cases = [
            ("{file: \(missing)}", "there is no file \(missing)"),
            ("{file: \(folder.path("two"))}", "a header's value cannot contain control characters"),
            ("{file: token}", "'token' is not an absolute path"),
            ("{path: /a}", "there is no key 'origins.a.headers.X-A.path'"),
            ("{}", "origins.a.headers.X-A needs a file"),
            ("[a]", "origins.a.headers.X-A is a single value, not a list"),
        ]
        for (value, complaint) in cases {
            let error = #expect(throws: ConfigurationError.self) {
                _ = try load(
                    "origins: {a: {base_url: https://a.example, headers: {X-A: \(value)}}}\n"
                )
            }
            let found = error?.description ?? ""
            #expect(found.contains(complaint), "\(value): \(found)")
            #expect(!found.contains("s3cret"))
        }
    }

    @Test("A credential of some users is in a file, which is read again (case 23)")
    func credentials() throws {
        let file = folder.path("ada")
        try folder.write("ada", "Bearer s3cret\n")
        func origin(_ credential: String) -> String {
            "origins: {a: {base_url: https://a.example, credential: \(credential)}}\n"
        }
        var read = try load(origin("{file: \(file), users: [root, 4711, nobody-here]}"))
        let credential = try #require(read.origins[0].credential)
        #expect(credential.header == "Authorization")
        #expect(credential.value == "Bearer s3cret")
        #expect(credential.users.map(\.uid) == [0, 4711, nil])
        #expect(read.warnings.count == 1)
        #expect(read.warnings.first?.contains("there is no user 'nobody-here'") == true)
        #expect(!read.printed().contains("s3cret"))
        #expect(read.printed().contains("users: [root, \"4711\", nobody-here]"))
        #expect(read.readCredentialFiles() == false)
        for broken in ["", "two\nlines\n"] {
            try folder.write("ada", broken)
            #expect(read.readCredentialFiles() == false)
        }
        try folder.write("ada", "Bearer n3w\n")
        #expect(read.readCredentialFiles() == true)
        #expect(read.origins[0].credential?.value == "Bearer n3w")
        #expect(try load(origin("null")).origins[0].credential == nil)
        try folder.write("two", "s3cret\ns3cret\n")
        let cases = [
            ("{file: \(file)}", "needs a file and users"),
            ("{users: [root]}", "needs a file and users"),
            ("{file: \(file), users: [root], header: Host}", "'Host' is not the name of a header"),
            ("{file: \(folder.path("two")), users: [root]}", "it is not the value of a header"),
            ("{file: \(file), users: [root], header: Idempotency-Key}", "carries the key of each"),
        ]
        for (value, complaint) in cases {
            let error = #expect(throws: ConfigurationError.self) { _ = try load(origin(value)) }
            let found = error?.description ?? ""
            #expect(found.contains(complaint), "\(value): \(found)")
            #expect(!found.contains("s3cret"))
        }
    }

    @Test("The API takes no file of a value, which the daemon would read for the client")
    func secretFileOverAPI() throws {
        let json = #"{"base_url":"https://a.example","headers":{"X-A":{"file":"/etc/shadow"}}}"#
        #expect(throws: APIDecodingError.self) { try OriginDefinition(decoding: Array(json.utf8)) }
    }
}
