import Glibc
import LarderEngine
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire

/// The whole engine over real files, with clients, an origin, other devices, time, crashes and a
/// disk that fails, all of them drawn from one seed and taken step by step on one thread: the same
/// seed is the same run.
///
/// * Entities, in every fourth life: what each URL answers is one, read and targeted by its key and by
///   that URL.
/// * Lists, in lives of their own: the objects of a document are entities, too. Clients add some of them
///   under temporary ids.
/// * Loss of `cache.db`: with a crash or an orderly end, or while it is in use: deleted, cut, overwritten,
///   or found damaged by any operation.
/// * Shared answers, in every fourth life: two or three users see the same rows, beside `private` ones of
///   their own, and each has pending writes that no other sees. Each has a judge. In every second of
///   these lives they are accounts of one user. In every fifth life with a list two users see rows of
///   their own.
/// * Writes that are compared with what other devices have written, in every fourth life, and in every
///   second one with a list (case 19). In a third of these lives they may be joined, too.
/// * Other credentials in place of refused ones, in every second life without shared answers.
/// * Joined writes, in every third life: what waits for one target may be one request, or none.
/// * Pins that come and go, of what is cached and of what is not, under fetches and writes.
/// * Failing commits: that of `state.db` alone, or that of `cache.db` behind it, of which nobody is to
///   see anything; a crash may follow either.
///
/// A ``SimulationJudge`` for each user holds what it shows against a plain model of the design.
final class EngineSimulation {
    static let paths = ["/a", "/b", "/c"]
    /// Above what any of these settles in.
    private static let stepsMax = 20_000

    let clock = ManualClock()
    let origin: SimulatedOrigin
    let settings: OriginSettings
    let plan = DiskPlan()
    private let seed: UInt64
    /// Whether there is a list of the entities.
    let hasList: Bool
    /// The fault that a life with a list meets more often than others; nil for none.
    let fault: ListFault?
    /// Whether writes are compared with what other devices have written.
    let compares: Bool
    /// Whether users give other credentials in place of refused ones.
    let renewsCredentials: Bool
    /// The scopes of several users or, in every second life, of the accounts of one user.
    let scopes: [Scope]
    var random: SeededRandom
    /// Nil between two lives.
    private var life: SimulatedDaemon?
    /// One for each user.
    private(set) var judges: [SimulationJudge] = []
    /// The user who does what is done next, or sees what is seen.
    var user = 0
    /// Who may have targets asked for after a 412.
    var checker = 0
    /// Who has asked for what is read.
    var senders: [Int: Sender] = [:]
    /// The last read of each path that was answered with a value, by the order of departure.
    var answeredReads: [String: SimulatedOrigin.Request] = [:]
    /// All reads that may still ask, also those that no client joins any more.
    var flights: [WeakFlight] = []
    /// Whether one of two flights for a URL has asked, and no one knows which: it gets no answer.
    var hasUnknownSender = false
    /// Whether anything could not be stored in this life.
    var hasDiskFailed = false
    /// The last revision that each user has seen of each target, by each way, and what it was.
    var seen: [String: (revision: Revision, view: PlainView)] = [:]
    var window = SimulationJudge.Window()
    private var isEnding = false
    private var inputCount = 0
    private var lastQuiet = 0
    /// When it was looked at with nothing left to be done; nil once a step was taken since.
    private var lastLook: Duration?
    /// The highest number of a request that waited when nothing was left to be done.
    private var lastAsked = 0
    var modifiers: [String: ModifierCommand] = [:]
    var plain: [String: PlainModifier] = [:]
    /// Those that clients heard of that they are accepted.
    private(set) var accepted: Set<String> = []
    var fetches: [ClientCall<Problem?>] = []
    /// The temporary ids of clients, and the writes that create them.
    var temporary: [(id: String, create: String)] = []
    let heard = HeardFrames()
    private(set) var log: [String] = []
    private(set) var crashes = 0
    /// Which `cache.db` somebody has harmed, until another one was seen in its place.
    var harmedGeneration: Int64?
    /// Whether what is in it was harmed, since it was looked at last.
    var isCacheBroken = false
    /// Whether there was no `cache.db` when it was looked at.
    private var hasNoCache = false
    /// When it was harmed last.
    var lastHarm: Duration?
    /// What an event loop has kept.
    var kept = KeptReads<String, Kept?>()
    /// Which of the URLs it asks for next.
    var keptTurn = 0

