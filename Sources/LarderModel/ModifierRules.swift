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
    /// The text of the string, number, boolean or null that is there; nil for any value but null,
    /// false, 0 and an empty string, list or object.
    package var equals: String?

    package init(pointer: String, equals: String? = nil) {
        self.pointer = pointer
        self.equals = equals
    }
}

/// How an origin is told that two requests are the same write.
package struct IdempotencyRule: Hashable, Sendable {
    package var header = "Idempotency-Key"
    /// Whether the origin promises to do what carries the same key once only.
    package var isHonoured = false

    package init() {}
}

/// The name of a modifier: the client's own, or one that the daemon made (``ulid(at:using:)``).
///
/// It names one modifier within its scope, and is what its idempotency keys are made of, so it is
/// of letters that every header takes.
package struct ModifierID: Hashable, Sendable, CustomStringConvertible {
    package let text: String

    package var description: String { text }

    /// Takes 1 to 128 letters, digits, `.`, `_`, `:`, `@` and `-`.
    package init(_ text: String) throws(ModelError) {
        guard (1...Limits.modifierIDBytesMax).contains(text.utf8.count),
            text.utf8.allSatisfy({ $0.isASCIIAlphanumeric || "._:@-".utf8.contains($0) })
        else { throw .badModifierID(text) }
        self.text = text
    }

    private init(unchecked text: String) { self.text = text }

    /// A new name: 48 bits of the time in milliseconds and 80 drawn ones, as 26 letters of
    /// Crockford's base 32 (https://github.com/ulid/spec).
    package static func ulid(
        at moment: Timestamp,
        using generator: inout some RandomNumberGenerator
    ) -> ModifierID {
        let time = UInt64(moment.milliseconds.clamped(to: 0...(1 << 48 - 1)))
        var letters: [UInt8] = []
        for place in (0..<10).reversed() {
            letters.append(crockford[Int(time >> UInt64(place * 5) & 31)])
        }
        for _ in 0..<2 {
            let drawn = generator.next()
            for place in 0..<8 { letters.append(crockford[Int(drawn >> UInt64(place * 5) & 31)]) }
        }
        return ModifierID(unchecked: String(decoding: letters, as: UTF8.self))
    }
}

/// Without the letters I, L, O and U.
private let crockford = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

/// The number that a modifier got when it was accepted: later ones are larger, and the order of
/// the queue is theirs.
package struct ModifierNumber: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let value: Int64

    package var description: String { String(value) }

    package init(_ value: Int64) { self.value = value }

    package static func < (left: ModifierNumber, right: ModifierNumber) -> Bool {
        left.value < right.value
    }
}

package enum ModifierReason: String, Sendable, CaseIterable {
    /// All allowed attempts failed.
    case attempts
    /// The moment before which it was to be sent has passed.
    case expired
    /// The origin refused the modifier permanently.
    case refused
    /// Another device had changed what the modifier changes.
    case conflict
    case parentFailed = "parent_failed"
    /// The row cannot be read, or holds a value that only a later version knows.
    case unreadable
    /// A client gave the modifier up after bytes of it may have left.
    case discarded
    /// A client gave the modifier up before any byte of it left.
    case cancelled
}

package enum ModifierState: String, Sendable, CaseIterable {
    /// The hold is not over.
    case held
    /// The modifier may be sent when it heads its lanes.
    case queued
    /// The send step is committed; bytes may have left.
    case inFlight = "in_flight"
    case confirmed
    /// The origin has accepted the modifier without its outcome (202).
    ///
    /// The view still shows it, but its lanes go on.
    case accepted
    /// The modifier was not applied and will be sent again.
    case retryWait = "retry_wait"
    /// Bytes left and no clear answer came.
    case unknown
    /// The account's credential was refused.
    case authWait = "auth_wait"
    /// Another device has changed what the modifier changes, and a person decides.
    case conflict
    case failed
    case cancelled

    /// States in which a modifier stays until a person acts.
    package static let waitingForPerson: [ModifierState] = [
        .conflict, .unknown, .authWait, .failed,
    ]

    package var isSettled: Bool {
        switch self {
        case .confirmed, .failed, .cancelled: true
        case .held, .queued, .inFlight, .accepted, .retryWait, .unknown, .authWait, .conflict:
            false
        }
    }
}

/// Whether a new state of a modifier begins another round of attempts, with the next key.
package enum ModifierRound: Equatable, Sendable {
    case same
    case next
    /// A person keeps the modifier: what was found at its targets counts as seen.
    case decided
}

/// Conditions of a write on the state under its id (RFC 9110 13.1.1, 13.1.2).
package struct WriteConditions: Equatable, Sendable {
    /// The values of If-Match and of If-None-Match; empty where there is none.
    package let ifMatch: [String]
    package let ifNoneMatch: [String]

    package init(ifMatch: [String] = [], ifNoneMatch: [String] = []) {
        self.ifMatch = ifMatch
        self.ifNoneMatch = ifNoneMatch
    }

    package var isEmpty: Bool { ifMatch.isEmpty && ifNoneMatch.isEmpty }

    /// Whether the write may go on where a read gives `tag`; nil where it shows nothing.
    package func areMet(by tag: String?) -> Bool {
        guard let tag else { return ifMatch.isEmpty }
        if !ifMatch.isEmpty, !EntityTagList.containsStrongly(tag, in: ifMatch) { return false }
        return ifNoneMatch.isEmpty || !EntityTagList.contains(tag, in: ifNoneMatch)
    }
}
