import LarderClient
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("Things that are created (case 16)", .timeLimit(.minutes(1)))
struct CreateTests {
    @Test("A created entity has a temporary id, which its write puts and its placeholder names")
    func create() async throws {
        try await withDaemon { daemon, client in
            let receipt = try ModifierWriteTests.receipt().encodedJSON()
            daemon.answer("/v1/modifiers", with: .reply(202, body: receipt))
            let created = try await client.create(
                "Todo",
                of: "shop",
                ["title": "eggs"],
                by: .init("POST", "https://api.example.com/todos", body: ["title": "eggs"])
            )
            let requests = daemon.requests.all
            try Self.check(created, requests[0].body)
        }
    }

    private static func check(_ created: CreatedEntity, _ body: [UInt8]) throws {
        let command = try ModifiersCommand(json: body).modifiers[0]
        let name = try #require(command.changes[0].target.temporary)
        #expect(command.changes[0].target.description == created.id)
        #expect(created.id == "entity:shop/Todo:\(name)")
        #expect(created.placeholder == "{{id:\(name)}}")
        #expect(command.request.method == "POST")
        #expect(String(decoding: body, as: UTF8.self).contains(#""type":"put""#))
    }
}
