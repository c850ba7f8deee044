import LarderModel
import LarderWire
import Testing

@Suite("Modifiers as they are told")
struct ModifierReportTests {
    private static func report() throws -> ModifierReport {
        var report = ModifierReport(
            id: try ModifierID("like-42"),
            state: .dead,
            method: "PATCH",
            url: "https://api.example.com/articles/42",
            bodyByteCount: 14,
            idempotencyKey: "like-42",
            attempts: 3,
            uid: 1000,
            account: .default,
            acceptedAt: Timestamp(milliseconds: 1_700_000_000_000),
            revision: Revision(8_415)
        )
        let target = try EntryID("https://api.example.com/articles/42")
        report.reason = .refused
        report.marks = [.stalled, .inapplicable]
        report.lanes = [.id(target), .name(try LaneName("cart"))]
        report.targets = [target, try EntryID("b"), try EntryID("c"), try EntryID("d")]
        report.nextAttemptAt = Timestamp(milliseconds: 1_700_000_001_000)
        report.waitingFor = ModifierReport.Wait(
            reason: "lane",
            name: "name:cart",
            until: Timestamp(milliseconds: 1_700_000_002_000)
        )
        report.answer = ModifierReport.Answer(
            status: 413,
            body: Array("<html>\n".utf8),
            at: Timestamp(milliseconds: 1_700_000_003_000)
        )
        report.dependants = [try ModifierID("next")]
        report.settledAt = Timestamp(milliseconds: 1_700_000_003_000)
        let views: [ViewReport] = [
            .json(Array(#"{"liked":true}"#.utf8), isComplete: false), .deleted, .bytes(7), .unknown,
        ]
        report.effects = zip(report.targets, views).map { target, view in
            ModifierReport.Effect(target: target, before: .unknown, after: view)
        }
        return report
    }

    @Test("What is written is read back")
    func roundTrip() throws {
        let report = try Self.report()
        #expect(try ModifierReport(decoding: report.encoded()) == report)
        let page = ModifierPage(items: [report, report], next: "9")
        #expect(try ModifierPage(decoding: page.encoded()) == page)
        let receipt = ModifierReceipt(id: report.id, state: .held, revision: Revision(1))
        #expect(try ModifierReceipt(decoding: receipt.encoded()) == receipt)
        let receipts = [receipt, receipt]
        #expect(try ModifierReceipt.list(decoding: ModifierReceipt.encoded(receipts)) == receipts)
    }

    @Test("A list's command is read from its query, and written back")
    func list() throws {
        var command = ModifierListCommand()
        #expect(command.query == "")
        command.selection = .unsettled
        command.lane = .name(try LaneName("a b"))
        command.limit = 7
        command.cursor = "9"
        command.wait = .seconds(5)
        command.scope = .user(1000, nil)
        #expect(try ModifierListCommand(query: Substring(command.query)) == command)
        for state in ModifierState.allCases {
            let command = try ModifierListCommand(query: "state=\(state.rawValue)")
            #expect(command.selection == .one(state))
        }
    }

    @Test(
        "Bad parameters are refused by name",
        arguments: ["state=gone", "lane=cart", "limit=0", "wait=5s", "stat=dead"]
    )
    func badQuery(query: String) {
        #expect(throws: Problem.self) { try ModifierListCommand(query: Substring(query)) }
    }
}
