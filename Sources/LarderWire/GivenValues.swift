@_exported public import LarderAPI
package import LarderModel

// Values that a command gives as texts, refused by a problem that names the member.

extension Problem {
    package static func checking<Value>(
        _ name: String? = nil,
        _ kind: ProblemKind = .badRequest,
        _ make: () throws(ModelError) -> Value
    ) throws(Problem) -> Value {
        do throws(ModelError) {
            return try make()
        } catch {
            throw Problem(kind, name.map { "\($0): \(error.message)" } ?? error.message)
        }
    }

    /// Makes a value of a text that a command gives.
    package static func reading<Value>(
        _ name: String?,
        _ text: String,
        _ make: (String) throws(ModelError) -> Value,
        _ kind: ProblemKind = .badRequest
    ) throws(Problem) -> Value {
        try checking(name, kind) { () throws(ModelError) in try make(text) }
    }

    /// Decodes a body or a query; a failure becomes a problem.
    package static func decoding<Value>(
        _ decode: () throws(APIDecodingError) -> Value
    ) throws(Problem) -> Value {
        do throws(APIDecodingError) {
            return try decode()
        } catch {
            throw Problem(error)
        }
    }
}

extension EntryID {
    package init(command text: String, of name: String? = nil) throws(Problem) {
        self = try Problem.reading(name, text, EntryID.init(given:), .badID)
    }

    package static func prefix(command text: String) throws(Problem) -> String {
        try Problem.reading("prefix", text, EntryID.prefix(given:))
    }
}

extension OriginName {
    package init(command text: String) throws(Problem) {
        self = try Problem.checking("origin") { () throws(ModelError) in try OriginName(text) }
    }
}

extension OriginName? {
    package init(command text: String?) throws(Problem) {
        self = try text.map { text throws(Problem) in try OriginName(command: text) }
    }
}

extension AccountName {
    /// The name in a command; nil: the default account.
    package init(command text: String?) throws(Problem) {
        self = try Problem.checking("account") { () throws(ModelError) in
            try text.map { text throws(ModelError) in try AccountName(text) } ?? .default
        }
    }
}

extension Duration {
    package func checked(
        _ name: String,
        in range: ClosedRange<Duration> = .zero...Limits.fetchTimeMax
    ) throws(Problem) -> Duration {
        guard range.contains(self) else {
            let (least, most) = (range.lowerBound.unitText, range.upperBound.unitText)
            throw Problem(.badRequest, "\(name): '\(unitText)' is not within \(least) to \(most)")
        }
        return self
    }
}

