import LarderAPI
import LarderJSON

/// The OpenAPI document of the route table.
struct Document {
    private var schemas: Schemas

    /// Writes the document as compact JSON with lines of moderate length.
    static func make(_ symbols: Symbols) -> [UInt8] {
        var requests = Schemas(symbols)
        for case .json(let types, _, _) in DocumentedRoute.all.map(\.body) {
            for type in types { _ = requests.schema(of: type) }
        }
        var document = Document(schemas: Schemas(symbols, requests: requests.met))
        return Array((document.root().lines() + "\n").utf8)
    }

    private mutating func root() -> JSONValue {
        var paths = JSONValue.object([])
        let routes = DocumentedRoute.all
        precondition(
            routes.map(\.route.name) == Route.table.map(\.name),
            "the texts of routes have another order than their table"
        )
        for documented in routes {
            let route = documented.route
            var item = paths[route.path] ?? .object([])
            let parameters = pathParameters(route.path)
            if !parameters.isEmpty { item["parameters"] = .array(parameters) }
            item[route.method.lowercased()] = operation(documented, isHead: false)
            if route.takesHead { item["head"] = operation(documented, isHead: true) }
            paths[route.path] = item
        }
        _ = schemas.schema(of: Problem.self)
        schemas.takeProblems()
        let named = schemas.named.sorted { $0.key < $1.key }
        return [
            "openapi": "3.1.0",
            "info": [
                "title": "Larder", "version": "1",
                "summary": "An offline-first cache daemon on a Unix socket.",
                "description": .string(Self.introduction),
            ],
            "servers": [["url": "http://larder", "description": "The Unix socket."]],
            "tags": .array(RouteTag.allCases.map { ["name": .string($0.rawValue)] }),
            "paths": paths,
            "components": [
                "responses": [
                    "Problem": problem("The request was refused, or could not be answered.")
                ],
                "schemas": .object(named.map { JSONMember(name: $0.key, value: $0.value) }),
            ],
        ]
    }

    private static let introduction = """
        HTTP/1.1 over a Unix socket, JSON in UTF-8: \
        `curl --unix-socket /run/larder/api.sock http://larder/v1/status`. The kernel says which \
        user a client is (SO_PEERCRED): it sees its own rows and shared ones. Every error is \
        `application/problem+json` (RFC 9457). An unknown parameter and an unknown member of a \
        body are refused by name with 400; a member that is null counts as not given. A client \
        ignores members of answers that it does not know. A duration is a whole number and a \
        unit: `300ms`, `10s`, `5m`, `1h`, `7d`. Every route may answer 400 \
        `urn:larder:bad-request`, 405 `urn:larder:method-not-allowed` with `Allow`, 431 \
        `urn:larder:head-too-large` and 500 `urn:larder:storage`.
        """

    private func pathParameters(_ path: String) -> [JSONValue] {
        PathParameter.all.filter { path.contains("{\($0.name)}") }.map { parameter in
            [
                "name": .string(parameter.name), "in": "path", "required": true,
                "description": .string(parameter.text), "schema": ["type": "string"],
                "example": .string(parameter.example),
            ]
        }
    }

    private mutating func operation(_ documented: DocumentedRoute, isHead: Bool) -> JSONValue {
        let route = documented.route
        let end = documented.text.firstRange(of: ". ")?.lowerBound ?? documented.text.endIndex
        let summary = documented.text[..<end]
        var text = String(documented.text[end...].drop { $0 == "." || $0 == " " })
        switch route.access {
        case .anyone: break
        case .owner: text += " Rows of other users are for administrators."
        case .administrators: text += " For administrators."
        }
        var operation: JSONValue = [
            "tags": [.string(route.tag.rawValue)],
            "operationId": .string("\(route.name)\(isHead ? "Head" : "")"),
            "summary": .string(String(summary.hasSuffix(".") ? summary.dropLast() : summary)),
        ]
        if !text.isEmpty { operation["description"] = .string(String(text.trimmingPrefix(" "))) }
        let parameters = queryParameters(route) + documented.headers.map(header)
        if !parameters.isEmpty { operation["parameters"] = .array(parameters) }
        switch documented.body {
        case .none: break
        case .bytes(let text, let example):
            var content: JSONValue = [:]
            content["example"] = example.map { .plain($0) }
            operation["requestBody"] = [
                "description": .string(text), "required": false, "content": ["*/*": content],
            ]
        case .json(let types, let example, let isRequired):
            var content: JSONValue = ["schema": oneOf(types)]
            content["example"] = try? JSONValue(parsing: Array(example.utf8))
            operation["requestBody"] = [
                "required": .bool(isRequired), "content": ["application/json": content],
            ]
        }
        operation["responses"] = responses(documented, isHead: isHead)
        return operation
    }

