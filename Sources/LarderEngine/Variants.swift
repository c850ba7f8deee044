import LarderModel

/// Answers of one URL that differ by request headers (RFC 9110 12.5.5, Vary).
///
/// The id of such an answer is the URL, then ` name=value` for each header that Vary names and the
/// request carried, sorted by name. A row of ours under ``markerID(of:)`` remembers the names, so
/// that a later request knows which of its headers count.
enum Variants {
    /// The id of the answer to `url` when the headers in `names` count.
    static func id(
        of url: WebURL,
        names: [String],
        request: HeaderFields
    ) throws(ModelError) -> EntryID {
        let parts = names.sorted().compactMap { name in
            request.list(name).map { " \(name)=\($0)" }
        }
        return try EntryID(url.text + parts.joined())
    }

    /// No URL contains a space, so no answer stands under this id.
    static func markerID(of url: WebURL) throws(ModelError) -> EntryID {
        try EntryID(url.text + " vary")
    }

    /// The names in an answer's Vary, in lower case and sorted.
    ///
    /// `*` names nothing that could be told apart.
    static func names(in answer: HeaderFields) -> [String] {
        guard let vary = answer.list("Vary") else { return [] }
        let names = vary.split(separator: ",").map { name in
            name.filter { $0 != " " && $0 != "\t" }.lowercased()
        }
        return Set(names).filter { $0 != "*" }.sorted()
    }
}
