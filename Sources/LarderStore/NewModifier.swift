package import LarderModel

package struct NewModifier: Sendable {
    package let id: ModifierID
    package var isIDMade = false
    package let scope: ScopeKey
    package let origin: OriginName
    package var request: QueuedRequest
    package var changes: [NewChange]
    package var digest: Digest
    package var lane: LaneName?
    package var dependsOn: [ModifierNumber] = []
    package var holdUntil: Timestamp?
    package var expiresAt: Timestamp?
    package var attemptsMax: Int?
    package var afterUnknown: ModifierRules.UnknownRule?
    package var ifMatch: ModifierRules.MatchRule?
    package var onConflict: ModifierRules.ConflictRule?
    /// The idempotency key of its first round.
    package var key: String?
    /// The kind of credential that its account has at the origin now.
    package var credential: CredentialNeed?
    package var client: ClientTag?
    /// The temporary ids that it names, with those that are not known yet.
    package var temporaries: [TemporaryUse] = []

    package init(
        id: ModifierID,
        scope: ScopeKey,
        origin: OriginName,
        request: QueuedRequest,
        changes: [NewChange],
        digest: Digest
    ) {
        self.id = id
        self.scope = scope
        self.origin = origin
        self.request = request
        self.changes = changes
        self.digest = digest
    }

    var state: ModifierState { holdUntil == nil ? .queued : .held }

    /// Size that counts against `queue.max_bytes`: texts, bytes and an overhead for each row.
    var size: Int64 {
        var bytes = Limits.rowOverheadBytes + scope.text.utf8.count + id.text.utf8.count
        bytes += origin.text.utf8.count + (lane?.text.utf8.count ?? 0) + dependsOn.count * 8
        bytes += (key?.utf8.count ?? 0) + (client?.text.utf8.count ?? 0) + request.byteCount
        for change in changes {
            bytes += Limits.rowOverheadBytes + scope.text.utf8.count + change.id.text.utf8.count
            bytes += change.effect.count + (change.parentLines?.utf8.count ?? 0)
            bytes += (change.seen?.base.count ?? 0) + (change.seen?.view?.count ?? 0)
        }
        bytes += temporaries.count * 2 * Limits.rowOverheadBytes
        return Int64(bytes)
    }
}

package struct NewChange: Equatable, Sendable {
    package let id: EntryID
    /// As the engine writes it; the store does not look into it.
    package var effect: [UInt8]
    /// Whether all users share the target's answers.
    ///
    /// Its base is then the shared row, where its user sees that.
    package let isOfSharedRow: Bool
    /// Places of the target's variants; nil if the target is not a URL.
    package let variants: VariantPlaces?
    /// Whether only effects name the target: they put it into documents.
    package var isImplied = false
    /// The documents into which effects of the same modifier put the target.
    package var parents: [EntryID] = []
    /// The values that its modifier sees of the target, if they are known before it is stored.
    var seen: SeenValues?

    package init(
        id: EntryID,
        effect: [UInt8],
        isOfSharedRow: Bool = false,
        variants: VariantPlaces? = nil
    ) {
        self.id = id
        self.effect = effect
        self.isOfSharedRow = isOfSharedRow
        self.variants = variants
    }
}

package struct QueuedRequest: Equatable, Sendable {
    package var method: String
    package var url: WebURL
    package var headers: HeaderFields
    package var mediaType: String?
    package var body: [UInt8]

    package init(
        method: String,
        url: WebURL,
        headers: HeaderFields = HeaderFields(),
        mediaType: String? = nil,
        body: [UInt8] = []
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.mediaType = mediaType
        self.body = body
    }

    var byteCount: Int {
        method.utf8.count + url.text.utf8.count + headers.byteCount + body.count
            + (mediaType?.utf8.count ?? 0)
    }
}

package struct Submission: Sendable {
    package let number: ModifierNumber
    package let revision: Revision
    package let digest: Digest
    let isSettled: Bool
    package let origin: String
    package let url: WebURL?
}

package struct RequeuedModifier: Sendable {
    package let number: ModifierNumber
    package let cause: ChangeCause
    package let variants: [VariantRow]
}

package enum Acceptance: Equatable, Sendable {
    /// `variants` are the rows that show its targets although no change names them.
    ///
    /// `dependsOn` has what it named, and the modifiers that create what it names.
    case accepted(
        ModifierNumber,
        Revision,
        variants: [VariantRow],
        dependsOn: [ModifierNumber]
    )
    /// The modifier had been accepted before; `isSettled` when it has left the queue since.
    case existing(ModifierNumber, Revision, isSettled: Bool)

    package var isNew: Bool { if case .accepted = self { true } else { false } }

    package var number: ModifierNumber {
        switch self {
        case .accepted(let number, _, _, _), .existing(let number, _, _): number
        }
    }
}
