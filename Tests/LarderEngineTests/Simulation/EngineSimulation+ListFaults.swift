import LarderModel

/// A fault, or something that may show one, which some lives with a list meet at every fourth step.
///
/// Other lives with a list draw nothing for it, so that their seeds mean what they meant before.
enum ListFault: CaseIterable, Sendable {
    /// The process is killed while it writes something down.
    case kills
    /// `cache.db` is lost at an orderly end, or while it is in use.
    case cacheLoss
    /// Clients evict the list, its entities and the answers of their own URLs.
    case evictions
    /// An operation of SQLite fails, or the commit of one file, after which the process may be killed.
    case disk
    /// Clients pin and unpin the list, and `cache.db` is lost.
    case pins
    /// Clients fetch the same URL together, while other things go on.
    case joinedReads

    /// Seeds in a row that have one fault: with and without the empty form, joined writes and other
    /// credentials, each with each.
    private static let blockSeeds: UInt64 = 12
    /// Seeds until each fault has had its turn.
    static let roundSeeds = blockSeeds * UInt64(allCases.count)

    init(ofSeed seed: UInt64) {
        self = Self.allCases[Int(seed % Self.roundSeeds / Self.blockSeeds)]
    }
}

extension EngineSimulation {
    /// Meets a fault of a life with a list.
    func meet(_ fault: ListFault) throws {
        switch fault {
        case .kills:
            try writeOnDisk()
            try crash()
        case .cacheLoss: try loseCache()
        case .evictions:
            try evictOfList()
            try goOn()
        case .disk where randomUnit(1, of: 2): try failDisk(writeOnDisk)
        case .disk: try failCommit(writeOnBothFiles)
        case .pins where randomUnit(1, of: 3): try reopen(losingCache: true)
        case .pins:
            setPin(PlainQueue.list)
            try goOn()
        case .joinedReads:
            fetchTogether()
            try writeOnDisk()
            try goOn()
        }
    }

    /// Has `cache.db` lost, perhaps while something is written down.
    private func loseCache() throws {
        switch draw(0..<4) {
        case 0: return try reopen(losingCache: true)
        case 1: return try damageCache(writeOnDisk)
        case 2: try writeOnDisk()
        default: try settle()
        }
        guard try pump(draw(0..<6)) else { return try settle() }
        try harmCache()
        try settle()
    }

    private func evictOfList() throws {
        let list = PlainQueue.list
        let path = randomUnit(1, of: 4) ? list : pick(readable) ?? list
        let key = randomUnit(2, of: 3) ? entity(path) : nil
        let id = try key.map { try EntryID.entity("Doc:\($0)") } ?? Self.id(path)
        put(.evicted(path, isByKey: key != nil), evict(id, scopeKey))
    }

    /// Does one thing that is written down.
    private func writeOnDisk() throws {
        switch draw(0..<12) {
        case 0, 1: try acceptObject()
        case 2: try acceptCreate()
        case 3: try acceptOnTemporary()
        case 4, 5: try accept()
        case 6..<10: answerSomething()
        case 10: decide()
        default: fetch(PlainQueue.list, .networkOnly)
        }
    }

    /// Has clients fetch one URL, so that they join one request, or start another one beside it.
    private func fetchTogether() {
        let path = randomUnit(1, of: 2) ? PlainQueue.list : pick(readable) ?? PlainQueue.list
        for _ in 0..<draw(2..<5) {
            fetch(path, pick(FetchPolicy.allCases) ?? .networkOnly)
        }
    }

    /// Does one thing that is written down in both files, if there is one to be done.
    private func writeOnBothFiles() throws {
        let answer = pick(answerable.filter { $0.kind == .write })
        guard let answer, randomUnit(2, of: 3) else { return try writeOnDisk() }
        answerWell(answer)
    }
}
