/// The types by which bodies of writes are told apart.
package enum MediaType {
    package static let json = "application/json"
    package static let mergePatch = "application/merge-patch+json"
    package static let jsonPatch = "application/json-patch+json"
    static let text = "text/plain; charset=utf-8"
    static let bytes = "application/octet-stream"

    package static func isMergePatch(_ type: String) -> Bool { essence(of: type) == mergePatch }
    package static func isJSONPatch(_ type: String) -> Bool { essence(of: type) == jsonPatch }
    package static func isJSON(_ type: String) -> Bool { essence(of: type) == json }

    /// JSON by itself or by the suffix of its name (RFC 6839 3.1).
    package static func isAnyJSON(_ type: String) -> Bool {
        let essence = essence(of: type)
        return essence == json || essence.hasSuffix("+json")
    }

    /// A type without its parameters, in lower case.
    private static func essence(of type: String) -> String {
        type.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
    }
}
