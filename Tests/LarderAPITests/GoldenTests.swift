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
        for title in ["A credential is set", "A credential is shown", "A credential is removed"] {
            try check(CredentialReport.self, file.section(title))
        }
    }

    @Test("The names of members that may be left out are told too")
    func names() {
        let problem = APIDecoder.memberNames(of: Problem.self)
        #expect(problem.suffix(4) == ["needed_bytes", "free_bytes", "pointer", "body"])
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
        let sets = try GoldenFile(named: "prefetch.http")
        for title in ["A set is made", "A set is shown", "A set is planned"] {
            try check(PrefetchReport.self, sets.section(title))
        }
        try check(Page<PrefetchReport>.self, sets.section("Sets are listed"))
    }

    @Test("Entries and entities")
    func entries() throws {
        let entries = try GoldenFile(named: "entries.http")
        for title in ["Entries are listed", "A page of entries", "All users' entries"] {
            try check(Page<EntryItem>.self, entries.section(title))
        }
        for title in ["An entry is explained", "A fetched entry is explained"] {
            try check(EntryExplanation.self, entries.section(title))
        }
        let entities = try GoldenFile(named: "entities.http")
        try check(Page<EntryItem>.self, entities.section("Entities are listed"))
        for title in [
            "A normalized entry is explained", "An entity is explained",
            "An entity in an answer is explained",
        ] {
            try check(EntryExplanation.self, entities.section(title))
        }
    }

    @Test("Modifiers")
    func modifiers() throws {
        let file = try GoldenFile(named: "modifiers.http")
        for title in [
            "A modifier is shown", "A modifier is confirmed", "A modifier has failed",
            "A modifier is waited for", "A modifier is under way",
        ] {
            try check(ModifierReport.self, file.section(title))
        }
        for title in ["Modifiers are listed", "A page of modifiers", "Settled ones are listed"] {
            try check(Page<ModifierReport>.self, file.section(title))
        }
        for title in ["A modifier is accepted", "A failed modifier is accepted"] {
            try check(ModifierReceipt.self, file.section(title))
        }
        try check(Page<ModifierReceipt>.self, file.section("Several are accepted"))
        for title in ["A failed modifier is tried again", "A confirmed one is not"] {
            try check(Page<ModifierActionResult>.self, file.section(title))
        }
        try check(Page<LaneItem>.self, file.section("Lanes are listed"))
        try check(EntryExplanation.self, file.section("An entry with modifiers is explained"))
    }

    @Test("The daemon")
    func daemon() throws {
        let file = try GoldenFile(named: "daemon.http")
        for title in ["usage", "Usage of all"] {
            try check(UsageReport.self, file.section(title))
        }
        try check(Health.self, file.section("health"))
        try check(StatusReport.self, file.section("status"))
        try check(StatsReport.self, file.section("stats"))
        try check(Page<Finding>.self, file.section("A check"))
        try check(ReloadReport.self, file.section("A reload"))
        try check(PurgeReport.self, file.section("A purge"))
        try check(EvictReport.self, file.section("An eviction"))
    }

    /// The frames of a section: lines of JSON, or the data of events.
    private func lines(_ section: GoldenFile.Section) -> [String] {
        section.body.split(separator: "\n").compactMap { line in
            let json = line.hasPrefix("data: ") ? line.dropFirst(6) : line
            return json.hasPrefix("{") ? String(json) : nil
        }
    }

    private func check<Frame: Codable>(_ type: Frame.Type, of section: GoldenFile.Section) throws {
        let lines = lines(section)
        #expect(!lines.isEmpty, "\(section.title)")
        for line in lines {
            let frame = try APIDecoder(.strict).decode(type, from: Array(line.utf8))
            #expect(String(decoding: APIEncoder().encode(frame), as: UTF8.self) == line)
        }
    }

    @Test("Frames")
    func frames() throws {
        let frames = try GoldenFile(named: "frames.txt")
        for form in ["JSON Lines", "events"] {
            try check(FetchFrame.self, of: frames.section("Fetch frames as \(form)"))
            try check(WatchFrame.self, of: frames.section("Watch frames as \(form)"))
            try check(BatchFrame.self, of: frames.section("Batch frames as \(form)"))
        }
        for section in try GoldenFile(named: "fetch.http").sections
        where section.status == 200 && section.body.contains(#""type":"end""#)
            && !section.body.hasPrefix("[")
        {
            try check(FetchFrame.self, of: section)
        }
        let watches = try GoldenFile(named: "watch.http")
        for section in watches.sections where section.status == 200 {
            if section.body.contains(#""items":"#) {
                try check(WatchReport.self, section)
            } else {
                try check(WatchFrame.self, of: section)
            }
        }
        let entries = try GoldenFile(named: "entries.http")
        for title in ["A batch as JSON Lines", "A batch as events"] {
            try check(BatchFrame.self, of: entries.section(title))
        }
        try check([BatchFrame].self, entries.section("A batch as one document"))
        let fetches = try GoldenFile(named: "fetch.http")
        try check([FetchFrame].self, fetches.section("All frames as one document"))
    }

    @Test("A fault in a frame is told, and not a member that was not read yet")
    func faultyFrame() {
        let json = Array(#"{"type":"unchanged","rev":"x","source":"network","status":304}"#.utf8)
        #expect(
            throws: APIDecodingError.wrongType(at: "rev", found: "a string", wanted: "an integer")
        ) {
            try APIDecoder(.strict).decode(FetchFrame.self, from: json)
        }
    }

    @Test("A client reads a frame that only a newer daemon knows")
    func otherFrames() throws {
        let json = Array(#"{"type":"moved","rev":1}"#.utf8)
        let other = OtherFrame(type: "moved")
        #expect(try APIDecoder(.lenient).decode(FetchFrame.self, from: json) == .other(other))
        #expect(try APIDecoder(.lenient).decode(WatchFrame.self, from: json) == .other(other))
        #expect(try APIDecoder(.lenient).decode(BatchFrame.self, from: json) == .other(other))
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
