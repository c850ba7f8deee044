import LarderAPI
import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// Which 2xx is the origin's, by its type, its body and the setting `expect` (case 25).
@Suite("Answers that an origin is expected to give", .timeLimit(.minutes(5)))
struct ExpectTests {
    private let page = ScriptedAnswer.reply("<html>", headers: ["Content-Type": "text/html"])
    private let text = ScriptedAnswer.reply("OK", headers: ["Content-Type": "text/plain"])

    private func run(
        _ scheme: String = "https",
        _ rule: ModifierRules.ExpectRule? = nil,
        _ body: (EngineFixture, WebURL) async throws -> Void
    ) async throws {
        let base = try WebURL("\(scheme)://own.example/api")
        var settings = OriginSettings(name: try OriginName("own"), baseURL: base)
        settings.modifiers.expect = rule
        let origin = settings
        try await EngineFixture.run(.with { $0.origin = origin }) { fixture in
            try await body(fixture, WebURL("\(scheme)://own.example/api/a"))
        }
    }

    private func post(
        _ fixture: EngineFixture,
        _ url: WebURL,
        _ id: String
    ) async throws -> ModifierID {
        try await fixture.write(.url(url), .none, "POST", id: id)
    }

    private func isUnknown(_ fixture: EngineFixture, _ id: ModifierID) async throws {
        try await until {
            try await fixture.engine.modifiers.modifier(id, fixture.scope).state == .unknown
        }
    }

    @Test("A page over https leaves a write open, and makes the next page expected (22, 25)")
    func pageOverHTTPS() async throws {
        try await run { fixture, url in
            fixture.upstream.answer(url, with: page, page)
            let id = try await post(fixture, url, "w")
            try await isUnknown(fixture, id)
            #expect(await fixture.originState == .online)
            _ = try await fixture.engine.modifiers.retry(id, fixture.scope)
            #expect(try await fixture.settled(id).state == .confirmed)
        }
    }

    @Test("With `json` another body leaves a write open, and a read fails (case 25)")
    func json() async throws {
        try await run("https", .json) { fixture, url in
            // Without the second answer, the read after the write marks the origin as offline.
            fixture.upstream.answer(url, with: .reply(status: 204), .json("[1]"))
            let empty = try await post(fixture, url, "empty")
            #expect(try await fixture.settled(empty).state == .confirmed)
            let answers: KeyValuePairs<String, ScriptedAnswer> = [
                "typed": text, "untyped": .reply("OK"), "wrong": .json("OK"),
                "cut": .json(#"{"a":"#), "later": .json("[1", status: 202),
            ]
            for (id, answer) in answers {
                let place = try WebURL("https://own.example/api/\(id)")
                fixture.upstream.answer(place, with: answer)
                try await isUnknown(fixture, try await post(fixture, place, id))
            }
            let other = try WebURL("https://own.example/api/b")
            fixture.upstream.answer(other, with: text)
            #expect(try await fixture.fetch(other).refusal?.kind == .badAnswer)
        }
    }

    @Test("With `json` a body that is JSON confirms, also after a byte order mark (case 25)")
    func soundJSON() async throws {
        try await run("https", .json) { fixture, _ in
            for (id, body) in ["a": " [1]\n", "b": "\u{FEFF}{}", "c": "\n"] {
                let place = try WebURL("https://own.example/api/\(id)")
                fixture.upstream.answer(place, with: .json(body), .json("[1]"))
                let write = try await post(fixture, place, id)
                #expect(try await fixture.settled(write).state == .confirmed, "\(id)")
            }
        }
    }

    @Test("HTML of another type over https leaves a write open (cases 22, 25)")
    func typedPage() async throws {
        try await run { fixture, _ in
            for (id, type) in ["a": "text/plain", "b": "application/json"] {
                let place = try WebURL("https://own.example/api/\(id)")
                let page = ScriptedAnswer.reply("<!DOCTYPE html>", headers: ["Content-Type": type])
                fixture.upstream.answer(place, with: page)
                try await isUnknown(fixture, try await post(fixture, place, id))
            }
        }
    }

    @Test("HTML of another type over http is a portal's if each path gives it (case 25)")
    func typedPortal() async throws {
        try await run("http") { fixture, url in
            let plain = ["Content-Type": "text/plain"]
            fixture.upstream.answerOthers { _ in .reply("\n<html>", headers: plain) }
            let id = try await post(fixture, url, "w")
            try await until {
                let report = try await fixture.engine.modifiers.modifier(id, fixture.scope)
                return await fixture.originState == .captive && report.state == .queued
            }
        }
    }

    @Test("A page over http leaves a write open, and one to its repeat is the origin's (case 25)")
    func lonePage() async throws {
        let typed = ScriptedAnswer.reply("\n<html>", headers: ["Content-Type": "text/plain"])
        for answer in [page, typed] {
            try await run("http") { fixture, url in
                fixture.upstream.answer(url, with: answer, answer)
                fixture.upstream.answerOthers { _ in .reply("no", status: 404) }
                let id = try await post(fixture, url, "w")
                try await isUnknown(fixture, id)
                #expect(await fixture.originState == .online)
                _ = try await fixture.engine.modifiers.retry(id, fixture.scope)
                #expect(try await fixture.settled(id).state == .confirmed)
            }
        }
    }

    @Test("With `any` each 2xx counts, over plain http too (case 25)")
    func any() async throws {
        try await run("http", .any) { fixture, url in
            try await fixture.cache(url, .json("[1]"))
            fixture.upstream.answer(url, with: page, page)
            #expect(try await fixture.fetch(url).shape == ["cache", "network", "end network"])
            #expect(await fixture.originState == .online)
            let id = try await post(fixture, url, "w")
            #expect(try await fixture.settled(id).state == .confirmed)
        }
    }
}