    /// Without a rule the judges expect what the engine does not do.
    convenience init(
        seed: UInt64,
        withList: Bool = false,
        fault: ListFault? = nil,
        without rule: PlainRule? = nil
    ) throws {
        var random = SeededRandom(seed: seed)
        var settings = try Self.settings()
        settings.modifiers.idempotency.isHonoured = Bool.random(using: &random)
        if Int.random(in: 0..<4, using: &random) == 0 {
            settings.modifiers.answer = .representation
        }
        if Int.random(in: 0..<4, using: &random) == 0 {
            settings.normalize = NormalizeRules(byType: .standard, types: Self.docs)
        }
        if withList { Self.addList(to: &settings, seed) }
        settings.modifiers.coalesce = Self.joining(seed)
        let isShared = settings.normalize == nil && Int.random(in: 0..<3, using: &random) == 0
        if isShared { settings.isShared = true }
        let pair = withList && seed % 5 == 4 ? 2 : 1
        let users = isShared ? Int.random(in: 2..<4, using: &random) : pair
        try self.init(
            settings,
            users: users,
            seed: seed,
            random,
            withList: withList,
            fault: fault,
            without: rule
        )
        for path in Self.paths where randomUnit(3, of: 4) { origin.server.write(path, value()) }
        for path in Self.paths where hasList && randomUnit(3, of: 4) {
            origin.server.list(String(path.dropFirst()), true)
        }
    }

    init(
        _ settings: OriginSettings,
        users: Int,
        seed: UInt64,
        _ random: SeededRandom,
        withList: Bool = false,
        fault: ListFault? = nil,
        without rule: PlainRule?
    ) throws {
        (self.settings, self.seed, self.random) = (settings, seed, random)
        let isAlone = settings.normalize == nil && !settings.isShared || withList
        (hasList, self.fault) = (withList, fault)
        renewsCredentials = seed % 2 == 1 && !settings.isShared
        compares = isAlone && Self.comparing(seed, settings.modifiers.coalesce)
        let accounts = try [.default, AccountName("work"), AccountName("home")]
        scopes = accounts.enumerated().map { number, account in
            seed % 2 == 0
                ? .own(uid: UInt32(1_000 * (number + 1)), account: .default)
                : .own(uid: 1_000, account: account)
        }
        let honours = settings.modifiers.idempotency.isHonoured
        let server = SimulatedServer(honoursKeys: honours, hasWeakTags: compares)
        origin = SimulatedOrigin(server)
        let queue = PlainQueue(
            acceptedLimit: settings.modifiers.acceptedLimit,
            hasEntities: settings.normalize != nil,
            hasList: hasList,
            isShared: settings.isShared,
            isHonoured: honours,
            joins: settings.modifiers.coalesce.joins,
            without: rule
        )
        for _ in 0..<users { judges.append(SimulationJudge(queue, paths: Self.paths)) }
        life = try SimulatedDaemon(
            TemporaryDirectory(inMemory: true),
            settings,
            origin,
            clock,
            plan,
            seed: seed
        )
    }

    static let docs = [TypeRule(type: "Doc", url: "/{id}")]

    static func settings() throws -> OriginSettings {
        var settings = OriginSettings(
            name: try OriginName("example"),
            baseURL: try WebURL("https://api.example.com")
        )
        settings.modifiers.acceptedLimit = .seconds(20)
        settings.modifiers.stalledAfter = 2
        return settings
    }

    func run(steps: Int) throws {
        try settle()
        for path in readable where randomUnit(2, of: 3) { fetch(path, .networkOnly) }
        try settle()
        for request in origin.waiting {
            answerWell(request)
            try settle()
        }
        for _ in 1...steps { try act() }
        try end()
    }

    func end() throws {
        try finish()
        daemon.end(&random, closing: false)
    }

    // MARK: Chance

    func randomUnit(_ n: Int, of all: Int) -> Bool { Int.random(in: 0..<all, using: &random) < n }

    func draw(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }

    func pick<Element>(_ elements: [Element]) -> Element? { elements.randomElement(using: &random) }

    func value() -> PlainValue {
        var value = PlainValue(["count": .number(draw(0..<9))])
        // Of an entity what does not come stays, so that all of it comes always.
        if hasEntities || randomUnit(2, of: 3) { value.members["liked"] = .number(draw(0..<2)) }
        if hasEntities || randomUnit(1, of: 2) { value.members["tags"] = .list([draw(0..<4)]) }
        return value
    }

    /// Whether what stands under each URL is an entity, whose own URL it is.
    var hasEntities: Bool { settings.normalize != nil }

    /// Which entity's own URL it is; nil for none.
    func entity(_ path: String) -> String? {
        hasEntities && path != PlainQueue.list ? String(path.dropFirst()) : nil
    }

    /// All that is looked at.
    var paths: [String] { readable + temporary.map { PlainQueue.path(of: $0.id) } }

