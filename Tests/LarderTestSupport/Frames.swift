package import LarderAPI
package import LarderModel

extension StreamFrame where Self: Decodable {
    /// Reads one line, with or without its line feed.
    package init(line: [UInt8]) throws {
        self = try APIDecoder(.lenient).decode(from: line)
    }
}

extension StreamFrame {
    /// The revision that a client comes back with.
    package var resumption: Revision? { revision.map { Revision($0) } }
}

extension RevisionFrame {
    package var revision: Revision { Revision(rev) }
}

extension FrameEntry {
    /// The body, whichever member it is in.
    package var content: FrameBody? {
        if let body { return .json(body.bytes) }
        return bodyB64.flatMap { Base64.decode($0) }.map { .bytes($0) }
            ?? bodyHref.map { .href($0) }
    }
}

extension ChangeFrame {
    /// The id of the entry or entity.
    package var entryID: EntryID { get throws { try EntryID(given: id) } }
    package var revision: Revision { Revision(rev) }
}
