/// How an origin's modifiers are sent, and what its answers to them mean.
package struct ModifierRules: Hashable, Sendable {
    /// Whether a write through the raw route is a modifier unless it says otherwise.
    package var respondsAsync = false
    package var idempotency = IdempotencyRule()
    package var answer = AnswerRule.auto
    /// Which 2xx is the origin's; nil: the content types tell.
    package var expect: ExpectRule?
    package var afterUnknown = UnknownRule.auto
    package var ifMatch = MatchRule.auto
    package var onConflict = ConflictRule.rebase
    package var coalesce = CoalesceRule.none
    /// How long a modifier that was answered 202 is shown, unless a read confirms it before.
    package var acceptedLimit = Duration.seconds(600)
    /// A 2xx whose body matches one of these is a refusal.
    package var refusedIf: [RefusalRule] = []
    /// After so many answers that it was not applied for now, a modifier is marked as stalled.
    package var stalledAfter = 10
    /// The forms that effects start from on targets of which nothing is known.
    package var empty: [EmptyForm] = []
    /// Fields that are kept of an answer besides ``standardKeptHeaders``; never a cookie.
    package var keptHeaders: [String] = []

    /// Fields that are kept of every answer to a modifier.
    package static let standardKeptHeaders = ["Content-Type", "Location", "ETag", "Date"]
    /// The place of a created thing's id in the answer (RFC 6901), such as `/id`.
    package var createdID: String?

    package init() {}

    /// The fields of an answer that are kept, up to ``Limits/keptHeaderBytesMax``.
    package func kept(_ headers: HeaderFields) -> HeaderFields {
        var kept = HeaderFields()
        for name in Self.standardKeptHeaders + keptHeaders {
            guard let value = headers.list(name), kept[name] == nil else { continue }
            kept.append(name, value)
            if kept.byteCount > Limits.keptHeaderBytesMax { kept.remove(name) }
        }
        return kept
    }

    /// Meaning of the body of a 2xx.
    package enum AnswerRule: String, Sendable, CaseIterable {
        /// The target itself where the answer says so.
        case auto
        /// Always the target itself.
        case representation
    }

    /// Which 2xx is the origin's, instead of a captive portal's.
    package enum ExpectRule: String, Sendable, CaseIterable {
        /// A 2xx with JSON, or without a body.
        case json
        /// Each 2xx.
        case any
    }

    /// Treatment of a modifier that may have reached the origin without a clear answer.
    package enum UnknownRule: String, Sendable, CaseIterable {
        /// The daemon sends it again if the origin cannot apply it twice; else it waits for a
        /// person.
        case auto
        /// The daemon sends it again with the same key.
        case resend
        /// The modifier waits for a person.
        case hold
    }

    /// Protection of what other devices have written.
    package enum MatchRule: String, Sendable, CaseIterable {
        /// If-Match is sent if the target's own URL gave a strong ETag.
        case auto
        /// As `auto`, after a read for the ETag if none is known.
        case strict
        /// No If-Match is sent, and the target is not compared.
        case none
    }

    /// Treatment of a modifier whose target another device has changed.
    package enum ConflictRule: String, Sendable, CaseIterable {
        /// Sent again if what the modifier changes is as it was, else a person decides.
        case rebase
        /// The modifier fails.
        case server
        /// Sent again over the value of the origin.
        case client
        /// The modifier waits for a person.
        case manual
    }

    /// Joining of modifiers that follow each other and have not been sent.
    package enum CoalesceRule: String, Sendable, CaseIterable {
        /// Each modifier is a request.
        case none
        /// Modifiers of the same targets are one request.
        case writes
        /// As `writes`; those that leave the targets as the origin has them are not sent.
        case net
    }
}

/// A document without content, such as a list without rows.
package struct EmptyForm: Hashable, Sendable {
    /// Path after the base URL, as in a rule for paths: `/lists/*/todos`.
    package var path: String
    /// A JSON text.
    package var form: String

    package init(path: String, form: String) {
        self.path = path
        self.form = form
    }
}

/// A place in a JSON answer that tells of a refusal.
package struct RefusalRule: Hashable, Sendable {
    /// RFC 6901, such as `/errors`.
    package var pointer: String
    /// The text of the string, number or boolean that is there; nil for any value but null, false, 0
    /// and an empty string, list or object.
    package var equals: String?

    package init(pointer: String, equals: String? = nil) {
        self.pointer = pointer
        self.equals = equals
    }
}

/// How an origin is told that two requests are the same write.
package struct IdempotencyRule: Hashable, Sendable {
    /// The header that carries the key.
    package var header = "Idempotency-Key"
    /// Whether the origin promises to do what carries the same key once only.
    package var isHonoured = false

    package init() {}
}
