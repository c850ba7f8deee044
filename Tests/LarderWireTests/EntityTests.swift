import LarderModel
import LarderWire
import Testing

@Suite("Entities as they travel")
struct EntityTests {
    @Test(
        "A key stands in a path encoded once more, however much of it is",
        arguments: [
            ("User%3A7", "User:7"), ("User:7", "User:7"), ("User%3Aa%252Fb", "User:a%2Fb"),
            ("User:a%2Fb", "User:a%2Fb"), ("User:a/b", "User:a%2Fb"), ("T:%25253A", "T:%253A"),
            ("%C3%9C:%C3%A9", "Ü:é"), ("T:tmp:1", "T:tmp:1"),
        ]
    )
    func path(rest: String, key: String) throws {
        let read = try PercentCoding.key(inPath: rest[...])
        #expect(read.text == key)
        let path = PercentCoding.entityPath(read)
        #expect(try PercentCoding.key(inPath: path.dropFirst("/v1/entities/".count)) == read)
    }

    @Test(
        "A path that holds no key is refused",
        arguments: ["", "User", ":7", "User:", "A:%FF", "A:%"]
    )
    func badPath(rest: String) {
        let problem = #expect(throws: Problem.self) { try PercentCoding.key(inPath: rest[...]) }
        #expect(problem?.kind == .badID)
    }
}
