import ArgumentParser
import LarderClient
import LarderJSON
import LarderModel

struct QueueShow: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Say what is known of one write.",
        discussion: """
            The report says what is sent, why it waits and until when, what the server answered, \
            and what each target shows without the write and with it. A refusal restores what the \
            target shows without it. Exit code 3 if no write has this id.

            Example: cachectl queue show 01JD2Q4W6Z0000000000000000
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @OptionGroup
    var one: OneModifier

    func run() async throws {
        let scope = options.scope(ofUser: one.uid)
        try await options.show {
            try await $0.modifier(one.id, scope: scope)
        } lines: { report, _ in
            table(report).lines
        }
    }

    private func table(_ report: ModifierReport) -> Table {
        let words = ModifierFormatter(report: report, now: WallClock.now())
        var table = Table(alignsRight: [false, false])
        func add(_ name: String, _ value: String?) {
            if let value { table.add(name, value) }
        }
        add("id", report.id)
        add("state", words.state)
        add("waits for", words.wait)
        add("until", report.waitingFor?.until?.text)
        add("request", "\(words.request), \(report.request.bodyBytes) bytes")
        add("idempotency key", report.request.idempotencyKey)
        add("joined into", report.joinedInto)
        add("attempts", String(report.attempts))
        if report.nextAttemptAt != report.waitingFor?.until {
            add("next attempt", report.nextAttemptAt?.text)
        }
        if let answer = report.answer {
            add("answer", "\(answer.status), \(answer.at.text)")
            if let unclear = answer.unclearStatus, unclear != answer.status {
                add("before it", "\(unclear), which leaves open whether it was applied")
            }
            add("answer's body", ViewReport.json(answer.body.bytes, isComplete: true).words)
        }
        for lane in report.lanes { add("lane", lane) }
        for id in report.dependants { add("needed by", id) }
        add("user", words.owner)
        add("accepted", "\(report.acceptedAt.text), \(words.age) ago")
        add("settled", report.settledAt?.text)
        for conflict in report.conflict ?? [] {
            add("conflict", conflict.id)
            add("  base", conflict.base?.words)
            add("  mine", conflict.mine?.words)
            add("  theirs", conflict.theirs?.words)
        }
        for target in report.targets {
            add("target", target.id)
            add("  without it", target.before?.words)
            add("  with it", target.after?.words)
        }
        return table
    }
}

/// A modifier in words for a person.
struct ModifierFormatter {
    let report: ModifierReport
    let now: Timestamp

    /// `queued`, `failed: refused`, `retry_wait, stalled`.
    var state: String {
        let reason = report.reason.map { ": \($0.rawValue)" } ?? ""
        return ([report.state.rawValue + reason] + report.marks.map(\.rawValue))
            .joined(separator: ", ")
    }

    /// Since it was accepted.
    var age: String { HumanFormat.age(report.acceptedAt) }

    /// `PATCH https://api.example.com/articles/42`.
    var request: String { "\(report.request.method) \(report.request.url)" }

    /// `1000`, `1000/work`.
    var owner: String { EntryOwner.user(report.user, account: report.account).words }

    /// `its next attempt, in 12 s`; nil where nothing keeps it.
    var wait: String? {
        guard let wait = report.waitingFor else { return nil }
        let end =
            wait.until.map {
                ", in \(HumanFormat.span(Timestamp(milliseconds: $0.milliseconds).since(now)))"
            } ?? ""
        return thing(wait) + end
    }

    /// The status that the server last answered; nil where it did not.
    var status: String? { report.answer.map { String($0.status) } }

    private var namesTemporaryID: Bool {
        ([report.request.url] + report.targets.map(\.id)).contains { $0.contains("tmp:") }
    }

    private func thing(_ wait: ModifierWait) -> String {
        let name = wait.name ?? "its lane"
        return switch wait.reason {
        case "hold": "the end of its hold"
        case "lane": "those before it in \(name)"
        case "paused": "\(name), which is paused"
        case "dependency": "what it depends on"
        case "backoff": "its next attempt"
        case "credential":
            "a credential that its server takes: cachectl origin login \(wait.name ?? "NAME")"
        case "decision" where report.conflict != nil:
            "a decision, as another device changed the same: retry to keep it, cancel to take theirs"
        case "decision" where report.state == .conflict && namesTemporaryID:
            "a decision, as its server has told no id for a thing that it names: cancel it"
        case "decision" where report.state == .conflict:
            "a decision, as its server has another version: retry to keep it, cancel to take theirs"
        case "decision" where report.state == .unknown && report.isAnsweredOtherwise:
            "a decision, as its server gave an unexpected page: retry or discard it; with "
                + "modifiers: {expect: any} the origin's pages count as answers"
        case "decision": "a decision: retry or drop it"
        case "offline": "its server, which does not answer"
        case "captive": "its server, which a captive portal blocks"
        case "set_offline": "its server, which is set offline"
        case "rest": "its server, which has told its account to wait"
        case "turn": "others on their way to its server"
        case "answer": "its answer"
        case "confirmation": "the server to show it"
        // A reason from a later version of the daemon.
        default: [wait.reason, wait.name].compactMap(\.self).joined(separator: " ")
        }
    }
}

extension Timestamp {
    fileprivate init(_ moment: LarderAPI.Timestamp) {
        self.init(milliseconds: moment.milliseconds)
    }
}

extension RawJSON {
    fileprivate var words: String { ViewReport.json(bytes, isComplete: true).words }
}

extension ViewReport {
    /// The view of a target; its JSON is cut to a length that fits on a screen.
    var words: String {
        switch state {
        case .deleted: return "it is gone"
        case .value: break
        default: return "nothing is known"
        }
        guard let body else { return "\(bodyBytes ?? 0) bytes" }
        let count = body.bytes.count
        return String(decoding: body.bytes.prefix(Self.shownBytesMax), as: UTF8.self)
            + (count > Self.shownBytesMax ? "…, \(count) bytes" : "")
            + (complete == false ? "    (the rest is not known)" : "")
    }

    private static let shownBytesMax = 1_000
}

extension ModifierReport {
    /// Whether the last answer was a 2xx that does not count as the server's word.
    fileprivate var isAnsweredOtherwise: Bool {
        answer.map { (200..<300).contains($0.status) } ?? false
    }
}
