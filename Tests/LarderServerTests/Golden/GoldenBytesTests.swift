import LarderJSON
import LarderModel
import LarderServer
import LarderTestSupport
import LarderWire
import Testing

/// The bytes of the API as clients see them, compared with the files in `Tests/Golden`.
///
/// A change of the API changes these files: `LARDER_WRITE_GOLDEN=1 swift test --filter
/// GoldenBytesTests` writes them, and their difference belongs into the change.
@Suite("Golden bytes of the API", .timeLimit(.minutes(5)))
struct GoldenBytesTests {
    @Test("Origins")
    func origins() async throws {
        try await Transcript.check("origins.http", rules: .standard) { said in
            try await Self.changeOrigins(said)
            try await Self.askOrigins(said)
            try await Self.giveCredential(said)
        }
    }

    private static let full = #"""
        {"base_url":"https://full.example/v1","allow_private":true,"redirect_hosts":["cdn.example"],\#
        "shared":true,"proxy":"http://user:pw@proxy.example:3128","tls":{},\#
        "headers":{"X-Key":"secret"},"fetch":{"policy":"network-first","network_wait":"250ms",\#
        "timeout":"20s","connect_timeout":"3s","ttl":"1h","store_no_store":true},\#
        "normalize":{"by_type":{"type":["type"],"id":["id"]},"types":[{"type":"Book",\#
        "key":["isbn"],"url":"/books/{isbn}","version":"/updated_at","on_deleted":"cascade"},\#
        {"type":"Play","key":["title",{"author":["name"]}],"on_deleted":"omit"},\#
        {"type":"Price","embed":true},{"type":"Article","lists":{"/comments":{"append":"page"},\#
        "/prices":{"by":"currency"},"/tags":"append"}}],\#
        "paths":[{"url":"/articles","at":"/items/*","type":"Article"}]},\#
        "modifiers":{"respond_async":true,"idempotency":{"header":"X-Once","honoured":true},\#
        "answer":"representation","after_unknown":"hold","accepted_limit":"5m",\#
        "stalled_after":3,"refused_if":[{"pointer":"/errors"},\#
        {"pointer":"/status","equals":"failed"}]}}
        """#

    private static func changeOrigins(_ said: Transcript) async throws {
        let new = #"{"base_url":"https://new.example","headers":{"K":"v"}}"#
        try await said.ask("An origin is added", "PUT", "/v1/origins/new", body: new)
        try await said.ask("An origin is created", "PUT", "/v1/origins/full", body: full)
        try await said.ask("Origins are listed", "GET", "/v1/origins")
        try await said.ask("The head of the list", "HEAD", "/v1/origins")
        try await said.ask(
            "An origin is replaced",
            "PUT",
            "/v1/origins/new",
            body: #"{"base_url":"https://newer.example"}"#
        )
        try await said.ask("One origin is shown", "GET", "/v1/origins/new")
        try await said.ask("The head of one origin", "HEAD", "/v1/origins/new")
        try await said.ask(
            "An address is another's",
            "PUT",
            "/v1/origins/twin",
            body: #"{"base_url":"https://newer.example"}"#
        )
        try await said.ask(
            "An origin in the file is not replaced",
            "PUT",
            "/v1/origins/example",
            body: #"{"base_url":"https://other.example"}"#
        )
        try await said.ask("An origin is removed", "DELETE", "/v1/origins/new")
        try await said.ask("There is no such origin", "DELETE", "/v1/origins/new")
        try await said.ask(
            "An origin's key is unknown",
            "PUT",
            "/v1/origins/other",
            body: #"{"base":"https://other.example"}"#
        )
        try await said.ask("A body is not an object", "PUT", "/v1/origins/other", body: "[]")
    }

    private static func askOrigins(_ said: Transcript) async throws {
        let upstream = said.server.upstream
        let root = try ServerFixture.url("/")
        upstream.answer(root, with: .reply(status: 404))
        try await said.ask("An origin answers a check", "POST", "/v1/origins/example/check")
        try await said.ask("A check does not reach", "POST", "/v1/origins/example/check")
        try await said.ask(
            "An origin is set offline",
            "PATCH",
            "/v1/origins/example",
            body: #"{"offline":true}"#
        )
        try await said.ask("A check of an offline origin", "POST", "/v1/origins/example/check")
        try await said.ask(
            "An origin is set online",
            "PATCH",
            "/v1/origins/example",
            body: #"{"offline":false}"#
        )
        upstream.answer(
            try ServerFixture.url("/busy"),
            with: .reply(status: 503, headers: ["Retry-After": "60"])
        )
        try await said.ask(
            "An origin asks for a pause",
            "GET",
            "/v1/fetch?url=https%3A%2F%2Fapi.example.com%2Fbusy"
        )
        try await said.ask("An origin that rests is listed", "GET", "/v1/origins")
    }

    private static func giveCredential(_ said: Transcript) async throws {
        let path = "/v1/origins/example/credential"
        try await said.ask(
            "A credential is set",
            "PUT",
            path,
            body: #"{"value":"Bearer s3cret","expires":"2023-11-15T00:00:00.000Z"}"#
        )
        try await said.ask("A credential is shown", "GET", path)
        try await said.ask("The head of a credential", "HEAD", path)
        try await said.ask(
            "A credential is no header",
            "PUT",
            path,
            body: #"{"header":"Host","value":"Bearer s3cret"}"#
        )
        try await said.ask("No order to renew a credential", "POST", path + "/renewal?wait=0ms")
        try await said.ask(
            "A lease is over",
            "PUT",
            path,
            body: #"{"value":"Bearer s3cret","lease":"01JDNQ1V"}"#
        )
        try await said.ask("A credential is removed", "DELETE", path)
    }

    @Test("Entities")
    func entities() async throws {
        try await Transcript.check("entities.http", rules: .standard) { said in
            let path = "/v1/entries/entity:example/User:7"
            let ada = #"{"type":"User","id":7,"name":"Ada"}"#
            try await said.ask("An entity is set", "PUT", path, body: ada)
            try await said.ask("An entity is merged", "PUT", path, body: #"{"age":36}"#)
            let read = try await said.ask("An entity is read", "GET", path)
            try await said.ask("The head of an entity", "HEAD", path)
            let tag = try #require(read.headers["ETag"])
            try await said.ask("An entity is the same", "GET", path, ["If-None-Match: \(tag)"])
            try await said.ask("An entity is explained", "GET", path + "/explain")
            try await said.ask("The head of an explanation", "HEAD", path + "/explain")
            let feed = try ServerFixture.url("/feed")
            said.server.upstream.answer(
                feed,
                with: .json(#"{"type":"Feed","id":1,"by":\#(ada)}"#, headers: ["ETag": "\"f1\""])
            )
            try await said.ask(
                "An answer with entities is fetched",
                "GET",
                "/v1/fetch?url=\(PercentCoding.encode(feed.text))&policy=network-only"
            )
            try await said.ask("An entity in an answer is explained", "GET", path + "/explain")
            try await said.ask(
                "A normalized entry is explained",
                "GET",
                "\(try PercentCoding.entryPath(EntryID(feed)))/explain"
            )
            try await said.ask(
                "An entity is expanded",
                "GET",
                "/v1/entries/entity:example/Feed:1?expand=1"
            )
            try await said.ask(
                "Entities are listed",
                "GET",
                "/v1/entries?prefix=entity:example/User:&limit=1"
            )
            try await said.ask("The head of the list", "HEAD", "/v1/entries?prefix=entity:")
            try await said.ask("An entity is deleted", "DELETE", path)
            try await said.ask("A deleted entity", "GET", path)
            try await said.ask("An unknown entity", "GET", "/v1/entries/entity:example/User:8")
            try await said.ask(
                "An id that is no entity's",
                "GET",
                "/v1/entries/entity:example/User"
            )
            try await said.ask("An entity is not pinned", "PUT", "/v1/pins/entity:example/User:7")
        }
    }

    @Test("Pins")
    func pins() async throws {
        try await Transcript.check("pins.http", rules: .standard) { said in
            let url = try ServerFixture.url("/a")
            let path = try PercentCoding.pinPath(EntryID(url))
            try await said.ask("An entry is stored", "PUT", "/v1/entries/note", body: "one")
            try await said.ask("An entry is pinned", "PUT", "/v1/pins/note")
            try await said.ask("A pinned entry is pinned again", "PUT", "/v1/pins/note")
            said.server.upstream.answer(url, with: .reply("down", status: 500))
            try await said.ask("A pin waits for its origin", "PUT", path)
            try await said.ask("Pins are listed", "GET", "/v1/pins")
            try await said.ask("A page of pins", "GET", "/v1/pins?limit=1")
            try await said.ask("The head of the list", "HEAD", "/v1/pins")
            said.server.upstream.answer(url, with: .json("[1]"))
            try await said.ask("A waiting pin is fetched", "PUT", path + "?wait=5s")
            said.server.upstream.answer(
                try ServerFixture.url("/no"),
                with: .reply("no", status: 403)
            )
            let refused = try PercentCoding.pinPath(EntryID(try ServerFixture.url("/no")))
            try await said.ask("The origin refuses a pin", "PUT", refused)
            try await said.ask("A pinned entry is not deleted", "DELETE", "/v1/entries/note")
            try await said.ask("An entry is unpinned", "DELETE", "/v1/pins/note")
            try await said.ask("An entry is not pinned", "DELETE", "/v1/pins/note")
            try await said.ask("A pin of nothing", "PUT", "/v1/pins/nothing")
            try await said.ask("A pin has no body", "PUT", "/v1/pins/note", body: "one")
        }
    }

    @Test("Sets to prefetch")
    func prefetches() async throws {
        try await Transcript.check("prefetch.http", rules: .standard) { said in
            let (url, set) = (try ServerFixture.url("/a"), "/v1/prefetch/tonight")
            said.server.upstream.answer(url, with: .json("[1]"))
            _ = try await said.client.ask("GET", "/v1/get?url=\(url.text)")
            let command = #"{"items":[{"url":"\#(url.text)"}],"expires":"12h"}"#
            try await said.ask("A set is planned", "PUT", set + "?dry_run=true", body: command)
            try await said.ask("A set is made", "PUT", set + "?wait=5s", body: command)
            try await said.ask("A set is shown", "GET", set)
            try await said.ask("The head of a set", "HEAD", set)
            try await said.ask("Sets are listed", "GET", "/v1/prefetch")
            try await said.ask("The head of the sets", "HEAD", "/v1/prefetch")
            let path = try PercentCoding.pinPath(EntryID(url))
            try await said.ask("An entry of a set is not unpinned", "DELETE", path)
            let other = #"{"items":[{"url":"https://other.example/a"}]}"#
            try await said.ask("A set of an unknown origin", "PUT", set, body: other)
            try await said.ask("A set of nothing", "PUT", set, body: #"{"items":[]}"#)
            try await said.ask("A set's name", "PUT", "/v1/prefetch/a%20b", body: command)
            try await said.ask("A set is removed", "DELETE", set)
            try await said.ask("There is no such set", "GET", set)
        }
    }
}
