package import LarderModel
package import LarderNormalize
import Synchronization

/// Folders and limits of the store; each of ``limits`` is a property of it.
@dynamicMemberLookup
package struct StoreConfiguration: Sendable {
    package var cacheDirectory: String
    package var stateDirectory: String
    /// How much it may keep; the copies of an open store's configuration share them.
    package var limits: StoreLimits {
        get { shared?.limits.withLock { $0 } ?? own }
        set { own = newValue }
    }
    private var own = StoreLimits()
    private var shared: SharedLimits?
    /// Memory for pages of `cache.db`, over all connections.
    package var memoryBytes = ByteSize(bytes: 32 << 20)
    package var readers = 4
    package var reserveBytes = Limits.reserveBytes
    /// Free bytes on the disk of a folder; nil where it cannot be told.
    package var freeBytes: @Sendable (String) -> Int64? = DiskSpace.freeBytes
    /// Which bits of an id's hash are used; few of them in tests, so that ids collide.
    package var hashMask = UInt64.max
    /// Which start of the machine this is; nil where it cannot be told.
    package var boot = BootID.current
    /// Milliseconds since the machine started, which no clock step changes; nil if unknown.
    package var uptime: @Sendable () -> Int64? = { nil }
    /// Whether the wall clock was synchronized since the machine started.
    package var isClockSynchronized: @Sendable () -> Bool = { false }
    /// Decides which change watchers hear of when a step changes a target; by default a put.
    package var viewChange: ViewChange.Comparison = { _, _, _, _ in .put }
    /// Notes on base when a modifier is sent.
    package var sentBases = SentBases()
    /// Largest size of a `state.db` of which every page is read at start.
    package var checkedStateBytes = Limits.checkedStateBytesMax
    /// How old the copy of `state.db` gets before another one is taken; nil for no copies.
    package var snapshotAge: Duration?
    package var faults: (any FaultPlan)?

    package init(cacheDirectory: String, stateDirectory: String) {
        self.cacheDirectory = cacheDirectory
        self.stateDirectory = stateDirectory
    }

    package subscript<Value>(dynamicMember limit: WritableKeyPath<StoreLimits, Value>) -> Value {
        get { limits[keyPath: limit] }
        set { limits[keyPath: limit] = newValue }
    }

    func shareLimits() -> StoreConfiguration {
        var copy = self
        copy.shared = SharedLimits(limits)
        return copy
    }

    func setLimits(_ limits: StoreLimits) { shared?.limits.withLock { $0 = limits } }

    /// The part of ``memoryBytes`` that a connection to `cache.db` may use.
    ///
    /// The readers of the event loops share one half, because hits come from them. The writer has a
    /// quarter, and all others share another.
    func pageCacheBytes(of connection: CacheConnection) -> Int64 {
        switch connection {
        case .eventLoop: memoryBytes.bytes / 2 / Int64(readers)
        case .writer: memoryBytes.bytes / 4
        case .other: memoryBytes.bytes / 4 / Int64(CacheConnection.othersMax)
        }
    }

    enum CacheConnection {
        case eventLoop
        case writer
        case other

        /// Readers for clients' requests, and one each for bodies, sending, checks, bases and
        /// references.
        static let othersMax = Limits.clientReadersMax + 5
    }
}

/// Notes on a target's base when a change of it is sent, to tell later whether a read has changed
/// it.
package struct SentBases: Sendable {
    /// Whether an effect needs base to be as it was sent on; by default none does.
    package var areWanted: @Sendable (_ effect: [UInt8]) -> Bool = { _ in false }
    /// Stands for a base; the same for two that say the same.
    package var mark: @Sendable (TargetBase) -> [UInt8] = { _ in [] }
    package var touched: @Sendable (_ effect: [UInt8]) -> TouchedMembers = { _ in .all }

    package init() {}
}

/// How much a store may keep; it can change while the store is open.
package struct StoreLimits: Equatable, Sendable {
    package var maxBytes = ByteSize(bytes: 512 << 20)
    package var maxEntryBytes = ByteSize(bytes: 64 << 20)
    /// The part of `maxBytes` that eviction goes down to once it has begun.
    package var lowWatermark = 0.9
    /// Bytes that the cache leaves free on its disk, by shrinking.
    package var minFreeBytes = ByteSize(bytes: 0)
    package var pinsMaxBytes = ByteSize(bytes: 1 << 30)
    /// Limits of the modifiers and of the bases of their targets in `state.db`.
    package var queue = QueueLimits()

    package init() {}
}

private final class SharedLimits: Sendable {
    let limits: Mutex<StoreLimits>

    init(_ limits: StoreLimits) { self.limits = Mutex(limits) }
}

package struct QueueLimits: Equatable, Sendable {
    package var maxModifiers: Int64 = 100_000
    package var maxBytes: Int64 = 256 << 20
    /// The part of both bounds, and of the pins, that a uid gets once there are two.
    ///
    /// A uid above this part of the cache loses its own rows first.
    package var userShare = 0.5
    /// The part that a lone uid gets; the rest stays for the next uid.
    var aloneShare: Double { max(userShare, Limits.aloneShare) }

    func part(of limit: Int64, users: Int) -> Int64 {
        let part = Double(limit) * (users > 1 ? userShare : aloneShare)
        return Int64(users > 1 ? part : part.rounded(.up))
    }
    package var history: Int64 = 10_000
    package var historyBytes: Int64 = 32 << 20
    /// Bytes of the answers that the history keeps: new writes have the rest of ``maxBytes``.
    var answerBytesMax: Int64 { min(historyBytes, maxBytes / 4) }
}
