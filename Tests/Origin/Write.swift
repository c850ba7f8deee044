import LarderJSON

/// A request that changes documents, as the log keeps it.
struct Write: Equatable {
    var method: String
    var path: String
    var key: String?
    var type: String?
    /// Nil where there is none.
    var content: Content?

    /// One line of the log: it is the `number`-th effect, and its key was `seen` before or not.
    func line(number: Int, seen: Bool) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("n", number)
            json.member("method", method)
            json.member("path", path)
            json.member("key", key)
            json.member("seen", seen)
            json.member("type", type)
            switch content {
            case nil: break
            case .text(let text): json.member("text", text)
            case .json(let value):
                json.name("body")
                json.value(value)
            }
        }
        return json.bytes + [UInt8(ascii: "\n")]
    }

    /// Reads what ``line(number:seen:)`` wrote; nil where it is something else.
    init?(line: [UInt8]) {
        guard let json = try? JSONValue(parsing: line), let method = json["method"]?.string,
            let path = json["path"]?.string
        else { return nil }
        self.method = method
        self.path = path
        key = json["key"]?.string
        type = json["type"]?.string
        content = json["body"].map { .json($0) } ?? json["text"]?.string.map { .text($0) }
    }

    /// Nil where the body is no UTF-8.
    init?(_ request: Request) {
        method = request.method
        path = request.path
        key = request.key
        type = request.type
        guard !request.body.isEmpty else { return }
        guard let content = Content(request.body) else { return nil }
        self.content = content
    }
}
