import Foundation
import LarderJSON
import LarderTestSupport
import Testing

@testable import LarderAPI

/// Wire types compared with the schemas of the API's document, of which golden files show only
/// members that have a value.
@Suite("Wire types and the document")
struct WireDocumentTests {
    private static let types: [(schema: String, type: any (Decodable & Sendable).Type)] = [
        ("FetchCommand", FetchCommand.self), ("WatchCommand", WatchCommand.self),
        ("BatchCommand", BatchCommand.self), ("EvictCommand", EvictCommand.self),
        ("OriginCommand", OriginCommand.self), ("OriginCheckCommand", OriginCheckCommand.self),
        ("ChangeFrame", ChangeFrame.self), ("EvictFrame", EvictFrame.self),
        ("ModifierFrame", ModifierFrame.self), ("OriginFrame", OriginFrame.self),
        ("AuthFrame", AuthFrame.self), ("BookmarkFrame", BookmarkFrame.self),
        ("LaggedFrame", LaggedFrame.self), ("HeartbeatFrame", HeartbeatFrame.self),
        ("WatchEndFrame", WatchEndFrame.self), ("WatchReport", WatchReport.self),
        ("MissFrame", MissFrame.self), ("CachedDeletionFrame", CachedDeletionFrame.self),
        ("SnapshotFrame", SnapshotFrame.self), ("FrameEntry", FrameEntry.self),
        ("UnchangedFrame", UnchangedFrame.self), ("DeletedFrame", DeletedFrame.self),
        ("ErrorFrame", ErrorFrame.self), ("EndFrame", EndFrame.self),
        ("EntryListItem", EntryItem.self), ("EntityListItem", EntityItem.self),
        ("PinItem", PinItem.self), ("ModifierReceipt", ModifierReceipt.self),
        ("ModifierReport", ModifierReport.self), ("ViewReport", ViewReport.self),
        ("PendingStep", PendingStep.self), ("References", References.self),
        ("EvictReport", EvictReport.self), ("PurgeReport", PurgeReport.self),
        ("ReloadReport", ReloadReport.self), ("CheckReport", CheckReport.self),
        ("Finding", Finding.self), ("StatusReport", StatusReport.self),
        ("OriginStatus", OriginStatus.self), ("StatsReport", StatsReport.self),
        ("Latency", Latency.self), ("OriginReport", OriginReport.self),
        ("OriginSettings", OriginDefinition.self), ("OriginTLS", OriginTLS.self),
        ("OriginFetch", OriginFetch.self), ("OriginNormalize", OriginNormalize.self),
        ("OriginTypeRule", OriginTypeRule.self), ("OriginPathRule", OriginPathRule.self),
        ("OriginModifiers", OriginModifiers.self), ("OriginIdempotency", OriginIdempotency.self),
        ("OriginCheckReport", OriginCheckReport.self), ("UsageSum", UsageSum.self),
        ("UsageCount", UsageCount.self), ("Health", Health.self), ("Problem", ProblemReport.self),
    ]

    @Test("A type has the members of its schema, none more and none less")
    func members() throws {
        let path = GoldenFile.folder + "/../../schema/openapi.json"
        let text = try Data(contentsOf: URL(fileURLWithPath: path))
        let document = try JSONValue(parsing: Array(text))
        let schemas = try #require(document["components"]?["schemas"])
        for (name, type) in Self.types {
            let properties = try #require(schemas[name]?["properties"]?.members, "\(name)")
            // A frame's type comes from the case that it is in.
            let frameType = name.hasSuffix("Frame") ? ["type"] : []
            let known = frameType + names(of: type)
            #expect(Set(known) == Set(properties.map(\.name)), "\(name)")
            #expect(Set(known).count == known.count, "\(name)")
        }
    }

    private func names(of type: any Decodable.Type) -> [String] {
        func names<Value: Decodable>(_ type: Value.Type) -> [String] {
            APIDecoder.memberNames(of: type)
        }
        return names(type)
    }
}
