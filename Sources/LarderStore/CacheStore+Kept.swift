import LarderModel

/// What is due for the rows that are kept; see ``KeptStore``.
extension CacheStore {
    /// Takes away every row of `cache.db` that a kept one has replaced, if some may have stayed.
    func sweepShadows() async throws(StoreError) {
        guard shared.kept.comesFirst else { return }
        // Whoever fails to take one away from now on says so again.
        shared.kept.comesFirst = false
        do throws(StoreError) {
            var last: Int64 = 0
            while true {
                let after = last
                let page = try await read { reader throws(StoreError) in
                    let limit = Limits.evictionBatchRowsMax
                    return try reader.keptReader().rows(after: after, limit: limit)
                }
                guard let end = page.last else { return }
                last = end.number
                try await kept.sweepShadows(of: page)
            }
        } catch {
            shared.kept.comesFirst = true
            throw error
        }
    }

    /// Gives the cache what nothing keeps any more, a batch at a time.
    func giveBackReleased() async throws(StoreError) {
        guard !shared.kept.isEmpty else { return }
        var last: Int64 = 0
        while true {
            let after = last
            let page = try await read { reader throws(StoreError) in
                try reader.keptReader().released(after: after, limit: Limits.releasedBatchRowsMax)
            }
            guard let end = page.last else { return }
            last = end.number
            guard try await kept.giveBack(page, now: now()) else { return }
        }
    }
}
