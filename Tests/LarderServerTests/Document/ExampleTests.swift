import LarderJSON
import LarderModel
import LarderWire
import Testing

@Suite("The examples of the OpenAPI document")
struct ExampleTests {
    /// What the code makes of an example and writes again, by the name of the schema.
    private static let roundTrips: [String: @Sendable ([UInt8]) throws -> [UInt8]] = [
        "FetchCommand": { try FetchCommand(json: $0).encodedJSON() },
        "EvictCommand": { try EvictCommand(json: $0).encodedJSON() },
        "BatchCommand": { try BatchCommand(json: $0).encodedJSON() },
        "MissFrame": { try BatchFrame(line: $0).encodedLine() },
        "CachedDeletionFrame": { try BatchFrame(line: $0).encodedLine() },
        "SnapshotFrame": frame,
        "UnchangedFrame": frame,
        "DeletedFrame": frame,
        "ErrorFrame": frame,
        "EndFrame": frame,
        "HeartbeatFrame": watchFrame,
        "Effect": { try Effect(parsing: $0).bytes },
        "ModifierCommand": { try ModifiersCommand(json: $0).encodedJSON() },
        "WatchCommand": { try WatchCommand(json: $0).encodedJSON() },
        "ChangeFrame": watchFrame,
        "EvictFrame": watchFrame,
        "ModifierFrame": watchFrame,
        "OriginFrame": watchFrame,
        "AuthFrame": watchFrame,
        "BookmarkFrame": watchFrame,
        "LaggedFrame": watchFrame,
        "WatchEndFrame": watchFrame,
        "EntryPage": { try EntryPage(decoding: $0).encoded() },
        "PinPage": { try PinPage(decoding: $0).encoded() },
        "EntityPage": { try EntityPage(decoding: $0).encoded() },
        "EntityExplanation": { try EntityExplanation(decoding: $0).encoded() },
        "EntryExplanation": { try EntryExplanation(decoding: $0).encoded() },
        "OriginCommand": { try OriginCommand(json: $0).encodedJSON() },
        "OriginSettings": { bytes in
            try OriginCommand(try OriginName("files"), json: bytes).settings
        },
        "OriginCheckCommand": { try OriginCheckCommand(json: $0).encodedJSON() },
        "OriginReport": { try OriginReport(decoding: $0).encoded() },
        "OriginCheckReport": { try OriginCheckReport(decoding: $0).encoded() },
        "EvictReport": { try EvictReport(decoding: $0).encoded() },
        "StatsReport": { try StatsReport(decoding: $0).encoded() },
        "StatusReport": { try StatusReport(decoding: $0).encoded() },
        "UsageReport": { try UsageReport(decoding: $0).encoded() },
        "CheckReport": { try CheckReport(decoding: $0).encoded() },
        "PurgeReport": { try PurgeReport(decoding: $0).encoded() },
        "ReloadReport": { try ReloadReport(decoding: $0).encoded() },
        "Problem": { try Problem(decoding: $0).encoded() },
    ]

    private static func frame(_ bytes: [UInt8]) throws -> [UInt8] {
        try FetchFrame(line: bytes).encodedLine()
    }

    private static func watchFrame(_ bytes: [UInt8]) throws -> [UInt8] {
        try WatchFrame(line: bytes).encodedLine()
    }

    private let api: DocumentedAPI

    init() throws {
        api = try DocumentedAPI()
    }

    @Test("Each is what the code reads and would write")
    func examples() throws {
        let judge = SchemaJudge(api: api)
        var seen: Set<String> = []
        for schema in api.schemas {
            guard let examples = schema.value["examples"]?.elements else { continue }
            seen.insert(schema.name)
            let roundTrip = try #require(Self.roundTrips[schema.name], "\(schema.name)")
            for example in examples {
                #expect(judge.complaints(example, schema.value, at: schema.name) == [])
                let again = try JSONValue(parsing: try roundTrip(Array(example.json.utf8)))
                #expect(again == example, "\(schema.name)")
            }
        }
        #expect(seen == Set(Self.roundTrips.keys))
    }

    @Test("Every body that a command takes has one")
    func bodies() {
        for operation in api.operations {
            guard let schema = operation.bodySchema else { continue }
            #expect(api.resolved(schema)["examples"]?.elements?.isEmpty == false, "\(operation)")
        }
    }
}

extension JSONValue {
    /// The value as JSON.
    var json: String {
        var writer = JSONWriter()
        write(to: &writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private func write(to json: inout JSONWriter) {
        switch self {
        case .null: json.null()
        case .bool(let bool): json.bool(bool)
        case .number(let number): json.verbatim(number.text.utf8)
        case .string(let text): json.string(text)
        case .array(let elements):
            json.beginArray()
            for element in elements { element.write(to: &json) }
            json.endArray()
        case .object(let members):
            json.beginObject()
            for member in members {
                json.name(member.name)
                member.value.write(to: &json)
            }
            json.endObject()
        }
    }
}
