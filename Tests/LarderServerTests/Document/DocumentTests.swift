import Foundation
import LarderJSON
import LarderModel
import LarderTestSupport
import Testing

@testable import LarderServer

@Suite("The OpenAPI document", .timeLimit(.minutes(10)))
struct DocumentTests {
    private let api: DocumentedAPI

    init() throws {
        api = try DocumentedAPI()
    }

    @Test("The document is served as it is in the tree, byte for byte")
    func served() async throws {
        #expect(APIDocument.bytes == (try DocumentedAPI.bytes()))
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let response = try await client.ask("GET", "/v1/openapi.json")
            #expect(response.status == 200)
            #expect(response.headers["Content-Type"] == "application/json")
            #expect(response.body == (try DocumentedAPI.bytes()))
        }
    }

    @Test("The document is the output of scripts/generate-openapi")
    func generated() throws {
        let script = Process()
        script.executableURL = DocumentedAPI.tree.appending(path: "scripts/generate-openapi")
        script.arguments = ["--check"]
        let bin = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        script.environment = ProcessInfo.processInfo.environment.merging(["LARDER_BIN": bin.path]) {
            $1
        }
        try script.run()
        script.waitUntilExit()
        #expect(script.terminationStatus == 0, "run scripts/generate-openapi")
    }

    @Test("Every reference leads somewhere, and every named part is used")
    func references() throws {
        var found: Set<String> = []
        func collect(_ value: JSONValue) {
            if let reference = value["$ref"]?.string {
                found.insert(reference)
                #expect(!api.resolved(value).isNull, "\(reference)")
            }
            for member in value.members ?? [] { collect(member.value) }
            for element in value.elements ?? [] { collect(element) }
        }
        collect(api.root)
        for kind in api.root["components"]?.members ?? [] {
            for part in kind.value.members ?? [] {
                #expect(found.contains("#/components/\(kind.name)/\(part.name)"))
            }
        }
    }

    @Test("Every header of Larder that an answer may have is documented")
    func headers() throws {
        var documented: Set<String> = []
        for operation in api.operations {
            for response in operation.responses {
                documented.formUnion((response.value["headers"]?.members ?? []).map(\.name))
            }
        }
        let golden = try String(contentsOfFile: GoldenFile.path("modifiers.http"), encoding: .utf8)
        let told = golden.split(separator: "\n").filter { $0.hasPrefix("Larder-") }
            .map { String($0.prefix { $0 != ":" }) }
        #expect(told.contains("Larder-Complete"))
        #expect(Set(told + [Entry.sourceField]).subtracting(documented).sorted() == [])
    }

    @Test("Answers in the golden files are as documented")
    func goldenAnswers() throws {
        let judge = SchemaJudge(api: api)
        for section in try GoldenBytesTests.sections() {
            guard let method = section.method, !section.body.isEmpty, section.status < 400,
                let path = GoldenBytesTests.template(of: section.target, among: api.paths),
                let operation = api.operations.first(where: {
                    $0.path == path && $0.method == method
                })
            else { continue }
            let response = operation.response(section.status)
            let place = "\(operation): \(section.title)"
            let lines = section.body.split(separator: "\n").map { Array($0.utf8) }
            let isFrames = response?["content"]?["application/jsonl"] != nil
            guard isFrames ? lines[0].starts(with: Array("{\"type\"".utf8)) : lines.count == 1,
                let value = try? lines.map({ try JSONValue(parsing: $0) })
            else { continue }
            let type = isFrames ? "application/jsonl" : "application/json"
            guard let schema = response?["content"]?[type]?["schema"] else { continue }
            for value in value { #expect(judge.complaints(value, schema, at: place) == []) }
        }
    }
}
