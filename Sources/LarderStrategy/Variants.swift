package import LarderModel

/// Answers of one URL that differ by request headers (RFC 9110 12.5.5, Vary).
///
/// The id of such an answer is the URL, then ` name=value` for each header that Vary names and the
/// request carried, sorted by name. The id contains the digest of a secret instead of the secret,
/// as ids are shown, listed and logged. A row of Larder's own under ``markerID(of:)`` remembers the
/// names, so that a later request knows which of its headers count.
package struct Variants: Sendable {
    private let digestKey: DigestKey

    package init(digestKey: DigestKey) {
        self.digestKey = digestKey
    }

    package func id(
        of url: WebURL,
        names: [String],
        request: HeaderFields,
        origin: OriginSettings
    ) throws(ModelError) -> EntryID {
        let parts = names.sorted().compactMap { name in
            request.list(name).map { value in
                let isSecret = HeaderFields.holdsSecret(name) || origin.headers[name] != nil
                return " \(name)=\(isSecret ? digestKey.digest(of: "\(name)=\(value)") : value)"
            }
        }
        return try EntryID(url.text + parts.joined())
    }

    /// The id of the row for the names; no answer has it, as no URL contains a space.
    package static func markerID(of url: WebURL) throws(ModelError) -> EntryID {
        try EntryID(url.text + " vary")
    }

    /// The id of the URL, if `id` is a variant's.
    package static func url(of id: EntryID) -> EntryID? {
        guard let url = id.urlOfVariant,
            id.text.utf8.dropFirst(url.text.utf8.count).contains(UInt8(ascii: "="))
        else { return nil }
        return url
    }

    /// The names in an answer's Vary, in lower case and sorted.
    ///
    /// `*` names no header: such an answer is stale from the start (``Freshness``).
    package static func names(in answer: HeaderFields) -> [String] {
        Set(answer.listed("Vary")).filter { $0 != "*" }.sorted()
    }
}
