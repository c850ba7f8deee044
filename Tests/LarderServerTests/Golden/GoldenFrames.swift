import LarderModel
import LarderWire

/// Frames of each kind, with every member that they can have and with none that they can do
/// without, as no client can make a server send them all.
enum GoldenFrames {
    static func text() throws -> String {
        var text = ""
        func add(_ title: String, _ frames: [any StreamFrame]) {
            for (name, format) in [("JSON Lines", FrameFormat.jsonLines), ("events", .eventStream)]
            {
                text += (text.isEmpty ? "" : "\n") + "### \(title) as \(name)\n"
                for frame in frames {
                    text += String(decoding: format.encode(frame), as: UTF8.self)
                }
            }
        }
        add("Fetch frames", try fetch)
        add("Watch frames", try watch)
        add("Batch frames", try batch)
        return text
    }

    private static let moment = Timestamp(milliseconds: 1_700_000_000_120)
    private static var origin: OriginName { get throws { try OriginName("example") } }

    private static var fetch: [FetchFrame] {
        get throws {
            [
                .unchanged(UnchangedFrame(revision: Revision(7), status: 304)),
                .deleted(DeletedFrame(revision: Revision(8), status: 410)),
                .error(Problem(.timeout, "https://api.example.com did not answer in time")),
                .origin(Revision(9), try origin, state: "offline"),
                .heartbeat(Revision(10)),
                .end(EndFrame(outcome: .network, revision: Revision(10))),
                .end(
                    EndFrame(
                        outcome: .error,
                        cacheTime: .microseconds(1_250),
                        networkTime: .seconds(2)
                    )
                ),
            ]
        }
    }

    private static var watch: [WatchFrame] {
        get throws {
            let entity = EntryID(EntityName(try EntityKey("User:7"), of: try origin))
            var put = WatchFrame.EntryEvent(
                revision: Revision(7),
                id: try EntryID("https://api.example.com/42"),
                source: "network",
                cause: "entities"
            )
            put.changed = [try EntityKey("User:7")]
            put.isOwn = true
            put.coalesced = 3
            put.isInitial = true
            put.hasMore = true
            var evict = WatchFrame.EvictionEvent(revision: Revision(8), id: entity, reason: "size")
            evict.isOwn = true
            evict.hasMore = true
            return [
                .put(put),
                .put(.init(revision: Revision(7), id: entity, source: "client")),
                .delete(.init(revision: Revision(8), id: try EntryID("a"), source: "client")),
                .evict(evict),
                .evict(.init(revision: Revision(9), id: try EntryID("a"), reason: "client")),
                .origin(Revision(10), try origin, state: "online"),
                .auth(Revision(11), try origin, try AccountName("work"), state: "needed"),
                .bookmark(Revision(12), isInitialDone: true),
                .bookmark(Revision(12), isInitialDone: false),
                .lagged(Revision(13), droppedAfter: Revision(12)),
                .heartbeat(Revision(14)),
                .end(.timeout, Revision(14)),
                .end(.shutdown, nil),
            ]
        }
    }

    private static var batch: [BatchFrame] {
        get throws {
            [
                .miss(try EntryID("a")),
                .deleted(
                    try EntryID("b"),
                    DeletedFrame(source: .cache, revision: Revision(7), status: 410)
                ),
                .end(EndFrame(outcome: .cache, revision: Revision(8))),
            ]
        }
    }
}
