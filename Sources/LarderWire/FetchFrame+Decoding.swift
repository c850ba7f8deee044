import LarderModel

extension FetchFrame {
    /// Reads one line, with or without its line feed; unknown members are ignored.
    package init(line: [UInt8]) throws(WireError) {
        let object = try WireObject(parsing: line)
        let type = try object.string("type")
        switch type {
        case "snapshot":
            self = .snapshot(try SnapshotFrame(object))
        case "unchanged":
            self = .unchanged(
                UnchangedFrame(
                    revision: try object.revision("rev"),
                    status: try object.integer("status")
                )
            )
        case "deleted":
            self = .deleted(try DeletedFrame(object))
        case "error":
            self = .error(try object.problem("problem"))
        case "origin":
            self = .origin(
                try object.revision("rev"),
                try object.originName(),
                state: try object.string("state")
            )
        case "heartbeat":
            self = .heartbeat(try object.revision("rev"))
        case "end":
            self = .end(try EndFrame(object))
        default:
            throw .unknownFrame(type: type)
        }
    }
}

extension DeletedFrame {
    init(_ object: WireObject) throws(WireError) {
        self.init(
            source: try object.required("source") { AnswerSource(rawValue: $0) },
            revision: try object.revision("rev"),
            status: try object.integer("status")
        )
    }
}

extension SnapshotFrame {
    init(_ object: WireObject) throws(WireError) {
        self.init(
            source: try object.required("source") { AnswerSource(rawValue: $0) },
            revision: try object.revision("rev"),
            isStale: try object.bool("stale"),
            age: .milliseconds(try object.integer("age_ms") as Int64),
            entry: try FrameEntry(object.object("entry"))
        )
        pending = try object.integer("pending")
        pendingIDs = try object.strings("pending_ids")
        failed = try object.integer("failed")
        isComplete = try object.bool("complete")
        missing = try object.optionalStrings("missing") ?? []
    }
}

extension FrameEntry {
    fileprivate init(_ object: WireObject) throws(WireError) {
        self.init(
            id: try object.idOrKey(),
            status: try object.integer("status"),
            mediaType: try object.optionalString("media_type"),
            etag: try object.string("etag"),
            storedAt: try object.timestamp("stored_at"),
            body: try FrameBody(object)
        )
    }
}

extension FrameBody {
    fileprivate init(_ object: WireObject) throws(WireError) {
        if let json = object.bytes("body") {
            self = .json(json)
        } else if let bytes = try object.optional("body_b64", { Base64.decode($0) }) {
            self = .bytes(bytes)
        } else if let path = try object.optionalString("body_href") {
            self = .href(path)
        } else {
            throw .missingMember("body")
        }
    }
}

extension EndFrame {
    init(_ object: WireObject) throws(WireError) {
        let timing = try object.object("timing")
        self.init(
            outcome: try object.required("outcome") { FetchOutcome(rawValue: $0) },
            revision: try object.optionalInteger("rev").map { Revision($0) },
            cacheTime: try timing.optionalTime("cache_ms"),
            networkTime: try timing.optionalTime("network_ms")
        )
    }
}

extension WireObject {
    /// The member `origin`.
    func originName() throws(WireError) -> OriginName {
        try required("origin") { try? OriginName($0) }
    }

    /// Milliseconds with decimals, of which three are kept.
    func optionalTime(_ name: String) throws(WireError) -> Duration? {
        guard let milliseconds = try optionalDouble(name) else { return nil }
        guard (0...1e15).contains(milliseconds) else {
            throw .wrongType(member: name, wanted: "a time in milliseconds")
        }
        return .microseconds(Int64(milliseconds * 1_000 + 0.5))
    }
}