    private mutating func queryParameters(_ route: Route) -> [JSONValue] {
        guard let query = route.query else { return [] }
        return schemas.members(of: query).compactMap { member in
            var schema = schemas.schema(of: member, isRequest: true)
            guard schema["type"] != "object" else { return nil }
            let text = schema["description"] ?? ""
            schema["description"] = nil
            // A query has no JSON of any form.
            guard schema != .object([]) else { return nil }
            var parameter: JSONValue = [
                "name": .string(member.name), "in": "query", "description": text,
                "schema": schema,
            ]
            if !member.isOptional { parameter["required"] = true }
            if let example = member.text.facts["Example"] {
                parameter["example"] = .plain(example)
            }
            return parameter
        }
    }

    private func header(_ header: HeaderName) -> JSONValue {
        var parameter: JSONValue = [
            "name": .string(header.name), "in": "header", "description": .string(header.text),
            "schema": ["type": "string"],
        ]
        if let example = header.example {
            parameter["required"] = true
            parameter["example"] = .string(example)
        }
        return parameter
    }

    private mutating func responses(_ documented: DocumentedRoute, isHead: Bool) -> JSONValue {
        let route = documented.route
        var responses = JSONValue.object([])
        // HEAD ignores Range.
        for reply in documented.replies where !isHead || reply.status != 206 {
            var response: JSONValue = ["description": .string(Self.meaning(of: reply.status))]
            if !reply.headers.isEmpty {
                var headers = JSONValue.object([])
                for header in reply.headers {
                    var value: JSONValue = [
                        "description": .string(header.text), "schema": ["type": "string"],
                    ]
                    if header.isOptional { value["required"] = false }
                    headers[header.name] = value
                }
                response["headers"] = headers
            }
            if !isHead { response["content"] = content(reply.content) }
            responses[String(reply.status)] = response
        }
        let kinds = documented.problems + (route.access == .anyone ? [] : [.notPermitted])
        for status in Set(kinds.map(\.status)).sorted() where responses[String(status)] == nil {
            let texts = kinds.filter { $0.status == status }.map {
                "`urn:larder:\($0.rawValue)`: \($0.title)."
            }
            responses[String(status)] = problem(texts.joined(separator: " "))
        }
        responses["default"] =
            route.tag == .raw
            ? [
                "description": "The origin's own status and body, or a problem.",
                "content": ["*/*": [:]],
            ]
            : ["$ref": "#/components/responses/Problem"]
        return responses
    }

    private static func meaning(of status: Int) -> String {
        switch status {
        case 200: "Done."
        case 201: "Created."
        case 202: "Accepted, and not done yet."
        case 204: "Done, with nothing to say."
        case 206: "The part that was asked for."
        default: "What the client has is what it would get."
        }
    }

    private mutating func content(_ content: Reply.Content) -> JSONValue? {
        switch content {
        case .nothing: return nil
        case .bytes: return ["*/*": ["schema": [:]]]
        case .json(let types): return ["application/json": ["schema": oneOf(types)]]
        case .frames(let type, let document):
            let frame = schemas.schema(of: type)
            let whole =
                document.map { schemas.schema(of: $0) } ?? ["type": "array", "items": frame]
            return [
                "application/jsonl": ["schema": frame],
                "application/x-ndjson": ["schema": frame],
                "text/event-stream": ["schema": ["type": "string"]],
                "application/json": ["schema": whole],
            ]
        }
    }

    private mutating func oneOf(_ types: [Route.Wire]) -> JSONValue {
        let several = types.map { schemas.schema(of: $0) }
        return several.count == 1 ? several[0] : ["oneOf": .array(several)]
    }

    private func problem(_ text: String) -> JSONValue {
        [
            "description": .string(text),
            "content": [
                "application/problem+json": [
                    "schema": ["$ref": "#/components/schemas/Problem"]
                ]
            ],
        ]
    }
}
