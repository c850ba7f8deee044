package import LarderModel

/// Answers to one read that differ by request headers (RFC 9110 12.5.5, Vary).
///
/// The id of such an answer is the read's, then ` name=value` for each header that Vary names and the
/// request carried, sorted by name. The id contains the digest of a secret instead of the secret,
/// as ids are shown, listed and logged, and the digest of a value that is too long for an id, alone
/// or with the others, or has a tab. A row of Larder's own under ``markerID(of:)`` remembers the
/// names, so that a later request knows which of its headers count.
package struct Variants: Sendable {
    private let digestKey: DigestKey

    package init(digestKey: DigestKey) { self.digestKey = digestKey }

    /// The id of an answer to the read `id` whose Vary has `names`, or to which the origin's settings
    /// add some.
    package func id(
        of id: EntryID,
        names: [String],
        request: HeaderFields,
        origin: OriginSettings
    ) throws(ModelError) -> EntryID {
        let names = origin.fetch.vary.isEmpty ? names : Array(Set(names).union(origin.fetch.vary))
        func values(upTo bytesMax: Int) -> String {
            let parts = names.sorted().compactMap { name in
                request.list(name).map { value in
                    let isSecret = HeaderFields.holdsSecret(name) || origin.headers[name] != nil
                    let isShown = !isSecret && Self.isShown(value, upTo: bytesMax)
                    return " \(name)=\(isShown ? value : digestKey.digest(of: "\(name)=\(value)"))"
                }
            }
            return parts.joined()
        }
        var text = values(upTo: Limits.variantValueBytesMax)
        guard !text.isEmpty else { return id }
        // Several values may be too long together, or with a long URL.
        if id.text.utf8.count + text.utf8.count > Limits.idBytesMax { text = values(upTo: 0) }
        return try EntryID(id.text + text)
    }

    private static func isShown(_ value: String, upTo bytesMax: Int) -> Bool {
        value.utf8.count <= bytesMax && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    /// The id of the row for the names; no answer has it, as no URL contains a space.
    package static func markerID(of id: EntryID) throws(ModelError) -> EntryID {
        try EntryID(id.text + " vary")
    }

    /// The id of the read, if `id` is a variant's.
    package static func url(of id: EntryID) -> EntryID? {
        guard let read = id.urlOfVariant,
            id.text.utf8.dropFirst(read.text.utf8.count).contains(UInt8(ascii: "="))
        else { return nil }
        return read
    }

    /// The names in an answer's Vary, in lower case and sorted.
    ///
    /// `*` names no header: such an answer is stale from the start (``Freshness``).
    package static func names(in answer: HeaderFields) -> [String] {
        Set(answer.listed("Vary")).filter { $0 != "*" }.sorted()
    }
}
