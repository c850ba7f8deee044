/// What must hold.
extension PlaceState {
    /// Invariants 1 to 5, between two groups.
    mutating func check() {
        guard fault == nil, group == nil else { return }
        for id in 0..<world.ids {
            let claim = durable.claims[id]
            if !claim.isPresent, !claim.saved.isAbsent { fail("\(id) is saved without a claim") }
            if cache.rows[id].isHead, claim.saved.isAbsent, !overlay.claims[id].isToPut {
                fail("\(id) is a head without a body")
            }
            let row = base(id, durable, cache)
            if row.content != account.words[id] {
                fail("the base of \(id) is \(row), the last word \(account.words[id])")
            }
            let written = cache.rows[id].written
            if written > claim.saved.written, !claim.saved.isAbsent {
                fail("\(id) is newer than what is saved")
            } else if written < claim.saved.written, !overlay.claims[id].isToPut {
                fail("\(id) is older than what is saved, and nobody puts it")
            }
            let isTargeted = (0..<2).contains {
                durable.modifiers[$0].accept > 0 && has($0, on: id)
            }
            if (isTargeted || claim.isPinned) && !claim.isPresent { fail("\(id) lost its claim") }
        }
        for modifier in 0..<2 {
            let isPending = durable.modifiers[modifier].accept > 0
            if told[modifier] == .refused, isPending { fail("m\(modifier) was refused and waits") }
            if account.changes[modifier].accept == 0, isPending {
                fail("m\(modifier) waits, and is settled")
            }
        }
    }

    /// What was told must be there after a crash.
    mutating func checkAfterCrash() {
        for modifier in 0..<2 {
            let isPending = durable.modifiers[modifier].accept > 0
            if told[modifier] == .accepted, !isPending, !settled[modifier] {
                fail("m\(modifier) was accepted and is lost in the crash")
            }
            if told[modifier] == .refused, isPending {
                fail("m\(modifier) was refused and is there after the crash")
            }
        }
        for id in 0..<world.ids where floors[id] > 0 {
            let row = base(id, durable, versions[0])
            if row.written < floors[id] {
                fail("\(id) is back at \(row.written), told was \(floors[id])")
            }
        }
    }

    /// The bookmark of a watcher goes on to what is published, by the change logs alone.
    mutating func watch() {
        guard let old = watched, let now = moments.last(where: { $0.number <= published }) else {
            return
        }
        for id in 0..<world.ids where old.own[id] != now.own[id] {
            let log = cache.log[id] | durable.log[id]
            let isTold = (old.number + 1...max(published, old.number + 1)).contains {
                log & (1 << UInt64($0)) != 0
            }
            if !isTold { fail("a watcher at \(old.number) is not told of \(id) at \(published)") }
        }
        watched = PlaceMoment(number: published, own: now.own, other: now.other)
    }

    /// A client asks for what came since the rev that it was shown.
    mutating func since(_ index: Int) {
        let rev = max(readers[index].shown.first.rev, readers[index].shown.second.rev)
        if rev > published, !rules.holds(.sinceWaits) {
            fail("since \(rev), which was shown, is refused: \(published) is released")
        }
    }

    /// Left alone, everything is put, goes that has no reason, and nothing is remembered.
    mutating func checkQuiet() {
        guard fault == nil, group == nil, readers.allSatisfy({ $0.phase == .idle }) else { return }
        var quiet = self
        for index in readers.indices { quiet.readers[index].hasTransaction = false }
        quiet.run(.again)
        quiet.budget.checkpoints += 1
        quiet.checkpoint(upTo: quiet.versions.count - 1)
        for id in 0..<world.ids { quiet.run(.release(id)) }
        quiet.forget()
        for id in 0..<world.ids {
            let claim = quiet.durable.claims[id]
            let isTargeted = (0..<2).contains {
                quiet.durable.modifiers[$0].accept > 0 && has($0, on: id)
            }
            if claim.isPresent, !claim.isPinned, !isTargeted {
                fail("the claim of \(id) never goes")
            }
            if quiet.overlay.claims[id].mark > 0 { fail("the mark of \(id) never goes") }
        }
        for modifier in 0..<2 where quiet.overlay.changes[modifier].end > 0 {
            fail("the settled m\(modifier) is never forgotten")
        }
    }

    private mutating func run(_ command: PlaceCommand) {
        var next = self
        guard next.begin([command]) else { return }
        while next.group != nil { next.goOn() }
        self = next
    }
}
