/// Metadata of a cached answer or a client's blob, without the bytes.
package struct Entry: Equatable, Sendable {
    package var id: EntryID
    package var kind: EntryKind
    /// The origin that it was fetched from; nil for a client's blob.
    package var origin: OriginName?
    /// The status of the origin's answer; 200 for a client's blob.
    package var status: Int
    /// Whether it is all of its target; false while only confirmed writes have said a part of it.
    package var isComplete = true
    package var mediaType: String?
    /// The origin's validators, as it spelled them; nil for a client's blob.
    package var etag: String?
    package var lastModified: String?
    /// The origin's other header fields.
    package var headers = HeaderFields()
    /// When the origin or the client last sent or confirmed the bytes.
    package var storedAt: Timestamp
    /// End of the fresh lifetime; nil: stale immediately.
    ///
    /// For a client's blob the end of its `ttl`, after which it is not found; nil: it never ends.
    package var freshUntil: Timestamp?
    /// The step that last changed the bytes.
    package var revision: Revision
    package var body: BodySummary
    /// The request of a read with a body, which a later read of the id sends again.
    package var request: RequestContent?

    package init(
        id: EntryID,
        kind: EntryKind,
        status: Int = 200,
        storedAt: Timestamp,
        revision: Revision = Revision(0),
        body: BodySummary
    ) {
        self.id = id
        self.kind = kind
        self.status = status
        self.storedAt = storedAt
        self.revision = revision
        self.body = body
    }
}

package enum EntryKind: Int64, Sendable {
    /// A client's own bytes.
    case blob = 0
    case fetched = 1
    /// The origin said that there is nothing: deleted, which is not evicted.
    case tombstone = 2
    /// The request headers by which the answers of a URL vary; an internal row that no client sees.
    case variants = 3
    /// An object of the normalized cache, in an internal form.
    case entity = 4
}

package struct BodySummary: Hashable, Sendable {
    package var byteCount: Int
    package var digest: Digest
    /// Whether it is one JSON text (RFC 8259) of at most ``Limits/inlineJSONBytesMax`` bytes.
    package var isJSON: Bool

    package init(byteCount: Int, digest: Digest, isJSON: Bool) {
        self.byteCount = byteCount
        self.digest = digest
        self.isJSON = isJSON
    }
}

/// 128 bits that stand for a body: its checksum on disk, its ETag, and its sameness.
package struct Digest: Hashable, Sendable {
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// 32 hexadecimal digits in lower case.
    package var text: String { text(between: "", "") }

    /// A strong entity tag made of it: `"larder-…"`.
    package var entityTag: String { text(between: "\"larder-", "\"") }

    /// By bytes: a hit prints one.
    private func text(between before: StaticString, _ after: StaticString) -> String {
        let start = before.utf8CodeUnitCount
        let count = start + 32 + after.utf8CodeUnitCount
        return String(unsafeUninitializedCapacity: count) { text in
            _ = text.initialize(from: UnsafeBufferPointer(start: before.utf8Start, count: start))
            for place in 0..<16 {
                let shift = 60 - 4 * place
                text[start + place] = Self.hexDigit(high >> shift)
                text[start + 16 + place] = Self.hexDigit(low >> shift)
            }
            for place in 0..<after.utf8CodeUnitCount {
                text[start + 32 + place] = after.utf8Start[place]
            }
            return count
        }
    }

    private static func hexDigit(_ word: UInt64) -> UInt8 {
        let digit = UInt8(truncatingIfNeeded: word & 15)
        return digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
    }
}

extension Entry {
    /// Whether its lifetime is over at `now`, or its time of storing lies in the future.
    package func isStale(at now: Timestamp) -> Bool {
        guard let freshUntil, storedAt <= now else { return kind == .fetched }
        return freshUntil <= now
    }

    /// Whether a client's blob is past its `ttl`: it reads as a miss and is the first to go.
    package func isExpired(at now: Timestamp) -> Bool {
        guard kind == .blob, let freshUntil else { return false }
        return freshUntil <= now
    }

    /// How long ago the bytes were given or confirmed; never negative.
    package func age(at now: Timestamp) -> Duration { max(.zero, now.since(storedAt)) }

    /// The ETag of these bytes: the origin's own, or one made of their digest.
    ///
    /// An origin's ETag of coded bytes does not name the decoded ones.
    package var entityTag: String {
        isDecoded ? body.digest.entityTag : etag ?? body.digest.entityTag
    }

    /// Name of the daemon's own field in the head of a body that came in a content coding.
    ///
    /// The value is the coding. No client sees the field.
    package static let codingField = "Larder-Coding"

    /// Name of the daemon's own field with the URL that gave the bytes after redirects.
    ///
    /// Clients see it in the head of a body.
    package static let sourceField = "Larder-Source"

    /// The URL whose answer this is, if redirects led there from the entry's own URL.
    ///
    /// The validators are of that URL: a 304 of any other says nothing about the bytes.
    package var source: WebURL? {
        get { headers[Self.sourceField].flatMap { try? WebURL($0) } }
        set {
            headers.remove(Self.sourceField)
            if let newValue { headers.append(Self.sourceField, newValue.text) }
        }
    }

    /// Whether the origin sent the bytes in a content coding, so that its validators name others.
    package var isDecoded: Bool { headers.isOfDecodedBody }
}

extension HeaderFields {
    /// Whether the body came in a content coding, see ``Entry/codingField``.
    package var isOfDecodedBody: Bool { fields.first?.name == Entry.codingField }

    /// Notes the coding of a body that is decoded; as the first field it is found without a search.
    package mutating func mark(coding: String) {
        self = HeaderFields([Field(name: Entry.codingField, value: coding)] + fields)
    }
}

/// State of a pin: how it keeps its entry permanently.
package enum PinState: Int64, Sendable, CaseIterable {
    /// The bytes are in `state.db`, as the origin or the client last sent them.
    case held = 0
    /// Nothing was cached; it is fetched as soon as its origin answers.
    case waiting = 1
    /// The last version is larger than an entry or the pins may be.
    ///
    /// An earlier version that fitted stays.
    case tooLarge = 2
    /// The origin has deleted it; the bytes stay.
    case gone = 3
    /// The origin refuses it, or its bytes were damaged.
    case failed = 4

    /// States in which a pin does not keep the wanted bytes, and the daemon does not try again.
    package static let failures: [PinState] = [.tooLarge, .failed]
}

/// Why a pin is neither held nor waiting.
package struct PinTrouble: Equatable, Sendable {
    /// A problem's kind: the part of its type after `urn:larder:`.
    package var problem: String
    /// A sentence for people.
    package var reason: String

    package init(problem: String, reason: String) {
        self.problem = problem
        self.reason = reason
    }
}

/// The number of one logical step; one counter for the daemon, survives restarts, orders events.
package struct Revision: Hashable, Sendable, Comparable {
    package let number: Int64

    package init(_ number: Int64) { self.number = number }

    package static func < (left: Revision, right: Revision) -> Bool { left.number < right.number }
}
