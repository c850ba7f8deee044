/// An answer, whole.
struct Reply: Equatable {
    var status: Int
    /// Without Content-Length.
    var headers: [Header] = []
    var body: [UInt8] = []

    struct Header: Equatable {
        var name: String
        var value: String
    }

    static func content(_ content: Content, status: Int = 200, type: String? = nil) -> Reply {
        let type = Header(name: "Content-Type", value: type ?? content.type)
        return Reply(status: status, headers: [type], body: content.bytes)
    }

    static func refusal(_ status: Int, _ words: String) -> Reply {
        .content(.text(words + "\n"), status: status)
    }

    func with(_ name: String, _ value: String) -> Reply {
        var reply = self
        reply.headers.append(Header(name: name, value: value))
        return reply
    }
}
