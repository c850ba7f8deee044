import LarderModel
import LarderWire
import Synchronization

/// The bytes of all arrays of frames that are not sent yet, in all and of each uid.
///
/// Guarded by a lock.
final class ArrayBytes: Sendable {
    private struct Held {
        var all = 0
        var perUser: [UInt32: Int] = [:]
    }

    private let held = Mutex(Held())

    /// One array's part; what it took is given back when it is gone.
    final class Share {
        private let bytes: ArrayBytes
        private let uid: UInt32
        private var taken = 0

        fileprivate init(_ bytes: ArrayBytes, _ uid: UInt32) {
            self.bytes = bytes
            self.uid = uid
        }

        deinit {
            bytes.give(back: taken, of: uid)
        }

        func grow(by count: Int) throws(Problem) {
            guard bytes.take(count, for: uid) else {
                throw Problem(
                    .overloaded,
                    "answers as application/json wait with \(Limits.arrayBytesPerUserMax) bytes"
                        + " already",
                    hint: "Accept application/jsonl, which is sent as it comes."
                )
            }
            taken += count
        }
    }

    func share(of uid: UInt32) -> Share { Share(self, uid) }

    private func take(_ count: Int, for uid: UInt32) -> Bool {
        held.withLock { held in
            let own = held.perUser[uid, default: 0]
            guard held.all + count <= Limits.arrayBytesMax,
                own + count <= Limits.arrayBytesPerUserMax
            else { return false }
            held.all += count
            held.perUser[uid] = own + count
            return true
        }
    }

    private func give(back count: Int, of uid: UInt32) {
        held.withLock { held in
            held.all -= count
            let left = held.perUser[uid, default: count] - count
            held.perUser[uid] = left == 0 ? nil : left
        }
    }
}
