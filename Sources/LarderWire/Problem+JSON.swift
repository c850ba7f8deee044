import LarderJSON
import LarderModel

extension Problem {
    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        write(to: &json)
        return json.bytes
    }

    func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("type", type)
            json.member("title", title)
            json.member("status", status)
            json.member("detail", detail)
            json.member("request_id", requestID)
            json.member("retryable", isRetryable)
            json.member("hint", hint)
            if let originStatus { json.member("origin_status", originStatus) }
            if let rawHref { json.member("raw_href", rawHref) }
            if let oldest { json.member("oldest", oldest.number) }
            if let quotedBody { json.member("body", quoting: quotedBody) }
        }
    }

    /// Reads what ``encoded()`` wrote.
    ///
    /// A type that this version does not know is a newer daemon's: see ``UnknownKind``.
    package init(decoding bytes: [UInt8]) throws(WireError) {
        try self.init(WireObject(parsing: bytes))
    }

    init(_ object: WireObject) throws(WireError) {
        let prefix = "urn:larder:"
        let type = try object.string("type")
        let detail = try object.string("detail")
        let status: Int = try object.integer("status")
        let hint = try object.string("hint")
        if type.hasPrefix(prefix),
            let kind = ProblemKind(rawValue: String(type.dropFirst(prefix.count)))
        {
            self.init(kind, detail, status: status, hint: hint)
        } else {
            let unknown = UnknownKind(
                type: type,
                title: try object.string("title"),
                isRetryable: try object.bool("retryable")
            )
            self.init(unknown, detail, status: status, hint: hint)
        }
        requestID = try object.string("request_id")
        originStatus = try object.optionalInteger("origin_status")
        rawHref = try object.optionalString("raw_href")
        oldest = try object.optionalInteger("oldest").map { Revision($0) }
        quotedBody = try object.optionalQuote("body")
    }
}
