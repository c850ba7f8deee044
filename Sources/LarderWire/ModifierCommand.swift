package import LarderAPI
package import LarderJSON
package import LarderModel

/// A modifier of `POST /v1/modifiers`: its local changes, and the request that makes them on the
/// server.
package struct ModifierCommand: Equatable, Sendable {
    package struct Change: Equatable, Sendable {
        package var target: EntryID
        package var effect: Effect

        package init(target: EntryID, effect: Effect) {
            self.target = target
            self.effect = effect
        }
    }

    /// Nil: the daemon chooses an id.
    package var id: ModifierID?
    /// 0 to ``Limits/modifierChangesMax``.
    package var changes: [Change]
    package var request: Request
    package var account = AccountName.default
    package var lane: LaneName?
    /// 0 to ``Limits/modifierDependenciesMax``.
    package var dependsOn: [ModifierID] = []
    /// Time in which the client may cancel it before it is sent: 0 to ``Limits/modifierHoldMax``.
    package var hold: Duration?
    /// Longest wait for its first attempt: 1 ms to ``Limits/modifierLifetimeMax``.
    package var expires: Duration?
    /// Counted attempts before it fails; nil: no limit.
    package var attemptsMax: Int?
    /// Nil: the origin's rule applies.
    package var afterUnknown: ModifierRules.UnknownRule?
    /// Nil: the origin's rule applies; so for ``onConflict``.
    package var ifMatch: ModifierRules.MatchRule?
    package var onConflict: ModifierRules.ConflictRule?

    package init(changes: [Change], request: Request) {
        self.changes = changes
        self.request = request
    }

    /// The request that follows from the effect of a single change; nil if there is none.
    ///
    /// The request goes to the target's own URL, which is nil for an entity and for a temporary id.
    package static func derivedRequest(for changes: [Change]) -> Request? {
        guard changes.count == 1, let change = changes.first else { return nil }
        let url = try? WebURL(change.target.text)
        guard url != nil || change.target.isEntity || change.target.temporary != nil else {
            return nil
        }
        var body = JSONWriter()
        var request = Request(method: "PATCH", url: url)
        switch change.effect {
        case .put(let value):
            request.method = "PUT"
            request.headers.append("Content-Type", MediaType.json)
            body.value(value)
        case .merge(let value):
            request.headers.append("Content-Type", MediaType.mergePatch)
            body.value(value)
        case .patch(let operations):
            request.headers.append("Content-Type", MediaType.jsonPatch)
            body.patch(operations)
        case .delete:
            return Request(method: "DELETE", url: url)
        case .replace, .set, .add, .listAdd, .listRemove, .none, .all:
            return nil
        }
        request.body = .bytes(body.bytes)
        return request
    }
}

/// The body of `POST /v1/modifiers`: one modifier, or a list of which all are accepted or none.
package struct ModifiersCommand: Equatable, Sendable {
    /// 1 to ``Limits/modifiersPerCommandMax``, of one account.
    package var modifiers: [ModifierCommand]
    /// Whether the client gave a list, so that the answer is a list.
    package var isList: Bool
    /// The account of all modifiers of the command.
    package var account: AccountName { modifiers.first?.account ?? .default }

    package init(_ modifier: ModifierCommand) {
        modifiers = [modifier]
        isList = false
    }

    package init(all modifiers: [ModifierCommand]) {
        self.modifiers = modifiers
        isList = true
    }
}

extension ModifierCommand {
    /// The request that makes a modifier's changes on the server.
    package struct Request: Equatable, Sendable {
        package enum Body: Equatable, Sendable {
            case none
            case bytes([UInt8])
            /// The bytes that an entry shows when the modifier is accepted.
            case entry(EntryID)
        }

        /// A token of RFC 9110 9.1, in upper case; neither GET, HEAD, CONNECT nor TRACE.
        package var method: String
        /// Nil for a request derived from an entity or a temporary id.
        ///
        /// The rule of the entity's type gives the URL, or the answer to the write that creates it.
        package var url: WebURL?
        /// Checked by ``RequestHeaderRules``; with the Content-Type of the body, if there is one.
        package var headers: HeaderFields
        package var body: Body

        package init(
            method: String,
            url: WebURL?,
            headers: HeaderFields = HeaderFields(),
            body: Body = .none
        ) {
            self.method = method
            self.url = url
            self.headers = headers
            self.body = body
        }
    }
}

/// The query of `GET /v1/modifiers`, without the owner of the modifiers.
package struct ModifierListCommand: Equatable, Sendable {
    /// Which modifiers: `state=`.
    package enum Selection: Equatable, Sendable {
        case one(ModifierState)
        case settled
        case unsettled

        package init?(text: String) {
            guard let selection = Self.all.first(where: { $0.text == text }) else { return nil }
            self = selection
        }

        private static let all = ModifierState.allCases.map(Self.one) + [.settled, .unsettled]
        /// All texts that ``init(text:)`` takes.
        package static let texts = all.map(\.text)

        package var text: String {
            switch self {
            case .one(let state): state.rawValue
            case .settled: "settled"
            case .unsettled: "unsettled"
            }
        }
    }

    /// Nil: unsettled and failed modifiers.
    package var selection: Selection?
    package var lane: Lane?
    /// Modifiers in one page: 1 to ``Limits/pageRowsMax``.
    package var limit = Limits.pageRowsDefault
    /// The `next` of the page before.
    package var cursor: String?
    /// How long to wait for nothing to be left; with `state=unsettled` only.
    package var wait: Duration?

    package init() {}

    /// Checks what the types of the parameters do not.
    package init(_ given: ModifierListQuery) throws(Problem) {
        if let text = given.state {
            guard let selection = Selection(text: text) else {
                throw Problem(.unknownValue(at: "state", text: text, known: Selection.texts))
            }
            self.selection = selection
        }
        lane = try given.lane.map { text throws(Problem) in
            try Problem.reading("lane", text, Lane.init(given:))
        }
        limit = try given.page.checkedLimit()
        cursor = given.page.cursor
        wait = try given.wait?.checked("wait")
        guard wait == nil || selection == .unsettled else {
            throw Problem(.badRequest, "wait: only state=unsettled takes it")
        }
    }
}
