import LarderModel
import LarderTestSupport
import Testing

/// Many who watch much while much happens: what each of them is told is held against what was done.
@Suite("A crowd that watches", .timeLimit(.minutes(10)))
struct WatchCrowdTests {
    @Test(
        """
        P-12: 200 connections that watch 10,000 ids hear of each step that concerns them, once and \
        in order, however slowly one of them reads
        """
    )
    func crowd() async throws {
        for seed in SimulationSeeds.first(1) {
            try await ServerFixture.run(rules: .standard) { server in
                let complaints = try await Crowd(seed: seed, at: server).run()
                for complaint in complaints.prefix(10) { Issue.record("\(complaint)") }
                #expect(complaints.isEmpty, "\(SimulationSeeds.advice(seed))")
            }
        }
    }
}

/// Who watches what, and who writes.
private struct Crowd {
    private static let listeners = 196
    private static let authors = 60
    private static let articles = 120
    private static let writers = 3
    private static let hot = 10
    /// Of each writer.
    private static let steps = 300

    private let server: ServerFixture
    private let origin: OriginName
    private let seed: UInt64
    private let room = Newsroom(authors: Self.authors, articles: Self.articles)
    /// With the authors, the pages and the feeds they are 10,000.
    private let blobs: [EntryID]
    /// Watched by nobody who names them.
    private let loose: [EntryID]
    /// So long that a socket and what waits for a watcher hold few of them.
    private let long: [EntryID]
    private let comesBack = Gate()
    private let reads = Gate()

    init(seed: UInt64, at server: ServerFixture) throws {
        self.seed = seed
        self.server = server
        origin = try OriginName("example")
        let others = Self.authors + Self.articles + room.feeds.count
        blobs = try (0..<10_000 - others).map { try EntryID("blob:\($0)") }
        loose = try (0..<20).map { try EntryID("loose:\($0)") }
        let tail = String(repeating: "x", count: 8_000)
        long = try (0..<130).map { try EntryID("long:\($0)\(tail)") }
    }

    /// What there is to complain of.
    func run() async throws -> [String] {
        var newsroom = try await NewsroomWriter(room, seed: seed, at: server)
        let begun = try await newsroom.publish()
        let listeners = try await self.listeners()
        let slow = try await CrowdListener(-1, slowInterest, at: server)
        return try await withThrowingTaskGroup(of: CrowdListener.self) { group in
            for listener in listeners {
                group.addTask {
                    var listener = listener
                    try await listener.listen()
                    return listener
                }
            }
            group.addTask { [reads] in
                var slow = slow
                try await reads.wait()
                try await slow.listen()
                return slow
            }
            let history = try await write(&newsroom)
            var complaints: [String] = []
            for _ in listeners {
                guard let listener = try await group.next() else { break }
                complaints += CrowdJudge(listener, history).complaints
            }
            // All others have heard the last by now.
            reads.open()
            for try await slow in group {
                complaints += CrowdJudge(slow, history).complaints
                #expect(slow.parts[0].end == .lagged || slow.parts[0].end == .cut)
            }
            var late = try await CrowdListener(-2, CrowdInterest(), at: server, since: begun)
            try await late.listen()
            return complaints + CrowdJudge(late, history).complaints
        }
    }

    // MARK: Who watches

    private func ids(_ answers: [Newsroom.Answer]) throws -> [EntryID] {
        try answers.map { try EntryID(Newsroom.url($0)) }
    }

    private var slowInterest: CrowdInterest { CrowdInterest(ids: [blobs[0]], prefixes: ["long:"]) }

    /// Each has its share of the ids, and some that others have too; then those with prefixes, with
    /// some kinds only, and with everything.
    private func interests() throws -> [CrowdInterest] {
        var random = SeededRandom(seed: seed)
        var interests: [CrowdInterest] = []
        func share<Element>(_ number: Int, of all: [Element]) -> [Element] {
            all.indices.filter { $0 % Self.listeners == number }.map { all[$0] }
        }
        let authors = try room.authors.indices.map {
            EntryID(try server.entity(Newsroom.author($0).text))
        }
        let hot = blobs.prefix(Self.writers * Self.hot)
        for number in 0..<Self.listeners {
            var cancellation = CrowdInterest()
            let answers = share(number, of: room.cached) + [random.pick(room.cached)]
            cancellation.ids = share(number, of: blobs) + (try ids(answers))
            cancellation.ids += [random.pick(Array(hot)), random.pick(blobs)]
            cancellation.ids += share(number, of: authors) + [random.pick(authors)]
            interests.append(cancellation)
        }
        let feeds = ServerFixture.baseURL + "/feeds/"
        interests.append(CrowdInterest(prefixes: ["loose:", "long:", feeds]))
        interests.append(
            CrowdInterest(ids: Array(hot), prefixes: ["loose:"], kinds: [.put, .delete])
        )
        interests.append(CrowdInterest())
        return interests
    }

    private func listeners() async throws -> [CrowdListener] {
        var listeners: [CrowdListener] = []
        for (number, cancellation) in try interests().enumerated() {
            let leave = number % 20 == 7 ? (20, comesBack) : nil
            listeners.append(
                try await CrowdListener(number, cancellation, at: server, leavingAfter: leave)
            )
        }
        return listeners
    }

    // MARK: Who writes

    /// Each writes as fast as it is answered; all that was done.
    private func write(_ newsroom: inout NewsroomWriter) async throws -> CrowdHistory {
        let (server, seed, comesBack) = (server, seed, comesBack)
        var histories = try await withThrowingTaskGroup(of: CrowdHistory.self) { group in
            for number in 0..<Self.writers {
                // The hot ones of each are its first.
                let hot = blobs[(number * Self.hot)..<(number + 1) * Self.hot]
                let others = blobs.indices.filter {
                    $0 >= Self.writers * Self.hot && $0 % Self.writers == number
                }
                let ids = hot + others.map { blobs[$0] }
                let evictable = number == 0 ? loose : []
                group.addTask {
                    var writer = try await BlobWriter(
                        Array(ids),
                        evictable: evictable,
                        seed: seed &* 8 &+ UInt64(number) &+ 1,
                        at: server
                    )
                    for _ in 0..<Self.steps { try await writer.step() }
                    return writer.history
                }
            }
            group.addTask { [long] in
                var writer = try await BlobWriter(long, seed: seed, at: server)
                try await writer.putAll()
                return writer.history
            }
            group.addTask { [newsroom] in
                var newsroom = newsroom
                for number in 0..<Self.steps {
                    if number == Self.steps / 2 { comesBack.open() }
                    try await newsroom.step()
                }
                return newsroom.history
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        var last = try await BlobWriter([], seed: seed, at: server)
        try await last.put(try EntryID(CrowdInterest.last))
        histories.append(last.history)
        return histories.reduce(into: CrowdHistory()) { $0.merge($1) }
    }
}
