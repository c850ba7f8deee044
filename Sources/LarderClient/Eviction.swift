import LarderModel
package import LarderWire

/// Which entries are to go: one way at a time.
public enum EvictionSelection: Equatable, Sendable {
    /// Those of these ids, up to 10,000.
    case ids([String])
    /// Entities, by up to 10,000 keys, of an origin, or without it of the only one that has rules.
    case keys([String], origin: String?)
    /// Those whose ids begin with it.
    case prefix(String)
    /// Those of an origin, by its name.
    case origin(String)
    /// Those that were stored or confirmed longer ago.
    case olderThan(Duration)
    /// The least recently used, until no more than these bytes are left.
    case toBytes(Int64)
    /// All.
    case all
}

/// What went, or would go.
public struct EvictionReport: Equatable, Sendable {
    package let report: EvictReport

    /// How many entries.
    public var evicted: Int { report.evicted }
    /// How many bytes they counted against the cache's limit.
    public var bytes: Int64 { report.bytes }
    /// How many were asked for and are protected.
    public var skipped: Int { report.skipped }
    /// Their ids, with the entities up to 10,000.
    public var ids: [String] { report.ids.filter { !$0.isEntity }.map(\.text) }
    /// The entities among them.
    public var entities: [EntityID] { report.ids.compactMap(\.entity).map(EntityID.init) }
}

extension EvictionSelection {
    /// As it travels; refused where the daemon would refuse it.
    var wire: EvictSelection {
        get throws(ModelError) {
            switch self {
            case .ids(let texts):
                var ids: [EntryID] = []
                for text in texts { ids.append(try EntryID(text)) }
                return .ids(ids)
            case .keys(let texts, let origin):
                var keys: [EntityKey] = []
                for text in texts { keys.append(try EntityKey(text)) }
                guard let origin else { return .keys(keys, origin: nil) }
                return .keys(keys, origin: try OriginName(origin))
            case .prefix(let prefix): return .prefix(prefix)
            case .origin(let name): return .origin(try OriginName(name))
            case .olderThan(let age): return .olderThan(age)
            case .toBytes(let bytes): return .toBytes(ByteSize(bytes: bytes))
            case .all: return .all
            }
        }
    }
}
