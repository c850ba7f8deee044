import LarderModel
import Testing

@testable import LarderConfiguration

/// `config/larder.yaml` is the manual; these hold it equal to the code.
@Suite("The manual")
struct ManualTests {
    private let path = treeRoot() + "/config/larder.yaml"

    private func manual() throws -> String {
        try #require(try configurationText(of: path))
    }

    /// The manual with its example in force.
    private func manualWithExample() throws -> String {
        try manual().split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.hasPrefix("#  ") ? $0.dropFirst() : $0 }
            .joined(separator: "\n")
    }

    @Test("Its values are root's defaults in code")
    func defaults() throws {
        let places = StandardPlaces(environment: [:], uid: 0, home: "/root")
        let elsewhere = StandardPlaces(environment: [:], uid: 4_000_000_001, home: "/home/other")
        let read = try Configuration.load(
            text: manual(),
            file: path,
            environment: [:],
            places: elsewhere
        )
        #expect(read == Configuration(places: places))
    }

    @Test("Its example is an origin with nothing but a base_url")
    func example() throws {
        let read = try configuration(manualWithExample())
        let expected = OriginSettings(
            name: try OriginName("example"),
            baseURL: try WebURL("https://api.example.com")
        )
        #expect(read.origins == [expected])
    }

    @Test("It has every key of the reader, and the reader every key of it")
    func keys() throws {
        let document = try ConfigurationDocument(text: manualWithExample(), file: path)
        let origin = OriginKey.allCases.filter { ![.fetch, .modifiers, .tls].contains($0) }.map {
            "origins.example.\($0.rawValue)"
        }
        let tls = TLSKey.allCases.map { "origins.example.tls.\($0.rawValue)" }
        let fetch = FetchKey.allCases.map { "origins.example.fetch.\($0.rawValue)" }
        let modifiers = ModifierRuleKey.allCases.filter { $0 != .idempotency }.map {
            "origins.example.modifiers.\($0.rawValue)"
        }
        let idempotency = IdempotencyRuleKey.allCases.map {
            "origins.example.modifiers.idempotency.\($0.rawValue)"
        }
        let known =
            ConfigurationKey.allCases.map(\.rawValue) + origin + tls + fetch + modifiers
            + idempotency
        var reader = ConfigurationReader(Configuration(places: testPlaces))
        #expect(try reader.leaves(of: document).sorted() == known.sorted())
    }

    @Test("Every key has a comment of its own above it")
    func comments() throws {
        let lines = try manualWithExample().split(separator: "\n").map {
            $0.drop(while: { $0 == " " })
        }
        for (before, line) in zip(lines, lines.dropFirst())
        where !line.hasPrefix("#") && line != "example:" {
            #expect(before.hasPrefix("#"), "\(line)")
        }
    }
}

extension ConfigurationReader {
    /// The paths of everything that is no mapping with something in it.
    fileprivate mutating func leaves(of document: ConfigurationDocument) throws -> [String] {
        var open = [(path: "", node: try #require(document.root))]
        var leaves: [String] = []
        while let (path, node) = open.popLast() {
            let items = items(of: node, at: path)
            if items.isEmpty { leaves.append(path) }
            open += items.map { (path.isEmpty ? $0.name : "\(path).\($0.name)", $0.value) }
        }
        return leaves
    }
}
