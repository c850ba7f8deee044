public import FoundationEssentials
import LarderModel
package import LarderWire

/// What accepting a modifier came to: it is on disk, shows, and will be sent.
public struct AcceptedModifier: Equatable, Sendable {
    package let receipt: ModifierReceipt

    /// Its name, for all that is asked of it later.
    public var id: String { receipt.id.text }
    /// How it stands with it.
    public var state: ModifierStatus.State { ModifierStatus.State(receipt.state) }
    /// The daemon's number of the step.
    public var revision: Int64 { receipt.revision.number }
    /// When it was settled, where the same write had been given before under its name; nothing was
    /// written or sent by this one.
    public var settledAt: Date? { receipt.settledAt.map { Date($0) } }
}

/// How it stands with a modifier.
public struct ModifierStatus: Equatable, Sendable {
    package let report: ModifierReport

    /// Its name.
    public var id: String { report.id.text }
    /// How it stands with it.
    public var state: State { State(report.state) }
    /// Why it was settled without being confirmed; nil otherwise.
    public var reason: Reason? { report.reason.map(Reason.init) }
    /// What is true of it beside its state.
    public var marks: [Mark] { report.marks.map(Mark.init) }
    /// What it is sent in order with: its targets, and the lane that was named.
    public var lanes: [Modifier.Lane] { report.lanes.map(Modifier.Lane.init) }
    /// The ids of what it changes.
    public var targets: [String] { report.targets.filter { !$0.isEntity }.map(\.text) }
    /// The entities that it changes.
    public var entities: [EntityID] { report.targets.compactMap(\.entity).map(EntityID.init) }
    /// The method of its request.
    public var method: String { report.method }
    /// The URL of its request.
    public var url: String { report.url }
    /// How many bytes its request carries.
    public var bodyByteCount: Int { report.bodyByteCount }
    /// By what the server tells its attempts from other requests.
    public var idempotencyKey: String { report.idempotencyKey }
    /// Attempts that count.
    public var attempts: Int { report.attempts }
    /// When it is tried again; nil where that depends on something else.
    public var nextAttemptAt: Date? { report.nextAttemptAt.map { Date($0) } }
    /// Why it is not sent now; nil where nothing keeps it.
    public var wait: Wait? { report.waitingFor.map(Wait.init) }
    /// What the server last answered to it; nil where it did not.
    public var answer: Answer? { report.answer.map(Answer.init) }
    /// The ids of the modifiers that depend on it.
    public var dependants: [String] { report.dependants.map(\.text) }
    /// Whose it is.
    public var owner: EntryOwner { .user(report.uid, account: report.account.text) }
    /// When it was accepted.
    public var acceptedAt: Date { Date(report.acceptedAt) }
    /// When it was confirmed, failed or was cancelled; nil before.
    public var settledAt: Date? { report.settledAt.map { Date($0) } }
    /// The daemon's number of the step that last changed it.
    public var revision: Int64 { report.revision.number }
    /// What each target shows without it and with it; empty in lists.
    public var effects: [Effect] { report.effects.map(Effect.init) }
}

/// One page of modifiers.
public struct Modifiers: Equatable, Sendable {
    /// The modifiers.
    public let items: [ModifierStatus]
    /// What to give as `cursor` for the page after this one; nil on the last.
    public let next: String?
}
