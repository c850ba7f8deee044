import LarderJSON
package import LarderModel

/// Tells a GraphQL query from an operation that may change something.
package enum GraphQLRequest {
    /// The reason why a body may not be sent to a URL as a read; nil if it may.
    ///
    /// A GraphQL request is an object of JSON under any media type, or a list of them, or a form, or
    /// the URL's query, with `query`. Any other body is a read's. The daemon does not know the
    /// operations of persisted queries.
    package static func refusal(of body: [UInt8], mediaType: String, at url: WebURL) -> String? {
        if let reason = refusal(ofForm: Array(url.query.utf8)) { return reason }
        let essence = mediaType.mediaEssence
        switch essence {
        case "application/graphql": return refusal(ofDocument: body, named: nil)
        case "application/x-www-form-urlencoded":
            if let reason = refusal(ofForm: body) { return reason }
        case _ where essence.hasPrefix("multipart/"):
            return "a form of several parts is no read: it may upload files"
        case _: break
        }
        // Servers read JSON of any type, such as that which curl sends with -d.
        guard let value = try? JSONValue(parsing: body) else {
            guard MediaType.isAnyJSON(mediaType) else { return nil }
            return "the body is no JSON, as its type says, so the daemon cannot look into it"
        }
        return (value.elements ?? [value]).lazy.compactMap(refusal(of:)).first
    }

    private static func refusal(of request: JSONValue) -> String? {
        guard let members = request.members else { return nil }
        func named(_ name: String) -> [JSONValue] {
            members.filter { $0.name == name }.map(\.value)
        }
        let names = named("operationName")
        let documents = named("query").compactMap(\.string).map { Array($0.utf8) }
        for document in documents {
            let name = names.count == 1 ? names[0].string : nil
            if let reason = refusal(ofDocument: document, named: name) { return reason }
        }
        let hasOperation = documents.contains { document in
            var document = GraphQLDocument(document)
            return !document.operations().isEmpty
        }
        guard !hasOperation else { return nil }
        let isOperation = !named("variables").isEmpty || !names.isEmpty
        let isPersisted =
            members.contains {
                ["documentId", "doc_id", "queryId", "operationId"].contains($0.name)
            }
            || isOperation && !named("id").isEmpty
            || named("extensions").contains { extensions in
                extensions.members?.contains { $0.name == "persistedQuery" } == true
            }
        return isPersisted
            ? "the body names a persisted query, which may be a mutation: send its document" : nil
    }

    /// The fields of a form, or of a URL's query.
    private static func refusal(ofForm form: [UInt8]) -> String? {
        for field in form.split(separator: UInt8(ascii: "&")) {
            let name = field.prefix { $0 != UInt8(ascii: "=") }
            guard PercentCoding.decoded(name) == "query" else { continue }
            let value = field.dropFirst(name.count + 1)
                .map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
            guard let document = PercentCoding.decoded(value) else {
                return "the query is not percent-encoded UTF-8, so the daemon cannot look into it"
            }
            if let reason = refusal(ofDocument: Array(document.utf8), named: nil) { return reason }
        }
        return nil
    }

    private static func refusal(ofDocument bytes: [UInt8], named name: String?) -> String? {
        var document = GraphQLDocument(bytes)
        let operations = document.operations()
        let named = operations.filter { $0.name == name }
        let selected = name?.isEmpty == false && !named.isEmpty ? named : operations
        return selected.first { $0.kind != "query" }.map { "the GraphQL operation is a \($0.kind)" }
    }
}

/// The operations of a GraphQL document (https://spec.graphql.org/October2021/#sec-Document).
///
/// The daemon reads a document only to the end of its operations, and checks no names and no types.
private struct GraphQLDocument {
    typealias Operation = (kind: String, name: String?)

    private let bytes: [UInt8]
    private var place = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The operations that have a selection.
    mutating func operations() -> [Operation] {
        var operations: [Operation] = []
        var (words, depth): ([String], Int) = ([], 0)
        while place < bytes.count {
            let byte = bytes[place]
            switch byte {
            case UInt8(ascii: "#"): skipComment()
            case UInt8(ascii: "\""): skipString()
            case UInt8(ascii: "{"), UInt8(ascii: "("), UInt8(ascii: "["):
                if depth == 0, byte == UInt8(ascii: "{") {
                    if let operation = Self.operation(words) { operations.append(operation) }
                }
                depth += 1
                place += 1
            case UInt8(ascii: "}"), UInt8(ascii: ")"), UInt8(ascii: "]"):
                depth = max(0, depth - 1)
                // The next word begins a definition.
                if depth == 0, byte == UInt8(ascii: "}") { words = [] }
                place += 1
            case _ where Self.isOfName(byte):
                let word = takeName()
                if depth == 0 { words.append(word) }
            case _: place += 1
            }
        }
        return operations
    }

    /// The operation of a definition by the words before its selection; nil for a fragment.
    private static func operation(_ words: [String]) -> Operation? {
        guard let kind = words.first else { return ("query", nil) }
        guard ["query", "mutation", "subscription"].contains(kind) else { return nil }
        return (kind, words.dropFirst().first)
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || byte == UInt8(ascii: "_")
    }

    private mutating func takeName() -> String {
        let start = place
        while place < bytes.count, Self.isOfName(bytes[place]) { place += 1 }
        return String(decoding: bytes[start..<place], as: UTF8.self)
    }

    private mutating func skipComment() {
        while place < bytes.count, bytes[place] != 0x0A, bytes[place] != 0x0D { place += 1 }
    }

    private mutating func skipString() {
        let mark = Array("\"\"\"".utf8)
        let isBlock = bytes[place...].starts(with: mark)
        place += isBlock ? 3 : 1
        while place < bytes.count {
            if isBlock {
                if bytes[place...].starts(with: mark) {
                    place += 3
                    return
                }
                let isEscaped = bytes[place] == UInt8(ascii: "\\")
                place += isEscaped && bytes[(place + 1)...].starts(with: mark) ? 4 : 1
            } else {
                switch bytes[place] {
                case UInt8(ascii: "\\"): place += 2
                case UInt8(ascii: "\""), 0x0A, 0x0D:
                    place += 1
                    return
                case _: place += 1
                }
            }
        }
    }
}
