import LarderJSON
import LarderTestSupport
import Testing

@testable import LarderAPI

@Suite("Wire types there and back")
struct RoundTripTests {
    private struct Value: Codable, Equatable {
        var number: Int64
        var small: UInt8?
        var text: String
        var ratio: Double?
        var isIt: Bool
        var moment: Timestamp?
        var wait: Duration?
        var state: PinState
        @OmittedWhenNil var more: [Value]?
        var fields: NamedValues<String>
        var raw: RawJSON?
    }

    private static let texts = ["", "a", "é", "e\u{301}", "\"\\\u{1}\n", "🦊", "null", "\u{10FFFF}"]

    private func value(_ random: inout SeededRandom, depth: Int = 0) -> Value {
        func maybe<T>(_ make: (inout SeededRandom) -> T) -> T? {
            random.next() % 3 == 0 ? nil : make(&random)
        }
        func some(_ random: inout SeededRandom) -> String { random.pick(Self.texts) }
        let names = ["a", "b", "X-Own", "aB", "é"].prefix(Int(random.next() % 6))
        return Value(
            number: Int64(bitPattern: random.next()),
            small: maybe { UInt8(truncatingIfNeeded: $0.next()) },
            text: some(&random),
            ratio: maybe { Double(Int64($0.next() % 100_000)) / 10 },
            isIt: random.next() % 2 == 0,
            moment: maybe { Timestamp(milliseconds: Int64($0.next() % 4_000_000_000_000)) },
            wait: maybe { .milliseconds(Int64($0.next() % 100_000_000)) },
            state: random.pick(PinState.known + [PinState(rawValue: "new")]),
            more: depth > 2
                ? nil
                : maybe { random in
                    (0..<random.next() % 3).map { _ in value(&random, depth: depth + 1) }
                },
            fields: NamedValues(names.map { .init($0, some(&random)) }),
            raw: maybe { random in
                random.pick(["true", "1.0", #"{"a": [1e5, -0]}"#, #""\ud800""#]).json
            }
        )
    }

    @Test("A value that is written is read again, and written as the same bytes")
    func random() throws {
        for seed in 0..<500 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let value = value(&random)
            let json = APIEncoder().encode(value)
            #expect(JSONValidator.accepts(json))
            let read = try APIDecoder(.lenient).decode(Value.self, from: json)
            #expect(read == value, "seed \(seed)")
            #expect(APIEncoder().encode(read) == json, "seed \(seed)")
        }
    }

    @Test("Bytes that are cut, changed or mixed up are an error or a value, never a trap")
    func mutated() {
        for seed in 0..<2_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            var json = APIEncoder().encode(value(&random))
            for _ in 0...random.next() % 3 {
                let place = Int(random.next() % UInt64(json.count))
                switch random.next() % 3 {
                case 0: json.remove(at: place)
                case 1: json[place] = UInt8(truncatingIfNeeded: random.next())
                default: json.insert(json[Int(random.next() % UInt64(json.count))], at: place)
                }
                if json.isEmpty { json = [0x31] }
            }
            for mode in [APIDecoder.Mode.strict, .lenient] {
                guard let read = try? APIDecoder(mode).decode(Value.self, from: json) else {
                    continue
                }
                let again = APIEncoder().encode(read)
                #expect(JSONValidator.accepts(again), "seed \(seed)")
            }
        }
    }
}

extension String {
    fileprivate var json: RawJSON { RawJSON(unchecked: Array(utf8.filter { $0 != 0x20 })) }
}
