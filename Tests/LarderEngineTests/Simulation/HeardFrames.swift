import LarderTestSupport
import LarderWire
import Synchronization

/// What clients are told of a target in the frames of a fetch.
struct HeardFrame: Hashable, CustomStringConvertible {
    let path: String
    let user: Int
    /// Which look at the daemon was the last one before the fetch began.
    let since: Int
    let view: PlainView
    /// Nil where nothing is said of it.
    let pending: [String]?
    let failed: Int?

    var description: String {
        "\(path) \(view) pending \(pending ?? []) failed \(failed ?? 0)"
    }

    /// Nil for a frame that shows nothing.
    init?(_ frame: FetchFrame, of path: String, _ user: Int, since: Int) {
        (self.path, self.user) = (path, user)
        self.since = since
        switch frame {
        case .snapshot(let snapshot):
            guard case .json(let bytes) = snapshot.entry.content,
                let value = PlainValue(parsing: bytes)
            else { return nil }
            view = .value(value, isComplete: snapshot.complete)
            let ids = snapshot.pendingIDs
            pending = path == PlainQueue.list ? ids.sorted() : ids
            failed = snapshot.failed
        case .deleted:
            view = .deleted
            (pending, failed) = (nil, nil)
        case .unchanged, .problem, .origin, .heartbeat, .end, .other: return nil
        }
    }

    /// Whether it is what somebody may see of its target there.
    func agrees(with shown: PlainQueue.Shown) -> Bool {
        view == shown.view && (pending == nil || pending == shown.pending)
            && (failed == nil || failed == shown.failed)
    }
}

/// The frames that nobody has taken yet.
final class HeardFrames: Sendable {
    private let frames = Mutex<[HeardFrame]>([])

    func note(_ frame: FetchFrame, of path: String, _ user: Int, since: Int) {
        guard let heard = HeardFrame(frame, of: path, user, since: since) else { return }
        frames.withLock { $0.append(heard) }
    }

    func take() -> [HeardFrame] {
        frames.withLock { frames in
            defer { frames = [] }
            return frames
        }
    }
}