    /// All that has a URL.
    var readable: [String] {
        guard hasList else { return Self.paths }
        return Self.paths + [PlainQueue.list] + origin.server.ids.map(PlainQueue.path)
    }

    func note(_ text: String) { log.append(text) }

    var isShared: Bool { settings.isShared }

    /// Whether there is more than one user or account.
    var hasUsers: Bool { judges.count > 1 }

    /// Whether writes are joined.
    var joins: Bool { settings.modifiers.coalesce != .none }

    var judge: SimulationJudge { judges[user] }

    /// Another user does what comes next.
    func drawUser() { if hasUsers { user = draw(0..<judges.count) } }

    var daemon: SimulatedDaemon {
        guard let life else { preconditionFailure("nothing is asked between two lives") }
        return life
    }

    // MARK: Inputs

    var now: Duration { clock.monotonic() }

    /// Notes what is about to be done to the daemon; what it is called.
    func put(_ event: SimulationInput.Event, _ call: ClientCall<Problem?>? = nil) {
        inputCount += 1
        origin.mark(input: inputCount, quiet: lastQuiet)
        note("\(inputCount):\(hasUsers ? " user \(user)" : "") \(event)")
        window.inputs.append(
            SimulationInput(number: inputCount, of: user, at: now, event: event, call: call)
        )
    }

    /// The requests whose setting out the model knows of.
    var answerable: [SimulatedOrigin.Request] { origin.waiting.filter { $0.number <= lastAsked } }

    // MARK: Steps

    /// Takes up to so many steps; false when the process was killed at one.
    func pump(_ count: Int = EngineSimulation.stepsMax) throws -> Bool {
        for _ in 0..<count {
            guard !plan.hasCopied else { return false }
            guard daemon.step(&random) else { return true }
            lastLook = nil
            noteFlights()
            try hear()
            try checkKept()
        }
        guard !plan.hasCopied else { return false }
        try require(count < Self.stepsMax, "it never comes to rest")
        return true
    }

    /// Takes in which writes have set out.
    private func hear() throws {
        for asked in origin.takeAsked() {
            note("   \(asked.request.method) \(asked.path)\(asked.isTurnedAway ? " in vain" : "")")
            let what: SimulationJudge.Departure.What
            switch asked.kind {
            case .read:
                noteSender(of: asked)
                continue
            case .probe: continue
            case .check: what = .check(asked.path)
            case .write: what = .write(id: asked.modifier, key: asked.key, asked.plain)
            }
            let departure = SimulationJudge.Departure(
                what: what,
                user: user(of: asked),
                isTurnedAway: asked.isTurnedAway
            )
            note("     \(what)")
            let body = String(decoding: asked.request.body ?? [], as: UTF8.self)
            let isReal = !(asked.request.url.text + body).contains("tmp")
            try require(isReal, "\(asked.modifier) was sent with a temporary id: \(body)")
            if window.end == nil {
                window.departures.append(departure)
            } else {
                window.departuresAfterEnd.append(departure)
            }
        }
    }

    /// Goes on until nothing is left to be done, and has the judge look if anything is new.
    func settle() throws {
        guard try pump() else { return try goOnAfterCrash() }
        if lastLook == now, window.inputs.isEmpty, window.end == nil { return }
        try look()
        lastLook = now
    }

    private func look() throws {
        if isCacheBroken {
            // Until it is found out a row may be missing, and be there again for the writer.
            isCacheBroken = false
            _ = daemon.call { engine in try? await engine.store.maintain() }
            _ = try pump()
        }
        window.heard += heard.take()
        // It may be met by the look itself.
        let isHarmed = isCacheHarmed
        if harmedGeneration != nil { put(.cacheLost) }
        if !isHarmed { harmedGeneration = nil }
        // It could not be made anew: until then nothing is stored but what is durable.
        if hasNoCache || !daemon.hasCache { (window.hasDiskFailed, hasDiskFailed) = (true, true) }
        hasNoCache = !daemon.hasCache
        var sights: [SimulationJudge.Sight] = []
        for index in judges.indices {
            user = index
            judges[index].paths = paths
            sights.append(try sight())
        }
        window.inputs = window.inputs.compactMap(known)
        if window.end == nil,
            let open = window.inputs.first(where: {
                $0.certainty.isOpen && !$0.isPin
            })
        {
            throw SimulationJudge.Complaint(text: "\(open.number) is never answered")
        }
        window.isCrowded = window.inputs.count > 1 || window.end != nil
        let flying = origin.waiting.map { request -> (user: Int, what: String?) in
            let what: String? =
                switch request.kind {
                case .read, .probe: nil
                case .check: "check \(request.path)"
                case .write: request.modifier
                }
            return (user(of: request), what)
        }
        let window = window
        self.window = SimulationJudge.Window()
        let parts = judges.indices.map { part(of: window, for: $0) }
        for (user, part) in parts.enumerated() {
            let underWay = flying.filter { $0.user == user }.compactMap(\.what)
            do {
                try judges[user].look(part, sights[user], underWay: Set(underWay), at: now)
            } catch {
                throw SimulationJudge.Complaint(
                    text: (hasUsers ? "user \(user): " : "") + "\(error)"
                )
            }
        }
        lastQuiet = inputCount
        lastAsked = origin.waiting.last?.number ?? lastAsked
        origin.mark(input: inputCount, quiet: lastQuiet)
    }

