/// One event of a `text/event-stream`.
struct ServerSentEvent: Equatable {
    var type: String
    var id: String?
    var data: String
}

/// A strict reader of `text/event-stream`: what the standard lets a browser guess at is an error
/// here (https://html.spec.whatwg.org/multipage/server-sent-events.html).
struct EventStream: Equatable {
    struct Fault: Error, Equatable {
        let line: String
    }

    private(set) var events: [ServerSentEvent] = []
    private(set) var comments = 0

    /// Reads a whole stream, which ends behind the blank line of its last event.
    init(_ bytes: [UInt8]) throws(Fault) {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Fault(line: "not UTF-8")
        }
        guard !text.utf8.contains(UInt8(ascii: "\r")) else { throw Fault(line: "a CR") }
        guard text.isEmpty || text.hasSuffix("\n\n") else { throw Fault(line: "no blank line") }
        for block in text.split(separator: "\n\n", omittingEmptySubsequences: true) {
            try read(block)
        }
    }

    private mutating func read(_ block: Substring) throws(Fault) {
        guard block != ":" else {
            comments += 1
            return
        }
        var fields: [Substring: Substring] = [:]
        for line in block.split(separator: "\n", omittingEmptySubsequences: false) {
            let parts = line.split(separator: ": ", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, ["event", "id", "data"].contains(parts[0]),
                fields.updateValue(parts[1], forKey: parts[0]) == nil
            else { throw Fault(line: String(line)) }
        }
        guard let type = fields["event"], let data = fields["data"], !data.isEmpty else {
            throw Fault(line: String(block))
        }
        let id = fields["id"].map(String.init)
        events.append(ServerSentEvent(type: String(type), id: id, data: String(data)))
    }
}
