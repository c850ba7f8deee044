import LarderJSON
import LarderModel
import LarderTestSupport
import LarderWire
import NIOHTTP1
import Testing

@testable import LarderServer

@Suite("The OpenAPI document", .timeLimit(.minutes(10)))
struct DocumentTests {
    private let api: DocumentedAPI

    init() throws {
        api = try DocumentedAPI()
    }

    @Test("It is served as it stands in the tree, byte for byte")
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

    @Test("Every route of the server is in it, and no other")
    func routes() {
        let served = Route.patterns.flatMap { pattern in
            pattern.methods.map { "\($0.method.rawValue) \(pattern.template)" }
        }
        #expect(Set(api.operations.map(\.description)) == Set(served))
        #expect(api.operations.count == served.count)
    }

    @Test("Every problem is in it with title and status, and no other")
    func problems() throws {
        let listed = try #require(api.resolved(.reference("ProblemType"))["oneOf"]?.elements)
        let types = listed.compactMap { $0["const"]?.string }
        #expect(types == ProblemKind.allCases.map { "urn:larder:\($0.rawValue)" })
        for (kind, entry) in zip(ProblemKind.allCases, listed) {
            #expect(entry["title"]?.string == kind.title)
            #expect(entry["x-status"]?.integer == Int64(kind.status), "\(kind)")
            #expect(entry["x-retryable"]?.bool == kind.isRetryable, "\(kind)")
        }
    }

    @Test("Words to choose from are those that the commands take")
    func choices() throws {
        func words(_ schema: JSONValue?) -> [String]? {
            schema?["enum"]?.elements?.compactMap(\.string)
        }
        let policies = api.resolved(.reference("FetchPolicy"))
        #expect(words(policies) == FetchPolicy.allCases.map(\.rawValue))
        let list = try #require(api.operations.first { $0.description == "GET /v1/entries" })
        let sort = list.parameters.first { $0["name"]?.string == "sort" }
        #expect(words(sort?["schema"]) == EntrySort.allCases.map(\.rawValue))
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

    @Test("An example of a parameter is one that its schema allows")
    func parameterExamples() throws {
        let judge = SchemaJudge(api: api)
        for operation in api.operations {
            for parameter in operation.parameters {
                let name = parameter["name"]?.string ?? ""
                let example = try #require(parameter["example"], "\(operation) \(name)")
                let schema = try #require(parameter["schema"], "\(operation) \(name)")
                #expect(judge.complaints(example, schema, at: "\(operation) \(name)") == [])
            }
        }
    }
}

extension JSONValue {
    /// A reference to a named schema.
    static func reference(_ schema: String) -> JSONValue {
        .object([JSONMember(name: "$ref", value: .string("#/components/schemas/\(schema)"))])
    }
}
