import LarderAPI
import LarderModel
import LarderWire
import NIOCore
import Synchronization

/// The open connections, how many each user has, and how they are told of the daemon's end.
///
/// Guarded by a lock.
final class ConnectionList: Sendable {
    private struct Open {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var perUser: Shares<UInt32>
        var isDraining = false
        var accepted: Int64 = 0
        var refused: Int64 = 0
        /// Of those how many the log has been told of, and when it is told of more.
        var told: Int64 = 0
        var noticeDue = NIODeadline.uptimeNanoseconds(0)
        var drained: [CheckedContinuation<Void, Never>] = []
    }

    private let open: Mutex<Open>

    init(
        connectionsMax: Int = Limits.connectionsMax,
        perUserMax: Int = Limits.connectionsPerUserMax
    ) {
        open = Mutex(Open(perUser: Shares(max: connectionsMax, each: perUserMax)))
    }

    var count: Int { open.withLock { $0.channels.count } }

    var isDraining: Bool { open.withLock { $0.isDraining } }

    /// How many were refused since the log was told; nil while it is not to be told again.
    func takeRefusals(now: NIODeadline) -> Int64? {
        open.withLock { open in
            guard now >= open.noticeDue else { return nil }
            open.noticeDue = now + .larder(Limits.shortageNoticeTime)
            defer { open.told = open.refused }
            return open.refused - open.told
        }
    }

    var counts: ConnectionStats {
        open.withLock { open in
            var counts = ConnectionStats()
            counts.open = open.channels.count
            counts.accepted = open.accepted
            counts.refused = open.refused
            return counts
        }
    }

    /// Takes a connection in until it is closed; false when there are too many, or the daemon is
    /// ending.
    func add(_ channel: any Channel, uid: UInt32) -> Bool {
        let isTaken = open.withLock { open in
            guard !open.isDraining, open.perUser.take(uid) else {
                open.refused += 1
                return false
            }
            open.accepted += 1
            open.channels[ObjectIdentifier(channel)] = channel
            return true
        }
        if isTaken {
            channel.closeFuture.whenComplete { _ in self.remove(channel, uid: uid) }
        }
        return isTaken
    }

    private func remove(_ channel: any Channel, uid: UInt32) {
        let waiting = open.withLock { open -> [CheckedContinuation<Void, Never>] in
            guard open.channels.removeValue(forKey: ObjectIdentifier(channel)) != nil else {
                return []
            }
            open.perUser.giveBack(uid)
            guard open.isDraining, open.channels.isEmpty else { return [] }
            defer { open.drained = [] }
            return open.drained
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Tells every connection that the daemon is ending, and takes no more.
    func drain() {
        let channels = open.withLock { open in
            open.isDraining = true
            return Array(open.channels.values)
        }
        for channel in channels {
            channel.pipeline.fireUserInboundEventTriggered(DrainBegan())
        }
    }

    /// Returns when the last connection is closed.
    func waitUntilEmpty() async {
        await withCheckedContinuation { continuation in
            let isEmpty = open.withLock { open in
                if !open.channels.isEmpty { open.drained.append(continuation) }
                return open.channels.isEmpty
            }
            if isEmpty { continuation.resume() }
        }
    }

    func closeAll() {
        let channels = open.withLock { Array($0.channels.values) }
        for channel in channels { channel.close(promise: nil) }
    }
}

/// The user event by which a connection hears of the daemon's end.
struct DrainBegan: Sendable {}
