import LarderModel
import Testing

@Suite("Words for the modifier queue")
struct ModifierFormatterTests {
    @Test("A modifier's id is 1 to 128 letters, digits and five signs")
    func ids() throws {
        let longest = String(repeating: "a", count: 128)
        for text in ["a", "01J9ZK3W8Q", "A-b_9.c:d@e", longest] {
            #expect(try ModifierID(text).text == text)
        }
        for text in ["", "a b", "a/b", "é", "a\n", "{a}", longest + "a"] {
            #expect(throws: ModelError.badModifierID(text)) { try ModifierID(text) }
        }
    }

    @Test("An id of our own is a ULID: ordered by time, the rest drawn")
    func ulids() throws {
        // The example of the specification: 2016-07-30T23:54:10.259Z.
        let moment = Timestamp(milliseconds: 1_469_922_850_259)
        var zeros = Constant(draw: 0)
        var ones = Constant(draw: .max)
        #expect(ModifierID.ulid(at: moment, using: &zeros).text == "01ARZ3NDEK0000000000000000")
        #expect(ModifierID.ulid(at: moment, using: &ones).text == "01ARZ3NDEKZZZZZZZZZZZZZZZZ")
        let later = ModifierID.ulid(at: moment.advanced(by: .milliseconds(1)), using: &zeros)
        #expect(later.text > "01ARZ3NDEKZZZZZZZZZZZZZZZZ")
        for end in [Int64.min, .max] {
            let id = ModifierID.ulid(at: Timestamp(milliseconds: end), using: &zeros)
            #expect(try ModifierID(id.text) == id)
        }
    }

    private struct Constant: RandomNumberGenerator {
        let draw: UInt64

        func next() -> UInt64 { draw }
    }

    @Test("A lane reads back from both of its forms, and no id looks like a name")
    func lanes() throws {
        let entity = EntityName(try EntityKey("User:a%2Fb"), of: try OriginName("example"))
        let lanes: [Lane] = [
            .id(try EntryID("a")), .name(try LaneName("a")), .id(try EntryID("name:a")),
            .name(try LaneName("id:a")), .id(EntryID(entity)),
            .id(try EntryID("https://api.example.com/a?b=c")),
        ]
        #expect(lanes.map(\.description).prefix(2) == ["id:a", "name:a"])
        #expect(Lane.id(EntryID(entity)).description == "id:entity:example/User:a%2Fb")
        #expect(Lane.id(EntryID(entity)).stored == "key:example/User:a%2Fb")
        #expect(Set(lanes.map(\.description)).count == lanes.count)
        for lane in lanes {
            #expect(try Lane(given: lane.description) == lane)
            #expect(try Lane(stored: lane.stored) == lane)
        }
        for text in ["", "a", "ids:a", "key:a/B:1"] {
            #expect(throws: ModelError.badLane(text)) { try Lane(given: text) }
        }
        #expect(throws: ModelError.badLaneName("")) { try Lane(given: "name:") }
        #expect(throws: ModelError.self) { try Lane(given: "id:") }
    }

    @Test("A lane's name is 1 to 128 bytes without control characters, told apart by its bytes")
    func laneNames() throws {
        for text in ["cart", " ", "a/b:c", String(repeating: "é", count: 64)] {
            #expect(try LaneName(text).text == text)
        }
        for text in ["", "a\n", "\u{7F}", String(repeating: "é", count: 65)] {
            #expect(throws: ModelError.badLaneName(text)) { try LaneName(text) }
        }
        #expect(try LaneName("\u{E9}") != LaneName("e\u{301}"))
    }

    @Test("States have the names of the wire, and three of them are settled")
    func states() {
        let settled = ModifierState.allCases.filter(\.isSettled)
        #expect(settled == [.confirmed, .failed, .cancelled])
        #expect(
            ModifierState.allCases.map(\.rawValue) == [
                "held", "queued", "in_flight", "confirmed", "accepted", "retry_wait", "unknown",
                "auth_wait", "conflict", "failed", "cancelled",
            ]
        )
    }
}
