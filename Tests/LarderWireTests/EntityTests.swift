import LarderModel
import LarderWire
import Testing

@Suite("Ids as they travel")
struct EntityTests {
    @Test(
        "An entity's id is in a path percent-encoded once more, however much of it is",
        arguments: [
            ("entity%3Ashop%2FUser%3A7", "User:7"), ("entity:shop/User:7", "User:7"),
            ("entity:shop%2FUser%3Aa%252Fb", "User:a%2Fb"), ("entity:shop/User:a/b", "User:a%2Fb"),
            ("entity:shop/T:%25253A", "T:%253A"), ("entity:shop/%C3%9C:%C3%A9", "Ü:é"),
            ("entity:shop/T:tmp:1", "T:tmp:1"),
        ]
    )
    func path(rest: String, key: String) throws {
        let id = try PercentCoding.id(inPath: rest[...])
        #expect(id.entity == EntityName(try EntityKey(key), of: try OriginName("shop")))
        #expect(id.description == "entity:shop/\(key)")
        let path = PercentCoding.entryPath(id).dropFirst("/v1/entries/".count)
        #expect(try PercentCoding.id(inPath: path) == id)
    }

    @Test(
        "A path that begins with entity: and is no entity's id is refused",
        arguments: [
            "entity:", "entity:shop", "entity:User:7", "entity:shop/User", "entity:shop/:7",
            "entity:shop/User:", "entity:shop/A:%FF", "entity:shop/A:%", "entity:a%20b/A:1",
        ]
    )
    func badPath(rest: String) {
        let problem = #expect(throws: Problem.self) { try PercentCoding.id(inPath: rest[...]) }
        #expect(problem?.kind == .badID)
    }

    @Test("A lane is an id or a name, in the spelling of ids")
    func lanes() throws {
        for (text, spelling) in [
            ("id:HTTPS://A.example:443/1", "id:https://a.example/1"),
            ("id:entity:shop/User:7", "id:entity:shop/User:7"), ("id:notes/1", "id:notes/1"),
            ("name:cart", "name:cart"),
        ] {
            let lane = try Lane(given: text)
            #expect(lane.description == spelling)
            #expect(try Lane(stored: lane.stored) == lane)
        }
        for text in ["key:shop/User:7", "cart", "id:", "id:entity:shop"] {
            #expect(throws: ModelError.self) { try Lane(given: text) }
        }
    }
}
