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

    @Test("Entities among the targets are told by their keys")
    func entities() throws {
        var report = try Self.report()
        let origin = try OriginName("example")
        let users = try ["User:7", "User:8"].map {
            EntryID(EntityName(try EntityKey($0), of: origin))
        }
        report.targets = users
        report.lanes = users.map { .id($0) }
        report.effects = users.map {
            ModifierReport.Effect(target: $0, before: .unknown, after: .deleted)
        }
        #expect(try ModifierReport(decoding: report.encoded()) == report)
        let written = text(report.encoded())
        #expect(written.contains(#""targets":["User:7","User:8"],"origin":"example""#))
        #expect(written.contains(#""after":{"User:7":{"state":"deleted"},"#))
        #expect(written.contains(#""lanes":["key:example/User:7","#))
        report.targets.append(try EntryID("User:7/a"))
        #expect(try ModifierReport(decoding: report.encoded()) == report)
        report.targets[0] = EntryID(
            EntityName(try EntityKey("User:7"), of: try OriginName("other"))
        )
        report.effects[0].target = report.targets[0]
        #expect(try ModifierReport(decoding: report.encoded()) == report)
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
