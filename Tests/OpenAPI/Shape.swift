import LarderAPI

/// One of the forms of a value whose type reads itself.
enum Shape: Sendable {
    /// An object with this `type` and the members of a type.
    case frame(String, any Sendable.Type)
    case type(any Sendable.Type)
    case words([String])
    case members([(name: String, type: any Sendable.Type)])
    /// An object of one member with a name of its own.
    case oneMember(any Sendable.Type)

    static let all: [ObjectIdentifier: [Shape]] = [
        ObjectIdentifier(FetchFrame.self): [
            .frame("snapshot", SnapshotFrame.self), .frame("unchanged", UnchangedFrame.self),
            .frame("deleted", DeletedFrame.self), .frame("problem", ProblemFrame.self),
            .frame("origin", OriginFrame.self), .frame("heartbeat", HeartbeatFrame.self),
            .frame("end", EndFrame.self),
        ],
        ObjectIdentifier(BatchFrame.self): [
            .frame("snapshot", SnapshotFrame.self), .frame("miss", MissFrame.self),
            .frame("deleted", CachedDeletionFrame.self), .frame("end", EndFrame.self),
        ],
        ObjectIdentifier(WatchFrame.self): [
            .frame("put", ChangeFrame.self), .frame("delete", ChangeFrame.self),
            .frame("evict", EvictFrame.self), .frame("modifier", ModifierFrame.self),
            .frame("remapped", RemappedFrame.self), .frame("origin", OriginFrame.self),
            .frame("auth", AuthFrame.self), .frame("prefetch", PrefetchFrame.self),
            .frame("bookmark", BookmarkFrame.self), .frame("lagged", LaggedFrame.self),
            .frame("heartbeat", HeartbeatFrame.self), .frame("end", WatchEndFrame.self),
        ],
        ObjectIdentifier(OriginTypeMembers.self): [
            .type(Bool.self), .members([("type", [String].self), ("id", [String].self)]),
        ],
        ObjectIdentifier(OriginKeyField.self): [
            .type(String.self), .oneMember([OriginKeyField].self),
        ],
        ObjectIdentifier(OriginListRule.self): [
            .words(["replace", "append"]), .members([("append", String.self)]),
            .members([("by", String.self)]),
        ],
    ]
}
