import LarderModel
import LarderStore
import Logging

/// Answers of one URL that differ by request headers (RFC 9110 12.5.5, Vary).
///
/// The id of such an answer is the URL, then ` name=value` for each header that Vary names and the
/// request carried, sorted by name. In place of a secret its digest stands, as ids are shown, listed
/// and logged. A row of ours under ``markerID(of:)`` remembers the names, so that a later request
/// knows which of its headers count.
struct Variants: Sendable {
    let digestKey: DigestKey

    /// The id of the answer to `url` when the headers in `names` count.
    func id(
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

    /// No URL contains a space, so no answer stands under this id.
    static func markerID(of url: WebURL) throws(ModelError) -> EntryID {
        try EntryID(url.text + " vary")
    }

    /// The URL's id, where an id is that of a variant's answer.
    static func url(of id: EntryID) -> EntryID? {
        guard let url = id.urlOfVariant,
            id.text.utf8.dropFirst(url.text.utf8.count).contains(UInt8(ascii: "="))
        else { return nil }
        return url
    }

    static func prefix(of id: EntryID) -> String? { id.variantPrefix }

    /// The names in an answer's Vary, in lower case and sorted.
    ///
    /// `*` names nothing that could be told apart: such an answer is stale at once (``Freshness``).
    static func names(in answer: HeaderFields) -> [String] {
        Set(answer.listed("Vary")).filter { $0 != "*" }.sorted()
    }
}

/// The variants of a URL that is written to: they show the write, and hear of it.
extension EngineContext {
    /// Whether unsettled changes show under an id: they target it, or the URL of which it is a
    /// variant.
    func hasChanges(_ scope: ScopeKey, _ id: EntryID) -> Bool {
        guard store.modifiers.hasTargets else { return false }
        return store.modifiers.isTarget(scope, id)
            || Variants.url(of: id).map { store.modifiers.isTarget(scope, $0) } == true
    }

    /// Where the variants of a target are that one sees, where it is a URL.
    func variantPlaces(of id: EntryID, _ scope: ScopeKey) -> VariantPlaces? {
        Variants.prefix(of: id).map { VariantPlaces(prefix: $0, scopes: sight(scope, id).scopes) }
    }
}

extension ChangeCause {
    /// A modifier has done it, and so who has accepted that.
    init(_ modifier: StoredModifier) {
        let client = modifier.client.flatMap(ClientTag.init(text:))
        self.init(.modifier, text: "modifier:\(modifier.id)", client: client)
    }
}

extension Variants {
    /// Tells whoever watches variants that a modifier has come or gone.
    ///
    /// Where that fails they are seen all the same by who looks.
    static func tell(
        _ variants: [VariantRow],
        _ scope: ScopeKey,
        of cause: ChangeCause,
        in context: EngineContext
    ) async {
        guard !variants.isEmpty else { return }
        let now = context.clock.now()
        do throws(StoreError) {
            let news = try await context.store.read(as: .sending) { reader throws(StoreError) in
                var news: [RowNews] = []
                let look = EntryReader(context: context, scope: scope, reader: reader, now: now)
                for variant in variants {
                    let head = try look.head(of: variant.id)
                    let event: Change.Event =
                        head?.entry.kind == .tombstone
                        ? .delete(variant.id, cause) : .put(variant.id, cause)
                    news.append(RowNews(variant.id, in: variant.place, seenBy: scope.scope, event))
                }
                return news
            }
            try await context.store.renew(news)
        } catch {
            context.note("the variants of a target were not told", error)
        }
    }
}
