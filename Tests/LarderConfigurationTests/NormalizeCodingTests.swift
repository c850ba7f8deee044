import LarderAPI
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@testable import LarderConfiguration

/// Rules as they are printed, kept in a file, and told over the API.
@Suite("Writing the rules of an origin's entities")
struct NormalizeCodingTests {
    private func origin(_ rules: NormalizeRules?) throws -> OriginSettings {
        var origin = OriginSettings(
            name: try OriginName("a"),
            baseURL: try WebURL("https://a.example/")
        )
        origin.normalize = rules
        return origin
    }

    /// Compared by their bytes as well: to Swift, texts are equal that are not the same members.
    private func expectSame(_ read: NormalizeRules?, _ rules: NormalizeRules, _ note: String) {
        #expect(read == rules, "\(note)")
        #expect(read.map(OriginNormalize.init)?.encoded() == OriginNormalize(rules).encoded())
    }

    @Test("Random rules are the same after YAML and after JSON", arguments: [1, 2, 3] as [UInt64])
    func roundTrip(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let state = try TemporaryDirectory()
        let folder = OriginFolder(inStateDirectory: state.path) { _ in nil }
        var rulesCount = 0
        for _ in 0..<200 {
            let rules = try random.normalizeRules()
            rulesCount += rules.types.count + rules.paths.count
            let origin = try origin(rules)
            var all = Configuration(places: testPlaces)
            all.knownOrigins = [KnownOrigin(origin, from: .api)]
            let printed = try configuration(all.printed()).origins[0].normalize
            expectSame(printed, rules, "seed \(seed): \(all.printed())")
            let json = OriginDefinition(origin).encoded()
            let told = try folder.read(origin.name, OriginDefinition(decoding: json)).normalize
            expectSame(told, rules, "seed \(seed): \(String(decoding: json, as: UTF8.self))")
        }
        #expect(rulesCount > 200)
    }

    @Test("Printed rules are easy to read")
    func printed() throws {
        let rules = NormalizeRules(
            byType: .standard,
            types: [
                TypeRule(
                    type: "Book",
                    key: EntityKeyRule([.member("title"), .within("author", [.member("1")])]),
                    url: "/books/{id}",
                    version: MemberPath(tokens: ["updated_at"]),
                    lists: [
                        MemberPath(tokens: ["comments"]): .append,
                        MemberPath(tokens: ["pages"]): .pages("page"),
                        MemberPath(tokens: ["prices"]): .by("currency"),
                    ],
                    onDeleted: .cascade
                )
            ],
            paths: [PathRule(url: "/a/*", at: MemberPath(tokens: ["*"]), type: "A")]
        )
        let lines = try origin(rules).yamlLines(coversSecrets: true)
        let first = try #require(lines.firstIndex(of: "normalize:"))
        let last = try #require(lines.firstIndex(of: "modifiers:"))
        #expect(
            lines[first..<last].joined(separator: "\n")
                == """
                normalize:
                  by_type:
                    type: ["__typename", type, "@type"]
                    id: [id, "_id"]
                  types:
                    - type: Book
                      key:
                        - title
                        - author: ["1"]
                      url: "/books/{id}"
                      version: /updated_at
                      lists:
                        /comments: append
                        /pages:
                          append: page
                        /prices:
                          by: currency
                      embed: false
                      on_deleted: cascade
                  paths:
                    - url: "/a/*"
                      at: "/*"
                      type: A
                      key: null
                """
        )
        #expect(try origin(nil).yamlLines(coversSecrets: true).contains("normalize: null"))
    }

    @Test("Rules of an origin that was added are there again at the next start")
    func kept() throws {
        let state = try TemporaryDirectory()
        let folder = OriginFolder(inStateDirectory: state.path) { _ in nil }
        var random = SeededRandom(seed: 5)
        for _ in 0..<20 {
            let origin = try origin(random.normalizeRules())
            try folder.save(origin)
            let read = try Configuration.load(
                file: nil,
                environment: [
                    "XDG_CONFIG_HOME": state.path("none"), "STATE_DIRECTORY": state.path,
                ],
                uid: 7,
                home: "/home/seven"
            )
            #expect(read.origins == [origin] && read.warnings.isEmpty)
        }
    }

    @Test("A command's rules are refused by the configuration's words")
    func refused() throws {
        let state = try TemporaryDirectory()
        let folder = OriginFolder(inStateDirectory: state.path) { _ in nil }
        let cases: [(String, ProblemKind, String)] = [
            (
                #"{"types":[{"type":"A"},{"type":"A"}]}"#, .badRequest,
                "#.types[1].type: 'A' has a rule already"
            ),
            (
                #"{"paths":[{"url":"/a","at":"b","type":"A"}]}"#, .badRequest,
                "'b' cannot be read: a JSON pointer is empty or begins with '/' (did you mean '/b'?)"
            ),
        ]
        let name = try OriginName("a")
        for (rules, kind, detail) in cases {
            let json = #"{"base_url":"https://a.example","normalize":\#(rules)}"#
            let problem = #expect(throws: Problem.self) {
                _ = try folder.read(name, OriginDefinition(decoding: Array(json.utf8)))
            }
            #expect(problem?.kind == kind)
            #expect(problem?.detail == detail.replacing("#", with: "origins.a.normalize"))
        }
    }

    @Test("Rules that no file could hold are refused when they come")
    func tooLarge() throws {
        let state = try TemporaryDirectory()
        let folder = OriginFolder(inStateDirectory: state.path) { _ in nil }
        let odd = String(repeating: "\u{7F}", count: 255)
        let types = (0..<Limits.typeRulesMax).map { TypeRule(type: "\($0)\(odd.dropFirst(3))") }
        let origin = try origin(NormalizeRules(types: types))
        let problem = #expect(throws: Problem.self) {
            try folder.read(origin.name, OriginDefinition(origin))
        }
        let detail = problem?.detail ?? ""
        #expect(detail.hasPrefix("origins.a: as a file it would have "), "\(detail)")
        #expect(detail.hasSuffix(" bytes, at most 1048576 are taken"))
    }

    @Test(
        "A name with characters that YAML treats as its own is kept in a file",
        arguments: ["\u{FEFF}A", "A\u{FEFF}", "\u{85}A", "A\u{2028}", "\u{0}", "\u{10FFFF}", "~"]
    )
    func kept(name: String) throws {
        let state = try TemporaryDirectory()
        let folder = OriginFolder(inStateDirectory: state.path) { _ in nil }
        let origin = try origin(NormalizeRules(types: [TypeRule(type: name)]))
        #expect(try folder.read(origin.name, OriginDefinition(origin)) == origin)
    }
}
