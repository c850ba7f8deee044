import LarderJSON
import LarderModel

/// Tells a GraphQL query from an operation that may change something.
package enum GraphQLRequest {
    /// The reason why a body may not be sent as a read; nil if it may.
    ///
    /// Any other body than GraphQL's is a read's. In JSON a body of GraphQL is an object, or a list of
    /// objects, with `query`. The daemon does not know the operations of persisted queries.
    package static func refusal(of body: [UInt8], mediaType: String) -> String? {
        let essence = MediaType.essence(of: mediaType)
        if essence == "application/graphql" { return refusal(ofDocument: body, named: nil) }
        if essence == "multipart/form-data" {
            return "a form of several parts is no read: it may upload files"
        }
        guard MediaType.isAnyJSON(mediaType), let value = try? JSONValue(parsing: body) else {
            return nil
        }
        return (value.elements ?? [value]).lazy.compactMap(refusal(of:)).first
    }

    private static func refusal(of request: JSONValue) -> String? {
        guard let members = request.members else { return nil }
        func member(_ name: String) -> JSONValue? { members.last { $0.name == name }?.value }
        guard let document = member("query")?.string else {
            let isPersisted =
                member("documentId") != nil
                || member("extensions")?.members?.contains { $0.name == "persistedQuery" } == true
            return isPersisted
                ? "the body names a persisted query, which may be a mutation: send its document"
                : nil
        }
        return refusal(ofDocument: Array(document.utf8), named: member("operationName")?.string)
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
/// It is read as far as that needs: the daemon checks no names and no types.
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
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
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
