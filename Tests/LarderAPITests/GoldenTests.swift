import LarderTestSupport
import Testing

@testable import LarderAPI

/// Wire types compared with the bytes that the server sends.
@Suite("Wire types of today's answers")
struct GoldenTests {
    /// Reads a body, of which no member may be unknown, and expects the same bytes again.
    private func check<Value: Codable>(
        _ type: Value.Type,
        _ section: GoldenFile.Section,
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let value = try APIDecoder(.strict).decode(type, from: Array(section.body.utf8))
        let again = String(decoding: APIEncoder().encode(value), as: UTF8.self)
        #expect(again == section.body, "\(section.title)", sourceLocation: location)
    }

    @Test("Origins")
    func origins() throws {
        let file = try GoldenFile(named: "origins.http")
        for title in [
            "An origin is added", "An origin is created", "An origin is replaced",
            "An origin is set offline", "An origin is set online",
        ] {
            try check(OriginReport.self, file.section(title))
        }
        for title in ["Origins are listed", "An origin that rests is listed"] {
            try check(Page<OriginReport>.self, file.section(title))
        }
        for title in ["An origin answers a check", "A check does not reach"] {
            try check(OriginCheckReport.self, file.section(title))
        }
    }

    @Test("The names of members that may be left out are told too")
    func names() {
        let problem = APIDecoder.memberNames(of: Problem.self)
        #expect(problem.suffix(4) == ["origin_status", "raw_href", "oldest", "body"])
        #expect(APIDecoder.memberNames(of: OriginReport.self).count == 10)
        #expect(APIDecoder.memberNames(of: UsageReport.self).first == "entries")
    }

    @Test("Pins")
    func pins() throws {
        let file = try GoldenFile(named: "pins.http")
        for title in ["An entry is pinned", "A pin waits for its origin"] {
            try check(PinItem.self, file.section(title))
        }
        for title in ["Pins are listed", "A page of pins"] {
            try check(Page<PinItem>.self, file.section(title))
        }
    }

    @Test("The daemon")
    func daemon() throws {
        let file = try GoldenFile(named: "daemon.http")
        for title in ["usage", "Usage of all"] {
            try check(UsageReport.self, file.section(title))
        }
        for title in ["health/live", "health/ready"] {
            try check(Health.self, file.section(title))
        }
        try check(StatusReport.self, file.section("status"))
        try check(StatsReport.self, file.section("stats"))
        try check(CheckReport.self, file.section("A check"))
        try check(ReloadReport.self, file.section("A reload"))
        try check(PurgeReport.self, file.section("A purge"))
        try check(EvictReport.self, file.section("An eviction"))
    }

    @Test("Problems")
    func problems() throws {
        var count = 0
        for name in [
            "daemon.http", "entities.http", "entries.http", "fetch.http", "modifiers.http",
            "origins.http", "pins.http", "problems.txt", "raw.http", "refusals.http",
            "refusals-user.http", "watch.http",
        ] {
            for section in try GoldenFile(named: name).sections
            where section.body.hasPrefix(#"{"type":"urn:larder:"#) {
                try check(Problem.self, section)
                count += 1
            }
        }
        #expect(count > 60)
    }
}
