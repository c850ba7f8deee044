import Testing

@testable import LarderModel

@Suite("The name that was meant")
struct NearestNameTests {
    @Test(
        "The distance counts letters put in, left out, replaced and swapped",
        arguments: [
            ("", "", 0), ("", "abc", 3), ("mode", "mode", 0), ("mdoe", "mode", 1),
            ("max_byte", "max_bytes", 1), ("kitten", "sitting", 3),
        ]
    )
    func distance(left: String, right: String, expected: Int) {
        #expect(editDistance(left, right) == expected)
        #expect(editDistance(right, left) == expected)
    }

    @Test("The nearest name is meant, and none when all are far")
    func nearest() {
        let names = ["max_bytes", "max_entry_bytes", "memory_bytes"]
        #expect(nearestName(to: "MAX_BYTE", among: names) == "max_bytes")
        #expect(nearestName(to: "memory_byte", among: names) == "memory_bytes")
        #expect(nearestName(to: "mem", among: names) == "memory_bytes")
        #expect(nearestName(to: "max", among: names) == nil)
        #expect(nearestName(to: "sockets", among: names) == nil)
        #expect(nearestName(to: String(repeating: "a", count: 5_000), among: names) == nil)
    }

    @Test("A refusal says which name was meant, or which there are")
    func advice() {
        #expect(nearestNameAdvice(on: "change", among: ["changes"]) == "did you mean 'changes'?")
        #expect(nearestNameAdvice(on: "x", among: ["changes", "id"]) == "there are: changes, id")
        #expect(nearestNameAdvice(on: "x", among: []) == "there are none")
    }
}
