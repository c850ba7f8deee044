import LarderAPI
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("Hostile input")
struct HostileInputTests {
    private let texts = [
        #"{"url":"https://a/x","policy":"network-first","timeout":"10s","headers":{"A":"b"}}"#,
        #"{"url":"https://a/x","follow":true,"policy":"stale-while-revalidate"}"#,
        #"{"ids":["a","b"],"account":"work"}"#, #"{"type":"miss","id":"a"}"#,
        #"{"type":"deleted","id":"a","source":"cache","rev":1,"status":410}"#,
        "application/jsonl;q=0.5, text/event-stream;q=1, */*;q=0.1",
        #"W/"a", "b,c", bare, *"#, "url=https%3A%2F%2Fa%2F&follow=true",
        #"{"ids":["a","b"],"dry_run":true}"#, #"{"to_bytes":"500MiB"}"#,
        #"{"evicted":2,"bytes":700,"skipped":1,"ids":["a"]}"#,
        #"{"type":"end","outcome":"network","rev":8413,"timing":{"cache_ms":0.4}}"#,
        #"{"type":"snapshot","source":"cache","rev":8412,"stale":true,"age_ms":86400000,"#
            + #""pending":0,"pending_ids":[],"failed":0,"complete":true,"entry":{"id":"a","#
            + #""status":200,"media_type":null,"etag":"\"a\"","#
            + #""stored_at":"2026-11-20T18:43:27.120Z","body_b64":"AP8K"}}"#,
        #"{"type":"urn:larder:miss","title":"t","status":404,"detail":"d","request_id":"1","#
            + #""retryable":false,"hint":"h","origin_status":500,"body":[1]}"#,
        "entity:example%2FUser%3Aa%252Fb",
        #"{"type":"put","rev":3,"id":"entity:example/User:7","changed":["entity:example/User:8"]}"#,
        #"{"type":"modifier","rev":4,"id":"01J","state":"failed","reverted":[{"id":"a"}]}"#,
        "account=work&show=base&expand=8",
        "url=https%3A%2F%2Fa%2F&policy=cache-only&account=a", "prefix=a%20b&limit=10&sort=age",
    ]

    @Test(
        "Any input is read or refused, and never stops the daemon (P-13)",
        arguments: [1, 2, 3] as [UInt64]
    )
    func mutated(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let numbers = [
            "1e308", "-9223372036854775808", "99999999999999999999", "1e-999", "-0", "0.5",
        ]
        for _ in 0..<3_000 {
            var input = bytes(texts.randomElement(using: &random) ?? "")
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                guard let place = input.indices.randomElement(using: &random) else { break }
                switch Int.random(in: 0...4, using: &random) {
                case 0: input[place] = UInt8.random(in: .min ... .max, using: &random)
                case 1: input.remove(at: place)
                case 2: input.removeSubrange(place...)
                case 3: input.insert(contentsOf: input[..<place], at: place)
                default:
                    let number = bytes(numbers.randomElement(using: &random) ?? "")
                    let end = input[place...].prefix { (0x30...0x39).contains($0) }.endIndex
                    input.replaceSubrange(place..<end, with: number)
                }
            }
            readEverything(input)
        }
    }

    /// Gives `input` to every reader; what each says of it is tested elsewhere.
    private func readEverything(_ input: [UInt8]) {
        let query = text(input)[...]
        _ = try? PercentCoding.id(inPath: query)
        _ = try? APIDecoder(.lenient).decode(FetchFrame.self, from: input)
        _ = try? APIDecoder(.lenient).decode(BatchFrame.self, from: input)
        _ = FrameFormat(accepting: [text(input), text(input)])
        _ = EntityTagList.contains("\"b,c\"", in: [text(input)])
        _ = EntityTagList.contains(text(input), in: [text(input)])
        _ = try? Problem(decoding: input)
        _ = try? APIDecoder(.lenient).decode(WatchFrame.self, from: input)
    }

    @Test("Numbers at the ends of their range are read or refused")
    func extremeNumbers() {
        for number in ["9223372036854775807", "-9223372036854775808", "1e400", "1e18", "-1"] {
            let line =
                #"{"type":"end","outcome":"cache","rev":\#(number),"timing":{"cache_ms":\#(number)}}"#
            readEverything(bytes(line))
        }
        let age = #"{"type":"snapshot","source":"cache","rev":1,"stale":true,"age_ms":"#
        let rest =
            #","pending":0,"pending_ids":[],"failed":0,"complete":true,"entry":{"id":"a","#
            + #""status":200,"etag":"","stored_at":"9999-12-31T23:59:60Z","body":1}}"#
        for number in [Int64.max, Int64.min] {
            let line = bytes(age + String(number) + rest)
            let frame = try? APIDecoder(.lenient).decode(FetchFrame.self, from: line)
            guard case .snapshot(let snapshot) = frame else {
                Issue.record("\(number) is not taken")
                continue
            }
            #expect(snapshot.ageMs == number)
            #expect(frame?.encodedLine().isEmpty == false)
        }
    }
}