    /// An input as the judge is told of it; nil for one that was refused and has changed nothing.
    private func known(_ input: SimulationInput) -> SimulationInput? {
        switch input.certainty {
        case .open: return input
        case .done:
            if case .accepted(let new) = input.event { accepted.formUnion(new.map(\.id)) }
            return input
        case .refused(let problem):
            note("  \(input.number) is refused: \(problem.kind.rawValue)")
            if [.diskFull, .storage].contains(problem.kind), let doubtful = input.doubtful {
                return doubtful
            }
            // It stays, and says why it has no bytes.
            if input.isPin { return input }
            guard case .removed(let id, isDiscarded: false) = input.event else { return nil }
            return SimulationInput(
                number: input.number,
                of: input.user,
                at: input.moment,
                event: .notCancelled(id),
                call: input.call
            )
        }
    }

    /// Whether somebody has harmed the `cache.db` that is in use.
    private var isCacheHarmed: Bool { harmedGeneration == daemon.generation }

    // MARK: Ends

    /// The process is killed: at rest, after some steps, or inside one, before the n-th operation
    /// of SQLite.
    func crash() throws {
        crashes += 1
        switch draw(0..<3) {
        case 0:
            try settle()
            note("crash at rest")
            window.end = .quiet
            try begin(in: daemon.directory.copyOfFiles(), losingCache: randomUnit(1, of: 4))
        case 1:
            if try pump(draw(0..<30)) {
                note("crash between two steps")
                window.end = .sudden
                try begin(in: daemon.directory.copyOfFiles(), losingCache: randomUnit(1, of: 4))
            } else {
                try goOnAfterCrash()
            }
        default:
            plan.armCrash(draw(1..<60), in: daemon.directory)
            let isAlive = try pump()
            guard isAlive else { return try goOnAfterCrash() }
            plan.disarm()
            try settle()
        }
    }

    func goOnAfterCrash() throws {
        note("crash inside a step")
        window.end = .sudden
        let copy = try plan.takeCopy()
        try begin(in: copy ?? daemon.directory, losingCache: randomUnit(1, of: 4))
    }

    /// An orderly end and a new start, perhaps without the cache.
    func reopen(losingCache isLosing: Bool) throws {
        try settle()
        note("reopen")
        window.end = .quiet
        try begin(in: nil, losingCache: isLosing)
    }

    private func begin(in directory: TemporaryDirectory?, losingCache isLosing: Bool) throws {
        for index in window.inputs.indices { window.inputs[index].end() }
        note("  not settled: \(window.inputs.map { "\($0.number) \($0.certainty)" })")
        window.heard += heard.take()
        origin.forgetEverybody()
        daemon.end(&random, closing: directory == nil)
        kept.dropAll()
        (senders, flights) = ([:], [])
        // Nobody hears it any more.
        _ = heard.take()
        _ = try plan.takeCopy()
        let directory = directory ?? daemon.directory
        let isHarmed = isCacheHarmed
        if isLosing || harmedGeneration != nil { put(.cacheLost) }
        life = nil
        // A file without its WAL is an earlier one.
        let cache = ["", "-wal", "-shm"].map { directory.path("cache/cache.db" + $0) }
        let isCut = isHarmed && cache.prefix(2).contains { access($0, F_OK) != 0 }
        let isLost = isLosing || isCut
        if isLost {
            note("  the cache is lost")
            for path in cache { unlink(path) }
        }
        fetches = []
        origin.welcome()
        life = try SimulatedDaemon(directory, settings, origin, clock, plan, seed: seed)
        // What is no more cannot be met later.
        let isKept = isHarmed && !isLost && daemon.store.files.findings.isEmpty
        harmedGeneration = isKept ? daemon.generation : nil
        try settle()
    }
}

func require(_ condition: Bool, _ text: @autoclosure () -> String) throws {
    if !condition { throw SimulationJudge.Complaint(text: text()) }
}
