import LarderModel
import LarderWire
import Synchronization

/// The places for bodies of requests that are still coming: each takes memory for as long as its
/// client pleases.
///
/// Guarded by a lock.
final class UploadPlaces: Sendable {
    private let taken = Mutex(
        Shares<UInt32>(max: Limits.uploadsMax, each: Limits.uploadsPerUserMax)
    )

    /// A place for a user's body; nil when there is none left.
    func enter(_ uid: UInt32) -> UploadPlace? {
        taken.withLock { $0.take(uid) } ? UploadPlace(places: self, uid: uid) : nil
    }

    fileprivate func leave(_ uid: UInt32) { taken.withLock { $0.giveBack(uid) } }
}

/// A place that was taken, to be left once.
struct UploadPlace {
    fileprivate let places: UploadPlaces
    fileprivate let uid: UInt32

    func leave() { places.leave(uid) }
}

extension Exchange {
    /// A place for the body, to be left when it was taken in; nil for one that has come whole.
    func enterUpload() throws(Problem) -> UploadPlace? {
        guard !body.isWhole else { return nil }
        guard let place = server.uploads.enter(peer.uid) else {
            throw Problem(
                .overloaded,
                "too many bodies are still coming: at most \(Limits.uploadsPerUserMax) of one user"
                    + " and \(Limits.uploadsMax) in all are taken at once",
                hint: "Send the rest of the others first."
            )
        }
        return place
    }
}
