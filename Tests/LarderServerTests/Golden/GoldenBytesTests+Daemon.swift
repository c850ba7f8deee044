import LarderEngine
import LarderModel
import LarderServer
import LarderTestSupport
import LarderWire
import Testing

@testable import LarderServer

extension GoldenBytesTests {
    @Test("The daemon")
    func daemon() async throws {
        try await Transcript.check("daemon.http") { said in
            _ = try await said.client.ask("PUT", "/v1/entries/a1", body: Array("one".utf8))
            _ = try await said.client.ask("PUT", "/v1/entries/a2?pin=true", body: [0x31])
            _ = try await said.client.ask("GET", "/v1/entries/a1")
            _ = try await said.client.ask("GET", "/v1/entries/none")
            for path in ["status", "usage", "stats", "health", "version"] {
                try await said.ask(path, "GET", "/v1/\(path)")
                try await said.ask("The head of \(path)", "HEAD", "/v1/\(path)")
            }
            try await said.ask("Usage of all", "GET", "/v1/usage?scope=all")
            try await said.ask("A check", "POST", "/v1/check")
            try await said.ask("A reload", "POST", "/v1/reload")
            try await said.ask(
                "An eviction is tried",
                "POST",
                "/v1/evict",
                body: #"{"prefix":"a","dry_run":true}"#
            )
            try await said.ask("An eviction", "POST", "/v1/evict", body: #"{"all":true}"#)
            try await said.ask("A purge of nobody", "POST", "/v1/purge")
            try await said.ask("A purge", "POST", "/v1/purge?scope=user:7")
            let document = try await said.client.ask("GET", "/v1/openapi.json")
            #expect(document.body == APIDocument.bytes)
            var shown = document
            shown.body = Array("<schema/openapi.json>".utf8)
            said.write("The document", "GET", "/v1/openapi.json", response: shown)
            try await said.ask("The head of the document", "HEAD", "/v1/openapi.json")
        }
    }

    @Test("Refusals of any route")
    func refusals() async throws {
        try await Transcript.check("refusals.http") { said in
            try await said.ask("There is no such route", "GET", "/v1/nothing")
            try await said.ask("A method that is not taken", "PATCH", "/v1/evict")
            try await said.ask("A parameter is unknown", "GET", "/v1/status?bogus=1")
            try await said.ask("A parameter is misspelled", "GET", "/v1/entries?limt=1")
            try await said.ask("A number that is none", "GET", "/v1/entries?limit=x")
            try await said.ask("A boolean that is none", "PUT", "/v1/entries/a?pin=yes", body: "")
            try await said.ask("An account that is none", "GET", "/v1/entries?account=%20")
            try await said.ask("A scope that is none", "GET", "/v1/entries?scope=user")
            try await said.ask(
                "A body is no JSON",
                "POST",
                "/v1/evict",
                body: #"{"all":tru}"#
            )
            try await said.ask("A member is unknown", "POST", "/v1/evict", body: #"{"al":true}"#)
            try await said.ask(
                "A member has a wrong type",
                "POST",
                "/v1/evict",
                body: #"{"all":1}"#
            )
            let large = Limits.commandBodyBytesMax + 1
            try await said.ask(
                "A body is too large",
                "POST",
                "/v1/evict",
                body: String(repeating: " ", count: large),
                shown: "<\(large) bytes>"
            )
            let long = try await said.server.connect()
            let response = try await long.ask(
                "GET",
                "/v1/status",
                ["X-Long: " + String(repeating: "x", count: Limits.requestHeadBytesMax)]
            )
            said.write(
                "A head is too large",
                "GET",
                "/v1/status",
                ["X-Long: <long>"],
                response: response
            )
        }
    }

    @Test("Refusals to users who do not administer the daemon")
    func notPermitted() async throws {
        let nobody = Administrators.Group(name: "keepers", number: nil)
        try await Transcript.check("refusals-user.http", administrators: .members(of: nobody)) {
            said in
            try await said.ask("Adding an origin", "POST", "/v1/origins", body: "{}")
            try await said.ask("Others' entries", "GET", "/v1/entries?scope=all")
            try await said.ask("A purge", "POST", "/v1/purge?scope=user:7")
            try await said.ask("A check", "POST", "/v1/check")
            try await said.ask("Origins are listed", "GET", "/v1/origins")
        }
    }
}
