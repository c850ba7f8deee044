import ArgumentParser
import LarderClient
import LarderModel
import LarderWire

/// `cachectl queue show`.
struct QueueShow: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Says what is known of one write.",
        discussion: """
            What is sent, why it waits and until when, what the server answered, and what each \
            target shows without it, which is what a refusal restores, and with it. Exit code 3 if \
            there is none of this id.

            Example: cachectl queue show 01JD2Q4W6Z0000000000000000
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @OptionGroup
    var one: OneModifier

    func run() async throws {
        let scope = one.scope(options)
        try await options.show {
            try await $0.modifier(one.id, scope: scope)
        } lines: { report, _ in
            table(report).lines
        }
    }

    private func table(_ report: ModifierReport) -> Table {
        let words = ModifierWords(report, now: WallClock.now())
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
        for target in report.targets {
            add("target", target.id)
            add("  without it", target.before?.words)
            add("  with it", target.after?.words)
        }
        return table
    }
}
