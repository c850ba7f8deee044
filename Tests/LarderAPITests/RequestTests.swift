import LarderTestSupport
import Testing

@testable import LarderAPI

/// Types of requests, read from the requests of the golden files.
@Suite("Wire types of today's requests")
struct RequestTests {
    private func check<Value: Codable>(
        _ type: Value.Type,
        _ file: String,
        _ titles: String...
    ) throws {
        let file = try GoldenFile(named: file)
        for title in titles {
            let json = file.section(title).request
            let value = try APIDecoder(.strict).decode(type, from: Array(json.utf8))
            let again = APIEncoder().encode(value)
            #expect(String(decoding: again, as: UTF8.self) == json, "\(title)")
        }
    }

    @Test("Bodies are read, and written as the same bytes")
    func bodies() throws {
        try check(ModifierCommand.self, "modifiers.http", "A modifier is waited for")
        try check(ModifiersCommand.self, "modifiers.http", "Several are accepted")
        try check(BatchCommand.self, "entries.http", "A batch as JSON Lines")
        try check(EvictCommand.self, "daemon.http", "An eviction is tried", "An eviction")
        try check(FetchCommand.self, "fetch.http", "An answer that is no JSON, by POST")
    }

    @Test("Bodies are read in any order of their members")
    func commands() throws {
        let modifier = try GoldenFile(named: "modifiers.http").section("A modifier is accepted")
        let command = try APIDecoder(.strict).decode(
            ModifierCommand.self,
            from: Array(modifier.request.utf8)
        )
        #expect(command.id == "m1")
        #expect(command.lane == "cart")
        #expect(command.changes?.first?.target == TargetName(id: "https://api.example.com/42"))
        let origin = try GoldenFile(named: "origins.http").section("An origin is added")
        let added = try APIDecoder(.strict).decode(
            OriginDefinition.self,
            from: Array(origin.request.utf8)
        )
        #expect(added.headers?["K"] == "v")
        let watch = try GoldenFile(named: "watch.http").section("A watch by POST")
        let watched = try APIDecoder(.strict).decode(
            WatchCommand.self,
            from: Array(watch.request.utf8)
        )
        #expect(watched.ids == ["a", "none"])
        #expect(watched.options.timeout == .zero)
    }

    private func read<Value: Codable>(_ type: Value.Type, _ file: String) throws {
        let base = file == "watch.http" ? "/v1/watch" : "/v1/" + file.dropLast(5)
        for section in try GoldenFile(named: file).sections
        where section.status == 200 && section.target.hasPrefix(base + "?") {
            let query = section.target.dropFirst(base.count + 1)
            _ = try APIDecoder(.strict).decode(type, query: query)
        }
    }

    @Test("Queries that the server takes are read")
    func queries() throws {
        try read(WatchQuery.self, "watch.http")
        try read(EntryListQuery.self, "entries.http")
        try read(ModifierListQuery.self, "modifiers.http")
        try read(PinListQuery.self, "pins.http")
        try read(FetchCommand.self, "fetch.http")
    }

    @Test(
        "A misspelled name is refused with the names that there are",
        arguments: [
            (#"{"change":[]}"#, "unknown member 'change', did you mean 'changes'?"),
            (
                #"{"changes":[{"target":{"ids":"a"},"effect":{}}]}"#,
                "unknown member 'ids' in 'changes[0].target', did you mean 'id'?"
            ),
            (
                #"{"request":{"method":"POST"}}"#,
                "the member 'url' in 'request' is missing"
            ),
            (
                #"{"hold":"soon"}"#,
                "hold: 'soon' is not a duration: a number and one of ms, s, m, h, d, such as 300ms or 7d"
            ),
        ]
    )
    func refusals(json: String, expected: String) {
        do throws(APIDecodingError) {
            _ = try APIDecoder(.strict).decode(ModifierCommand.self, from: Array(json.utf8))
            Issue.record("it was read")
        } catch {
            #expect(error.message == expected)
        }
    }
}
