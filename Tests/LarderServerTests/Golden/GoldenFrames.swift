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
                .problem(
                    ProblemFrame(
                        Problem(.timeout, "https://api.example.com did not answer in time")
                    )
                ),
                .origin(OriginFrame(Revision(9), try origin, state: "offline")),
                .heartbeat(HeartbeatFrame(Revision(10))),
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
            let put = ChangeFrame(
                Revision(7),
                try EntryID("https://api.example.com/42"),
                source: "network",
                cause: "entities",
                changed: [entity],
                isOwn: true,
                coalesced: 3,
                isInitial: true,
                hasMore: true
            )
            let evict = EvictFrame(Revision(8), entity, reason: "size", isOwn: true, hasMore: true)
            let id = try EntryID("a")
            return [
                .put(put),
                .put(ChangeFrame(Revision(7), entity, source: "client")),
                .delete(ChangeFrame(Revision(8), id, source: "client")),
                .evict(evict),
                .evict(EvictFrame(Revision(9), id, reason: "client")),
                .remapped(RemappedFrame(Revision(9), entity, as: id)),
                .remapped(RemappedFrame(Revision(9), entity, as: id, hasMore: true)),
                .origin(OriginFrame(Revision(10), try origin, state: "online")),
                .auth(
                    AuthFrame(Revision(11), try origin, try AccountName("work"), state: "needed")
                ),
                .prefetch(
                    PrefetchFrame(
                        Revision(11),
                        try PrefetchName("tonight"),
                        try AccountName("work"),
                        state: "ready"
                    )
                ),
                .bookmark(BookmarkFrame(Revision(12), isInitialDone: true)),
                .bookmark(BookmarkFrame(Revision(12), isInitialDone: false)),
                .lagged(LaggedFrame(Revision(13), droppedAfter: Revision(12))),
                .heartbeat(HeartbeatFrame(Revision(14))),
                .end(WatchEndFrame(.timeout, Revision(14))),
                .end(WatchEndFrame(.shutdown, nil)),
            ]
        }
    }

    private static var batch: [BatchFrame] {
        get throws {
            [
                .miss(MissFrame(try EntryID("a"))),
                .deleted(
                    CachedDeletionFrame(
                        try EntryID("b"),
                        DeletedFrame(source: .cache, revision: Revision(7), status: 410)
                    )
                ),
                .end(EndFrame(outcome: .cache, revision: Revision(8))),
            ]
        }
    }
}
