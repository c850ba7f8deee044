import LarderJSON
package import LarderModel

/// One line of the answer to a batch: one for each id in the order asked, then `end`.
package enum BatchFrame: Equatable, Sendable {
    case snapshot(SnapshotFrame)
    /// Nothing is cached under the id.
    case miss(EntryID)
    /// It is deleted: its origin has said so, or a write that waits to be sent.
    case deleted(EntryID, DeletedFrame)
    case end(EndFrame)
}

extension BatchFrame: StreamFrame {
    package var type: String {
        switch self {
        case .snapshot: "snapshot"
        case .miss: "miss"
        case .deleted: "deleted"
        case .end: "end"
        }
    }

    package var revision: Revision? {
        switch self {
        case .snapshot(let frame): frame.revision
        case .miss: nil
        case .deleted(_, let frame): frame.revision
        case .end(let frame): frame.revision
        }
    }

    package var isHeartbeat: Bool { false }

    package func encodedJSON() -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("type", type)
            switch self {
            case .snapshot(let frame):
                frame.write(to: &json)
            case .miss(let id):
                json.member("id", id.text)
            case .deleted(let id, let frame):
                json.member("id", id.text)
                frame.write(to: &json)
            case .end(let frame):
                frame.write(to: &json)
            }
        }
        return json.bytes
    }

    /// Reads one line, with or without its line feed; unknown members are ignored.
    package init(line: [UInt8]) throws(WireError) {
        let object = try WireObject(parsing: line)
        let type = try object.string("type")
        switch type {
        case "snapshot": self = .snapshot(try SnapshotFrame(object))
        case "miss": self = .miss(try object.id("id"))
        case "deleted":
            self = .deleted(try object.id("id"), try DeletedFrame(object))
        case "end": self = .end(try EndFrame(object))
        default: throw .unknownFrame(type: type)
        }
    }
}
