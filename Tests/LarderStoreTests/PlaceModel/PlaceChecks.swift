/// What must hold.
extension PlaceState {
    /// Invariants 1 to 4, between two groups.
    mutating func check() {
        guard fault == nil, group == nil else { return }
        for id in 0..<world.ids {
            let (saved, place, row) = (durable.saved[id], memory[id], cache.rows[id])
            let word = world.isShared && id == 1 && saved == nil ? .absent : account.words[id]
            if durable.base(id, cache, world).content != word {
                fail(
                    "the base of \(id) is \(durable.base(id, cache, world)), the last word \(word)"
                )
            }
            if place.isClaimed != (saved != nil) || place.isPinned != (saved?.isPinned ?? false)
                || place.targets != durable.targets(id, world)
            {
                fail("memory says something else of \(id)")
            }
            if account.pins[id] != (saved?.isPinned == true) { fail("\(id) is pinned otherwise") }
            guard let saved, !place.isBehind, !saved.isCopy, !row.isAbsent else { continue }
            if !saved.row.isAbsent,
                row.content != saved.row.content
                    || place.targets == 0 && row.rev != saved.row.rev
            {
                fail("\(id) is shown as \(row), and saved as \(saved.row)")
            }
        }
        for modifier in 0..<2 {
            let isPending = durable.accepts[modifier] > 0
            if told[modifier] == .refused, isPending { fail("m\(modifier) was refused and waits") }
            if told[modifier] == .settled, isPending { fail("m\(modifier) is settled and waits") }
            if told[modifier] == .accepted, !isPending { fail("m\(modifier) is lost") }
        }
    }

    /// Invariant 7: what was told must be there after a crash.
    mutating func checkAfterCrash() {
        for id in 0..<world.ids where !world.isShared || durable.saved[id] != nil {
            let row = durable.base(id, cache, world)
            if row.rev < floors[id] {
                fail("\(id) is back at \(row) in the crash, told was rev \(floors[id])")
            }
        }
        // What was not answered yet may have been committed.
        for modifier in 0..<2 {
            let isPending = durable.accepts[modifier] > 0
            let isUnderWay = group?.steps.contains {
                $0.command == .settle(modifier, applied[modifier])
            }
            if told[modifier] == .accepted, !isPending, isUnderWay == true {
                told[modifier] = .settled
            }
            if told[modifier] == .nothing, isPending { told[modifier] = .accepted }
        }
    }

    /// Invariant 8: left alone, all is shown, and what is released goes.
    mutating func checkQuiet() {
        guard fault == nil, group == nil, readers.allSatisfy({ $0.phase == .idle }) else { return }
        let ids = (0..<world.ids).filter {
            memory[$0].isBehind
                || durable.isReleased($0, world) && durable.saved[$0]?.isCopy == false
        }
        guard !ids.isEmpty else { return }
        var quiet = self
        quiet.budget.releases = 2
        quiet.release = nil
        for index in readers.indices { quiet.readers[index].hasTransaction = false }
        for id in ids {
            quiet.run(.showAgain(id))
            quiet.run(.prepare(id))
            quiet.sync()
            quiet.run(.remove)
            if quiet.memory[id].isBehind { fail("\(id) stays behind") }
            if durable.isReleased(id, world), quiet.durable.saved[id]?.isCopy == false {
                fail("\(id) is released, and never goes")
            }
        }
    }

    private mutating func run(_ command: PlaceCommand) {
        var next = self
        guard next.begin([command]) else { return }
        while next.group != nil { next.goOn() }
        self = next
    }
}
