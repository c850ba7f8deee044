import LarderJSON
package import LarderModel

extension FetchFrame: StreamFrame {
    package var type: String {
        switch self {
        case .snapshot: "snapshot"
        case .unchanged: "unchanged"
        case .deleted: "deleted"
        case .error: "error"
        case .origin: "origin"
        case .heartbeat: "heartbeat"
        case .end: "end"
        }
    }

    package var revision: Revision? {
        switch self {
        case .snapshot(let frame): frame.revision
        case .unchanged(let frame): frame.revision
        case .deleted(let frame): frame.revision
        case .error: nil
        case .origin(let revision, _, _), .heartbeat(let revision): revision
        case .end(let frame): frame.revision
        }
    }

    package var isHeartbeat: Bool { if case .heartbeat = self { true } else { false } }

    package func encodedJSON() -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("type", type)
            switch self {
            case .snapshot(let frame):
                frame.write(to: &json)
            case .unchanged(let frame):
                json.member("source", AnswerSource.network.rawValue)
                json.member("rev", frame.revision.number)
                json.member("status", frame.status)
            case .deleted(let frame):
                frame.write(to: &json)
            case .error(let problem):
                json.member("source", AnswerSource.network.rawValue)
                json.name("problem")
                APIEncoder().encode(problem, to: &json)
            case .origin(let revision, let name, let state):
                json.members(revision, name, state: state)
            case .heartbeat(let revision):
                json.member("rev", revision.number)
            case .end(let frame):
                frame.write(to: &json)
            }
        }
        return json.bytes
    }
}

extension DeletedFrame {
    func write(to json: inout JSONWriter) {
        json.member("source", source.rawValue)
        json.member("rev", revision.number)
        json.member("status", status)
    }
}

extension JSONWriter {
    /// What a frame says of an origin's state.
    mutating func members(_ revision: Revision, _ origin: OriginName, state: String) {
        member("rev", revision.number)
        member("origin", origin.text)
        member("state", state)
    }
}

extension SnapshotFrame {
    func write(to json: inout JSONWriter) {
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
        json.members(naming: id)
        json.member("status", status)
        json.member("media_type", mediaType)
        json.member("etag", etag)
        json.member("stored_at", storedAt.rfc3339)
        switch body {
        case .json(let bytes):
            json.name("body")
            json.verbatim(RawJSON.onOneLine(bytes))
        case .bytes(let bytes):
            json.member("body_b64", Base64.encode(bytes))
        case .href(let path):
            json.member("body_href", path)
        }
    }
}

extension EndFrame {
    func write(to json: inout JSONWriter) {
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
    var tenthsOfMilliseconds: Double {
        let tenths = min(max(self / .microseconds(100), 0), 1e15)
        return Double(Int64(tenths + 0.5)) / 10
    }
}
