import Foundation
import LarderModel
import LarderServer
import LarderTestSupport
import Testing

/// Requests to a server and its answers, written down for a golden file.
///
/// Used by one task at a time.
final class Transcript {
    let server: ServerFixture
    let client: RawClient
    private var text = ""

    init(_ server: ServerFixture) async throws {
        self.server = server
        client = try await server.connect()
    }

    /// Serves with one origin, runs `body`, and compares what was said with the golden file.
    ///
    /// All connections share an event loop, so that one request ends before the next begins. With
    /// a `timeout` of a millisecond a failed connection is not tried again.
    static func check(
        _ name: String,
        maxEntryBytes: Int64 = 64 << 20,
        rules: NormalizeRules.TypeMembers? = nil,
        administrators: Administrators = .members(of: .init(name: "own", number: getgid())),
        timeout: Duration = .seconds(30),
        _ body: (Transcript) async throws -> Void
    ) async throws {
        func adjust(_ origin: inout OriginSettings) { origin.fetch.timeout = timeout }
        try await ServerFixture.run(
            maxEntryBytes: maxEntryBytes,
            rules: rules,
            administrators: administrators,
            isOneLoop: true,
            adjusting: adjust
        ) { server in
            let transcript = try await Transcript(server)
            try await body(transcript)
            try checkGolden(transcript.text, name)
        }
    }

    /// Sends one request and writes down both sides.
    ///
    /// `shown` takes the place of a long body.
    @discardableResult
    func ask(
        _ title: String,
        _ method: String,
        _ target: String,
        _ headers: [String] = [],
        body: String? = nil,
        shown: String? = nil
    ) async throws -> RawResponse {
        // A refusal may end the connection.
        let client = (body?.utf8.count ?? 0) > 65_536 ? try await server.connect() : client
        let response =
            if let body {
                try await client.ask(method, target, headers, body: Array(body.utf8))
            } else {
                try await client.ask(method, target, headers)
            }
        write(title, method, target, headers, shown ?? body, response: response)
        return response
    }

    func write(
        _ title: String,
        _ method: String,
        _ target: String,
        _ headers: [String] = [],
        _ body: String? = nil,
        response: RawResponse
    ) {
        text += (text.isEmpty ? "" : "\n") + "### \(title)\n\(method) \(target)\n"
        text += headers.map { "\($0)\n" }.joined()
        if let body { text += "\n\(body)\n" }
        text += "\nHTTP/1.1 \(response.status)\n"
        for field in response.headers.fields where !Varying.headers.contains(field.name) {
            text += "\(field.name): \(Varying.replaced(inField: field.value))\n"
        }
        text += "\n"
        guard !response.body.isEmpty else { return }
        let shown = String(validating: response.body, as: UTF8.self)
        text += Varying.replaced(in: shown ?? "<\(response.body.count) bytes>") + "\n"
    }
}

/// Values that differ from run to run, from user to user and from machine to machine, and what the
/// files have in their place.
private enum Varying {
    /// The length follows from the body, whose length differs where something in it does.
    static let headers: Set = ["Content-Length"]

    /// Members of JSON with the value that takes the place of theirs.
    private static let members: KeyValuePairs = [
        "request_id": #""varies""#,
        "user": "7", "groups": "[7]",
        "database_bytes": "4096", "wal_bytes": "0", "free_bytes": "0",
        "received": "0", "sent": "0",
        "p50_ms": "0.0", "p90_ms": "0.0", "p99_ms": "0.0", "max_ms": "0.0",
    ]

    private static let others: KeyValuePairs = [
        // How many commands share a commit depends on when they come.
        #""groups":\{"count":\d+,"p50":\d+,"p90":\d+,"p99":\d+,"max":\d+\}"#:
            #""groups":{"count":4,"p50":1,"p90":1,"p99":1,"max":1}"#,
        #"uid \d+ is no"#: "uid 7 is no", #""user:\d+""#: #""user:7""#,
        #""\d+/default""#: #""7/default""#, #"/\d+:default/"#: "/7:default/",
        #""name":"(cache|state).db","bytes":\d+"#: #""name":"$1.db","bytes":4096"#,
        // The text of a user's number counts in the size of the user's rows.
        #""(total_)?accounted_bytes":[1-9]\d*"#: #""$1accounted_bytes":300"#,
    ]

    /// The files do not repeat the version, which only `Version` states.
    static func replaced(inField value: String) -> String {
        value == "larderd/\(Version.text)" ? "larderd/VERSION" : value
    }

    static func replaced(in text: String) -> String {
        var text = text
        for (name, value) in members {
            text.replaceAll(#""\#(name)":("[^"]*"|\[[^\]]*\]|-?[0-9.]+)"#, "\"\(name)\":\(value)")
        }
        for (pattern, value) in others { text.replaceAll(pattern, value) }
        return text
    }
}

extension String {
    fileprivate mutating func replaceAll(_ pattern: String, _ template: String) {
        self = replacingOccurrences(of: pattern, with: template, options: .regularExpression)
    }
}

/// Whether the files are written and not compared: `LARDER_WRITE_GOLDEN=1`.
let writesGolden = ProcessInfo.processInfo.environment["LARDER_WRITE_GOLDEN"] == "1"

/// Compares a text with a golden file, or writes the file.
func checkGolden(
    _ text: String,
    _ name: String,
    _ location: SourceLocation = #_sourceLocation
) throws {
    let path = GoldenFile.path(name)
    guard !writesGolden else {
        return try text.write(toFile: path, atomically: true, encoding: .utf8)
    }
    let golden = try String(contentsOfFile: path, encoding: .utf8)
    guard golden != text else { return }
    let (old, new) = (golden.components(separatedBy: "\n"), text.components(separatedBy: "\n"))
    let line = zip(old, new).prefix { $0 == $1 }.count
    Issue.record(
        """
        \(name):\(line + 1) differs; LARDER_WRITE_GOLDEN=1 writes the files
        - \(line < old.count ? old[line] : "(end)")
        + \(line < new.count ? new[line] : "(end)")
        """,
        sourceLocation: location
    )
}
