import Foundation
import LarderJSON
import LarderModel
import LarderWire

/// `schema/openapi.json` as the tests read it.
struct DocumentedAPI {
    let root: JSONValue

    init() throws {
        root = try JSONValue(parsing: try Self.bytes())
    }

    static let tree = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static func bytes() throws -> [UInt8] {
        Array(try Data(contentsOf: tree.appending(path: "schema/openapi.json")))
    }

    /// What a `$ref` stands for, or the value itself.
    func resolved(_ value: JSONValue) -> JSONValue {
        guard let reference = value["$ref"]?.string else { return value }
        let path = reference.split(separator: "/").dropFirst()
        return path.reduce(root) { found, name in
            found[String(name)] ?? .null
        }
    }

    var paths: [String] { root["paths"]?.members?.map(\.name) ?? [] }

    /// Every method of every path.
    var operations: [DocumentedOperation] {
        (root["paths"]?.members ?? []).flatMap { path in
            let shared = path.value["parameters"]?.elements ?? []
            return (path.value.members ?? []).filter { $0.name != "parameters" }.map { method in
                DocumentedOperation(
                    path: path.name,
                    method: method.name.uppercased(),
                    parameters: (shared + (method.value["parameters"]?.elements ?? []))
                        .map(resolved),
                    body: method.value["requestBody"].map(resolved),
                    responses: (method.value["responses"]?.members ?? []).map {
                        JSONMember(name: $0.name, value: resolved($0.value))
                    }
                )
            }
        }
    }
}

/// One method of one path of the document, with its references resolved.
struct DocumentedOperation: CustomStringConvertible {
    let path: String
    let method: String
    let parameters: [JSONValue]
    let body: JSONValue?
    let responses: [JSONMember]

    var description: String { "\(method) \(path)" }

    /// Whether the query is the origin's, so that any goes.
    var passesQuery: Bool { path.hasPrefix(RawCommand.pathPrefix) }

    /// The names of the parameters that stand in the query.
    var queryNames: [String] {
        parameters.filter { $0["in"]?.string == "query" }.compactMap { $0["name"]?.string }
    }

    /// Those of them that count as often as they are given.
    var repeatedNames: Set<String> { path == "/v1/watch" ? ["id", "prefix"] : [] }

    /// The header fields that it needs, with their examples.
    var neededHeaders: [String] {
        parameters.filter { $0["in"]?.string == "header" && $0["required"]?.bool == true }
            .compactMap { parameter in
                guard let name = parameter["name"]?.string,
                    let example = parameter["example"]?.string
                else { return nil }
                return "\(name): \(example)"
            }
    }

    /// The schemas of a JSON body, several where it may have several types.
    var bodySchemas: [JSONValue] {
        let schema = body?["content"]?["application/json"]?["schema"]
        return schema?["oneOf"]?.elements ?? [schema].compactMap { $0 }
    }

    /// An example of a body; nil where there is no body, or none is given.
    var exampleBody: JSONValue? { body?["content"]?.members?.first?.value["example"] }

    /// The path with an example in the place of its parameter, and the query that it needs.
    var exampleTarget: String {
        var target = path
        var query: [String] = []
        for parameter in parameters where parameter["required"]?.bool == true {
            guard let name = parameter["name"]?.string, let example = parameter["example"]?.text
            else { continue }
            if parameter["in"]?.string == "path" {
                let encoded = PercentCoding.encode(example)
                // A rest of a path has its slashes as they are.
                let place = name == "path" ? encoded.replacing("%2F", with: "/") : encoded
                target = target.replacing("{\(name)}", with: place)
            } else {
                query.append("\(name)=\(PercentCoding.encode(example))")
            }
        }
        return query.isEmpty ? target : "\(target)?\(query.joined(separator: "&"))"
    }

    /// The same for an answer that comes to its end: a watch by query is one for no time.
    var endingTarget: String {
        switch description {
        case "GET /v1/watch": "\(exampleTarget)?timeout=0ms"
        case "POST /v1/origins/{name}/credential/renewal": "\(exampleTarget)?wait=0ms"
        default: exampleTarget
        }
    }

    /// What the document says of an answer of this status.
    func response(_ status: Int) -> JSONValue? {
        (responses.first { $0.name == String(status) } ?? responses.first { $0.name == "default" })?
            .value
    }
}

extension JSONValue {
    /// The value as JSON.
    var json: String { String(decoding: bytes, as: UTF8.self) }

    /// A string, or a number as it stands in a query.
    fileprivate var text: String? { string ?? integer.map { String($0) } }
}
