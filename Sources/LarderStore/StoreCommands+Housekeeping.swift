import LarderModel

/// What is due for what is claimed, in an idle moment.
extension StoreCommands {
    /// Takes out of `cache.db` what is read in `state.db`, a batch at a time.
    func removeGarbage() async throws(StoreError) {
        while true {
            let keys = shared.claims.someGarbage(atMost: Limits.evictionBatchRowsMax)
            guard !keys.isEmpty, shared.generation.hasFile else { return }
            try await file.commits.submit { writer throws(StoreError) in
                try writer.promotion.removeGarbage(keys)
            }
        }
    }

    /// Takes out of `state.db` what nothing keeps any more, a batch at a time.
    func removeReleased(now: Timestamp) async throws(StoreError) {
        let index = shared.claims
        // What stays for now, and what could not be done, is looked at the next time.
        var later: [TargetName] = []
        defer { index.addReleasable(later) }
        while true {
            let names = index.takeReleasable(atMost: Limits.releasedBatchRowsMax)
            guard !names.isEmpty else { return }
            later += names
            let free = try await file.settle { writer throws(StoreError) in
                try writer.demotion.free(names)
            }
            if !free.isEmpty { try await removeReleased(free, now) }
            later.removeLast(names.count)
            later += free.filter { index.covers($0.scope, $0.id) }
        }
    }

    /// Into the cache, synced there, and only then out of `state.db`.
    private func removeReleased(
        _ names: [TargetName],
        _ now: Timestamp
    ) async throws(StoreError) {
        let generation = shared.generation
        let releases = try await prepare(names, now)
        let isSynced = try await file.commits.outsideTransaction { writer throws(StoreError) in
            try writer.files.cache.syncedCheckpoint()
        }
        guard isSynced, shared.generation == generation else {
            throw .noFile(reason: "what is released is not synced")
        }
        try await file.settle { writer throws(StoreError) in try writer.demotion.remove(releases) }
    }

    private func prepare(
        _ names: [TargetName],
        _ now: Timestamp
    ) async throws(StoreError) -> [Release] {
        let prepared = try await file.commits.submit { writer throws(StoreError) in
            try writer.demotion.prepare(names, [:], now: now)
        }
        var releases: [Release] = []
        for release in prepared {
            guard case .large(let body) = release else {
                releases.append(release)
                continue
            }
            if let release = await copied(body, now) { releases.append(release) }
        }
        return releases
    }

    /// What becomes of a released row once its large body is copied into the cache; nil where that has
    /// to be tried again, which keeps no other row from going.
    private func copied(
        _ large: LargeBody,
        _ now: Timestamp
    ) async -> Release? {
        do throws(StoreError) {
            return try await copying(now: now) { (copied) async throws(StoreError) in
                try await file.commits.submit {
                    writer throws(StoreError) -> Entrance<Release?> in
                    switch try writer.demotion.prepare([large.name], copied, now: now).first {
                    case .large(let body)?: .needs([body])
                    case let release: .done(release)
                    }
                }
            }
        } catch .tooLarge, .noRoom, .keyTaken {
            return .lost(large.name, .lru)
        } catch {
            return nil
        }
    }
}
