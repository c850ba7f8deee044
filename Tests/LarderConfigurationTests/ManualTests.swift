import LarderAPI
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

    @Test("The manual's values are root's defaults in code")
    func defaults() throws {
        let places = DefaultPaths(environment: [:], uid: 0, home: "/root")
        let elsewhere = DefaultPaths(environment: [:], uid: 4_000_000_001, home: "/home/other")
        let read = try configuration(manual(), of: path, places: elsewhere)
        #expect(read == Configuration(places: places))
    }

    @Test("The manual's example is an origin with nothing but a base_url")
    func example() throws {
        let read = try configuration(manualWithExample())
        let expected = OriginSettings(
            name: try OriginName("example"),
            baseURL: try WebURL("https://api.example.com")
        )
        #expect(read.origins == [expected])
    }

    @Test("The manual has every key of the reader, and the reader every key of the manual")
    func keys() throws {
        let root = try YAMLParser.read(manualWithExample(), of: path)
        func paths<Value: Decodable>(
            _ path: String,
            _ type: Value.Type,
            apartFrom parts: Set<String> = []
        ) -> [String] {
            let names = APIDecoder.memberNames(of: type).filter { !parts.contains($0) }
            return names.map { "origins.example\(path).\($0)" }
        }
        let known =
            ConfigurationKey.allCases.map(\.rawValue)
            + paths("", OriginDefinition.self, apartFrom: ["fetch", "modifiers", "tls"])
            + paths(".tls", OriginTLS.self) + paths(".fetch", OriginFetch.self)
            + paths(".modifiers", OriginModifiers.self, apartFrom: ["idempotency"])
            + paths(".modifiers.idempotency", OriginIdempotency.self)
        var reader = ConfigurationReader(Configuration(places: testPlaces))
        let leaves = reader.leaves(of: root)
        #expect(leaves.sorted() == known.sorted())
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
    fileprivate mutating func leaves(of root: YAMLNode) -> [String] {
        var open = [Item(name: "", path: "", place: place(of: root), value: root)]
        var leaves: [String] = []
        while let part = open.popLast() {
            let items = items(of: part)
            if items.isEmpty { leaves.append(part.path) }
            open += items
        }
        return leaves
    }
}
