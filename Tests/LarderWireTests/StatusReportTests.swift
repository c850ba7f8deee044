import LarderModel
import LarderWire
import Testing

@Suite("The status report")
struct StatusReportTests {
    private static var queue: StatusReport.Queue {
        var queue = StatusReport.Queue()
        queue.byState = [.queued: 2, .authWait: 1, .dead: 3]
        queue.stalled = 1
        queue.oldestAge = .milliseconds(1_500)
        queue.maxModifiers = 10
        queue.bytes = 30
        queue.maxBytes = 300
        return queue
    }

    private static let queueText =
        #"{"unsettled":3,"dead":3,"states":{"held":0,"queued":2,"in_flight":0,"accepted":0,"#
        + #""retry_wait":0,"unknown":0,"conflict":0,"auth_wait":1,"dead":3},"stalled":1,"#
        + #""oldest_age_ms":1500,"max_modifiers":10,"bytes":30,"max_bytes":300}"#

    private static let cacheText =
        #"{"bytes":10,"max_bytes":100,"entries":2,"database_bytes":4096,"wal_bytes":8192,"#
        + #""evictions":3,"hits":4,"misses":1,"hit_rate":{"1m":null,"10m":0.8,"60m":1.0}}"#

    @Test("It is written with its members in order and reads back")
    func roundTrip() throws {
        var report = StatusReport(
            version: "0.1.0",
            uptime: .seconds(90),
            state: .degraded,
            cache: StatusReport.Cache(
                bytes: 10,
                maxBytes: 100,
                entries: 2,
                databaseBytes: 4_096,
                walBytes: 8_192,
                evictions: 3,
                hits: 4,
                misses: 1,
                hitRate: StatusReport.HitRate(
                    oneMinute: nil,
                    tenMinutes: 0.8,
                    sixtyMinutes: 1
                )
            ),
            pins: StatusReport.Pins(count: 7, bytes: 20, maxBytes: 200, waiting: 1),
            connections: 5,
            flights: 6,
            origins: [
                StatusReport.Origin(
                    name: try OriginName("a"),
                    baseURL: try WebURL("https://a/v1"),
                    condition: OriginCondition(state: .online, since: Timestamp(milliseconds: 0))
                ),
                StatusReport.Origin(
                    name: try OriginName("b"),
                    baseURL: try WebURL("http://b"),
                    condition: OriginCondition(
                        state: .unknown,
                        since: nil,
                        isOfflineByHand: true,
                        restsUntil: Timestamp(milliseconds: 1_700_000_000_000)
                    )
                ),
            ],
            warnings: ["the disk is nearly full"]
        )
        report.queue = Self.queue
        let origins =
            #"[{"name":"a","base_url":"https://a/v1","state":"online","#
            + #""since":"1970-01-01T00:00:00.000Z","offline_by_hand":false},"#
            + #"{"name":"b","base_url":"http://b/","state":"unknown","since":null,"#
            + #""offline_by_hand":true,"rests_until":"2023-11-14T22:13:20.000Z"}]"#
        #expect(
            text(report.encoded())
                == #"{"version":"0.1.0","uptime":90,"state":"degraded","cache":\#(Self.cacheText),"#
                + #""pins":{"count":7,"bytes":20,"max_bytes":200,"waiting":1},"queue":\#(Self.queueText),"#
                + #""connections":5,"flights":6,"origins":\#(origins),"#
                + #""warnings":["the disk is nearly full"],"findings":[]}"#
        )
        #expect(try StatusReport(decoding: report.encoded()) == report)
        report.configuration = .init(
            file: "/a.yaml",
            readAt: .init(milliseconds: 0),
            socketMode: 0o660
        )
        report.findings = [.init("queue", .warning, "1 write failed", fix: "Drop it.")]
        report.you = StatusReport.You(uid: .max, groups: [0, .max], isAdministrator: true)
        #expect(
            text(report.encoded()).hasSuffix(
                #","you":{"uid":4294967295,"groups":[0,4294967295],"administrator":true}}"#
            )
        )
        #expect(try StatusReport(decoding: report.encoded()) == report)
    }

    @Test("What is no report is refused by the member that is wrong")
    func refusals() {
        #expect(throws: WireError.missingMember("uptime")) {
            try StatusReport(decoding: bytes(#"{"version":"1"}"#))
        }
        #expect(throws: WireError.unknownValue(member: "state", text: "fine")) {
            try StatusReport(decoding: bytes(#"{"version":"1","uptime":1,"state":"fine"}"#))
        }
    }
}
