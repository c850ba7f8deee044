import LarderModel
import LarderStore
import LarderStrategy

/// Data of a modifier between its send step and the step that follows its attempt.
struct Attempted {
    /// The modifier to send; nil once it is sent.
    private var departing: DepartingModifier?
    var bases: [EntryID: BodySummary] = [:]
    /// Whether its request has an If-Match of the daemon.
    private(set) var isConditional = false
    var verdict: ModifierVerdict?
    var answer: ModifierAttempt.Answer?
    var keptHeaders = HeaderFields()
    /// Number of a fetch that starts when the answer came; its entities are as new as that.
    var fetch: Revision?
    var conflict: Conflicts.Finding?
    /// Whether the answer may tell the ids of what the modifier creates.
    private(set) var createsIDs = true
    /// Whether base has shown the effect, which the origin then said itself.
    var isShownByRead = false

    init(_ departing: DepartingModifier? = nil) {
        self.departing = departing
        createsIDs = departing?.createsIDs ?? true
        isConditional = departing?.whole.modifier.etag != nil
        bases = departing?.bases.compactMapValues(\.serverValue) ?? [:]
    }

    var keptAnswer: StoredAnswer? {
        answer.map { answer in
            StoredAnswer(
                status: answer.status,
                headers: keptHeaders,
                body: Array(answer.body.prefix(Limits.quotedBodyBytesMax)),
                at: answer.at
            )
        }
    }

    mutating func takeDeparting() -> (DepartingModifier, bases: [EntryID: BodySummary])? {
        defer { departing = nil }
        return departing.map { ($0, bases) }
    }
}
