import LarderJSON
import LarderModel

extension FetchFrame {
    /// The frame as one line of JSON Lines, its line feed included.
    package func encodedLine() -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            switch self {
            case .snapshot(let frame):
                json.member("type", "snapshot")
                frame.write(to: &json)
            case .unchanged(let frame):
                json.member("type", "unchanged")
                Self.write(frame.revision, frame.status, to: &json)
            case .deleted(let frame):
                json.member("type", "deleted")
                Self.write(frame.revision, frame.status, to: &json)
            case .error(let problem):
                json.member("type", "error")
                json.member("source", AnswerSource.network.rawValue)
                json.name("problem")
                problem.write(to: &json)
            case .end(let frame):
                json.member("type", "end")
                frame.write(to: &json)
            }
        }
        return json.bytes + [UInt8(ascii: "\n")]
    }

    private static func write(_ revision: Revision, _ status: Int, to json: inout JSONWriter) {
        json.member("source", AnswerSource.network.rawValue)
        json.member("rev", revision.number)
        json.member("status", status)
    }
}

extension SnapshotFrame {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("source", source.rawValue)
        json.member("rev", revision.number)
        json.member("stale", isStale)
        json.member("age_ms", age.milliseconds)
        json.member("pending", pending)
        json.member("pending_ids", pendingIDs)
        json.member("failed", failed)
        json.member("complete", isComplete)
        if !isComplete { json.member("missing", missing) }
        json.member("entry") { entry.write(to: &$0) }
    }
}

extension FrameEntry {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("id", id.text)
        json.member("status", status)
        json.member("media_type", mediaType)
        json.member("etag", etag)
        json.member("stored_at", storedAt.rfc3339)
        switch body {
        case .json(let bytes):
            json.name("body")
            json.verbatim(FrameBody.onOneLine(bytes))
        case .bytes(let bytes):
            json.member("body_b64", Base64.encode(bytes))
        case .href(let path):
            json.member("body_href", path)
        }
    }
}

extension EndFrame {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("outcome", outcome.rawValue)
        if let revision { json.member("rev", revision.number) }
        json.member("timing") { json in
            if let cacheTime { json.member("cache_ms", cacheTime.tenthsOfMilliseconds) }
            if let networkTime { json.member("network_ms", networkTime.tenthsOfMilliseconds) }
        }
    }
}

extension Duration {
    /// Milliseconds with at most one decimal; not below 0, at most some thousand years.
    fileprivate var tenthsOfMilliseconds: Double {
        let tenths = min(max(self / .microseconds(100), 0), 1e15)
        return Double(Int64(tenths + 0.5)) / 10
    }
}
