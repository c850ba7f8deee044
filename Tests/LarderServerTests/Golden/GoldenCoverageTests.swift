import LarderJSON
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@testable import LarderServer

extension GoldenBytesTests {
    /// The kinds of problems that no request of a single client brings about.
    private static let unprovoked: [ProblemKind] = [
        .cacheFull, .diskFull, .pinsFull, .inUse, .queueFull, .notApplied, .shuttingDown,
        .storage, .internal,
    ]

    @Test("Problems that no request brings about")
    func problems() throws {
        let sections = Self.unprovoked.map { kind in
            var problem = Problem(kind, "What failed.")
            problem.requestID = "varies"
            let json = String(decoding: problem.encoded(), as: UTF8.self)
            return "### \(kind.rawValue)\n\(json)\n"
        }
        try checkGolden(sections.joined(separator: "\n"), "problems.txt")
    }

    @Test("Frames")
    func frames() throws {
        try checkGolden(try GoldenFrames.text(), "frames.txt")
    }

    static func sections() throws -> [GoldenFile.Section] {
        let names = [
            "daemon.http", "entities.http", "entries.http", "fetch.http", "frames.txt",
            "modifiers.http", "origins.http", "pins.http", "prefetch.http", "problems.txt",
            "raw.http",
            "refusals.http", "refusals-user.http", "watch.http",
        ]
        return try names.flatMap { try GoldenFile(named: $0).sections }
    }

    @Test("Every operation of the API is in a golden file", .disabled(if: writesGolden))
    func operations() throws {
        let paths = try #require(JSONValue(parsing: APIDocument.bytes)["paths"]?.members)
        let templates = paths.map(\.name)
        var operations = Set(
            paths.flatMap { path in
                (path.value.members ?? []).map { "\($0.name.uppercased()) \(path.name)" }
            }.filter { !$0.hasPrefix("PARAMETERS") }
        )
        #expect(operations.count > 50)
        for section in try Self.sections() {
            guard let method = section.method, section.status < 400 else { continue }
            let template = Self.template(of: section.target, among: templates)
            operations.remove("\(method) \(template ?? section.target)")
        }
        #expect(operations.isEmpty, "\(operations.sorted())")
    }

    /// The path of the document that a target is of; of two that fit, the one with more of its
    /// text.
    static func template(of target: String, among templates: [String]) -> String? {
        let path = target.prefix { $0 != "?" }
        let fitting = templates.filter { template in
            guard !template.hasPrefix("/o/") else { return path.hasPrefix("/o/") }
            let (wanted, given) = (template.split(separator: "/"), path.split(separator: "/"))
            return wanted.count == given.count
                && zip(wanted, given).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
        }
        return fitting.min { $0.count { $0 == "{" } < $1.count { $0 == "{" } }
    }

    @Test("Every kind of problem is in a golden file", .disabled(if: writesGolden))
    func kinds() throws {
        let text = try Self.sections().map(\.body).joined(separator: "\n")
        let missing = ProblemKind.allCases.filter {
            !text.contains("\"type\":\"urn:larder:\($0.rawValue)\"")
        }
        #expect(missing.isEmpty, "\(missing.map(\.rawValue))")
    }

    @Test("Every kind of frame is in a golden file", .disabled(if: writesGolden))
    func kindsOfFrames() throws {
        let text = try Self.sections().map(\.body).joined(separator: "\n")
        let schemas = try #require(
            JSONValue(parsing: APIDocument.bytes)["components"]?["schemas"]?.members
        )
        let types = schemas.filter { $0.name.hasSuffix("Frame") }.flatMap { schema in
            let type = schema.value["properties"]?["type"]
            let several = type?["enum"]?.elements ?? []
            return (several + [type?["const"]].compactMap { $0 }).compactMap(\.string)
        }
        #expect(types.count > 15)
        let missing = types.filter { !text.contains("{\"type\":\"\($0)\"") }
        #expect(missing.isEmpty, "\(missing)")
    }
}