extension Int {
    package func checked(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int {
        guard range.contains(self) else {
            let bounds = "\(range.lowerBound) to \(range.upperBound)"
            throw Problem(.badRequest, "\(name): '\(self)' is not a number from \(bounds)")
        }
        return self
    }
}

extension Collection {
    /// Refuses a list of which more or fewer elements are given than are taken.
    package func checkCount(
        _ name: String,
        in range: ClosedRange<Int>,
        hint: String? = nil
    ) throws(Problem) {
        guard !range.contains(count) else { return }
        let (least, most) = (range.lowerBound, range.upperBound)
        let taken = least == 0 ? "at most \(most)" : "\(least) to \(most)"
        throw Problem(.badRequest, "\(name): \(count) are given, \(taken) are taken", hint: hint)
    }
}

extension PageQuery {
    package func checkedLimit() throws(Problem) -> Int {
        try (limit ?? Limits.pageRowsDefault).checked("limit", in: 1...Limits.pageRowsMax)
    }
}

extension Problem {
    /// The problem of a body or a query that cannot be decoded.
    package init(_ error: APIDecodingError) {
        let kind: ProblemKind =
            switch error {
            case .unknownMember(_, in: _, known: _, .json): .unknownMember
            case .unknownMember(_, in: _, known: _, .query): .unknownParameter
            case _: .badRequest
            }
        self.init(kind, error.message)
    }
}

// LarderAPI has types of these names, for the wire; here they are the model's.
package typealias DeletionRule = LarderModel.DeletionRule
package typealias EntryKind = LarderModel.EntryKind
package typealias FetchPolicy = LarderModel.FetchPolicy
package typealias ModifierChange = LarderModel.ModifierChange
package typealias ModifierReason = LarderModel.ModifierReason
package typealias ModifierState = LarderModel.ModifierState
package typealias OriginSource = LarderModel.OriginSource
package typealias OriginState = LarderModel.OriginState
package typealias PinState = LarderModel.PinState
package typealias Timestamp = LarderModel.Timestamp
package typealias WatchKind = LarderModel.WatchKind

/// A body that a command gives in one of several members.
package struct GivenBody: Equatable, Sendable {
    /// The member.
    package let name: String
    package let bytes: [UInt8]
    /// The media type, if the command gives none.
    package let type: String

    package init(name: String, bytes: [UInt8], type: String) {
        (self.name, self.bytes, self.type) = (name, bytes, type)
    }

    /// Reads `body`, `body_text` or `body_b64`; nil if none is given.
    ///
    /// Throws if several are, those in `others` among them. The problem begins with `place`.
    package init?(
        _ json: [UInt8]?,
        _ text: String?,
        base64: String?,
        besides others: [String] = [],
        of place: String = ""
    ) throws(Problem) {
        var given: [GivenBody] = []
        if let json { given.append(GivenBody(name: "body", bytes: json, type: MediaType.json)) }
        if let text {
            let bytes = Array(text.utf8)
            given.append(GivenBody(name: "body_text", bytes: bytes, type: MediaType.text))
        }
        if let base64 {
            guard let bytes = Base64.decode(base64) else {
                throw Problem(.badRequest, "\(place)body_b64: it is not base64 (RFC 4648 4)")
            }
            given.append(GivenBody(name: "body_b64", bytes: bytes, type: MediaType.bytes))
        }
        let names = given.map(\.name) + others
        guard names.count <= 1 else {
            let list = names.joined(separator: " and ")
            throw Problem(.badRequest, "\(place)\(list) are given, one body is taken")
        }
        guard let only = given.first else { return nil }
        self = only
    }
}

/// The rows that a request reads or changes: `scope=own|shared|user:N|all`.
///
/// `account` selects an account within `own` and `user:N`. Without it, `own` uses the default
/// account and `user:N` all accounts. `user:N` and `all` are for administrators.
package enum ScopeSelection: Equatable, Sendable {
    case own(AccountName)
    case shared
    case user(UInt32, AccountName?)
    case all

    package init(scope: String?, account: AccountName?) throws(Problem) {
        guard let scope, scope != "own" else {
            self = .own(account ?? .default)
            return
        }
        if scope.hasPrefix("user:"), let uid = Scope.uid(scope.dropFirst(5)) {
            self = .user(uid, account)
            return
        }
        let everybodys = [ScopeSelection.shared, .all]
        guard let selection = everybodys.first(where: { $0.text == scope }) else {
            throw Problem(.badRequest, "scope: '\(scope)' is none of own, shared, user:N, all")
        }
        guard account == nil else {
            throw Problem(.badRequest, "account: it does not go with scope=\(scope)")
        }
        self = selection
    }

    package init(_ query: ScopeQuery) throws(Problem) {
        let account = try Problem.checking("account") { () throws(ModelError) in
            try query.account.map { text throws(ModelError) in try AccountName(text) }
        }
        try self.init(scope: query.scope, account: account)
    }

    /// The parameter `scope`.
    package var text: String {
        switch self {
        case .own: "own"
        case .shared: "shared"
        case .user(let uid, _): "user:\(uid)"
        case .all: "all"
        }
    }

    /// The parameter `account`.
    package var account: AccountName? {
        switch self {
        case .own(let account): account == .default ? nil : account
        case .user(_, let account): account
        case .shared, .all: nil
        }
    }

    package var isOthers: Bool {
        switch self {
        case .own, .shared: false
        case .user, .all: true
        }
    }
}

extension PercentCoding {
    /// The id in the rest of a path, `https:%2F%2Fapi.example.com%2F42`; a bare `/` is taken too.
    package static func id(inPath rest: Substring) throws(Problem) -> EntryID {
        guard let text = decoded(rest.utf8) else {
            throw Problem(.badID, "the id in the path is not percent-encoded UTF-8")
        }
        return try EntryID(command: text)
    }

    package static func entryPath(_ id: EntryID) -> String {
        "/v1/entries/" + encode(id.description)
    }

    package static func pinPath(_ id: EntryID) -> String { "/v1/pins/" + encode(id.description) }

    package static func modifierPath(_ id: ModifierID) -> String {
        "/v1/modifiers/" + encode(id.text)
    }

    package static func lanePath(_ lane: Lane) -> String { "/v1/lanes/" + encode(lane.description) }
}
