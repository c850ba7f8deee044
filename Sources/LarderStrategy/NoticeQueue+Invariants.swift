import LarderModel

extension NoticeQueue {
    /// Checks the invariants of the queue's documentation; costs nothing in release.
    func checkInvariants() {
        assert(isCounted, "what waits is ordered and counted, and begins at the first")
        assert(putsAreLast, "the last notice of an id is known where it is a put")
        assert(places.count - count <= Limits.watchNoticesMax, "empty places are swept")
    }

    private var isCounted: Bool {
        var (found, size, last) = (0, 0, Revision(0))
        for case (let place, let notice?) in places.enumerated() {
            guard place >= first, notice.revision >= last else { return false }
            (found, size, last) = (found + 1, size + notice.bytes, notice.revision)
        }
        return (found, size) == (count, bytes)
    }

    private var putsAreLast: Bool {
        for case (let place, let notice?) in places.enumerated() {
            guard let id = notice.id, let put = puts[id] else { continue }
            guard place <= put else { return false }
        }
        return puts.allSatisfy { id, place in
            guard case .change(let change, _)? = places[place]?.content,
                case .put(id, _) = change.event
            else { return false }
            return true
        }
    }
}
