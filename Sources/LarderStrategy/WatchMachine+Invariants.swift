import LarderModel

extension WatchMachine {
    /// Holds the machine against the invariants of its documentation; costs nothing in release.
    func checkInvariants() {
        assert(isOrdered, "what waits is ordered, and was not told")
        assert(pending.reduce(0) { $0 + $1.bytes } == waitingBytes, "its bytes are counted")
        assert(placesAreRight, "the last notice of an id is known where it is a put")
    }

    private var isOrdered: Bool {
        var last = told
        for notice in pending {
            guard notice.revision >= last else { return false }
            last = notice.revision
        }
        return true
    }

    private var placesAreRight: Bool {
        for notice in pending {
            guard let id = notice.id, let place = place(of: id) else { continue }
            guard waiting.indices.contains(place), waiting[place].id == id else { return false }
        }
        return true
    }
}
