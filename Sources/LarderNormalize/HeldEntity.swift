import LarderJSON
package import LarderModel

/// State of an entity in the store.
package enum HeldEntity: Sendable {
    /// Nothing: it was never seen, or evicted.
    case unknown
    case deleted(EntityStamp)
    case present(EntityBody, EntityStamp)

    package var byteCount: Int {
        if case .present(let body, _) = self { body.bytes.count } else { 0 }
    }

    /// The state after the fetch of this number found that the origin deleted the entity.
    ///
    /// Returns nil if a fetch that started later has already said something about it.
    package func deleted(byFetch fetch: Int64) -> HeldEntity? {
        fetch >= stamp.fetch ? .deleted(EntityStamp(version: nil, fetch: fetch)) : nil
    }
}

/// An entity after an answer has been merged into it.
package struct MergedEntity: Sendable {
    /// Change of an entity, as watchers receive it.
    package enum Change: Equatable, Sendable {
        case nothing
        /// The entity was unknown or deleted before.
        case created
        /// These members have another value than before, or have one now.
        case members([String])
    }

    package let key: EntityKey
    /// State of the entity after the merge.
    package internal(set) var held: HeldEntity
    package internal(set) var change = Change.nothing
    /// Whether anything of ``held`` is to be written, if only the number of the fetch.
    package internal(set) var isWritten = false
    /// Whether the answer had it more than once, with different values; the last one counts.
    package internal(set) var isContradicted = false
    /// Stamp before the merge; nil if the entity was unknown.
    let before: EntityStamp?
    let fetch: Int64
    /// The members that stay as they were, whatever the answer has.
    var kept = TouchedMembers.none
}

/// # Stored form
///
/// ```
/// fetch, 0 | 1 × number as written | 2 × text      the stamp
/// an ``EntityBody``                                nothing for one that was deleted
/// ```
///
/// Only the body has a check here. The row in the store has its own.
extension HeldEntity {
    /// Reads the stored form; a deleted one has no body.
    package init(stored bytes: [UInt8], isDeleted: Bool) throws(NormalizeError) {
        var position = 0
        let stamp = bytes.withUnsafeBytes { EntityStamp(reading: $0, at: &position) }
        guard let stamp else { throw .damaged(.entity, at: position) }
        guard !isDeleted else {
            self = .deleted(stamp)
            return
        }
        self = .present(try EntityBody(Array(bytes[position...])), stamp)
    }

    /// The stored form; nil where nothing is known.
    package var stored: [UInt8]? {
        switch self {
        case .unknown: return nil
        case .deleted(let stamp): return stamp.stored
        case .present(let body, let stamp): return stamp.stored + body.bytes
        }
    }
}

extension EntityStamp {
    fileprivate init?(reading bytes: UnsafeRawBufferPointer, at position: inout Int) {
        guard let fetch = bytes.number(at: &position, before: bytes.count, bits: 63),
            let tag = bytes.number(at: &position, before: bytes.count)
        else { return nil }
        guard tag > 0 else {
            self.init(version: nil, fetch: Int64(fetch))
            return
        }
        guard let count = bytes.number(at: &position, before: bytes.count),
            count <= bytes.count - position
        else { return nil }
        let text = String(decoding: bytes.part(position..<position + count), as: UTF8.self)
        position += count
        switch tag {
        case 1:
            guard let value = try? JSONValue(parsing: Array(text.utf8)),
                let version = EntityVersion(value)
            else { return nil }
            self.init(version: version, fetch: Int64(fetch))
        case 2: self.init(version: .text(text), fetch: Int64(fetch))
        case _: return nil
        }
    }

    fileprivate var stored: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(number: Int(max(0, fetch)))
        let text: String
        switch version {
        case nil:
            bytes.append(0)
            return bytes
        case .number(let number)?:
            bytes.append(1)
            text = number.text
        case .text(let version)?:
            bytes.append(2)
            text = version
        }
        bytes.append(number: text.utf8.count)
        bytes += text.utf8
        return bytes
    }
}
