import LarderAPI
import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Synchronization
import Testing

@testable import LarderEngine

@Suite("Two devices that write the same, simulated", .timeLimit(.minutes(10)))
struct TwoDeviceTests {
    @Test(
        """
        By default no edit is overwritten that the user had not seen and a read has brought, and \
        nothing else is in dispute (case 19)
        """
    )
    func agrees() async throws {
        _ = try await SimulationSeeds.run(SimulationSeeds.first(30)) { seed in
            try await Self.run(seed: seed, EngineSetup())
            return KeptCounts()
        }
    }

    @Test("The judge fails if no write is compared before it is sent (case 19)")
    func isNeeded() async throws {
        let setup = try EngineSetup.with { $0.origin.modifiers.ifMatch = .none }
        for seed in 0..<UInt64(20) {
            do {
                try await Self.run(seed: seed, setup)
            } catch is TwoDevices.Complaint {
                return
            }
        }
        Issue.record("nothing fails without a comparison")
    }

    private static func run(seed: UInt64, _ setup: EngineSetup) async throws {
        try await EngineFixture.run(setup) { fixture in
            var devices = try await TwoDevices(seed: seed, fixture)
            for _ in 0..<4 { try await devices.meet() }
            try await devices.check()
        }
    }
}

/// A document of two members and a counter, at a server that another device writes to, too.
private final class DisputedServer: Sendable {
    /// One member that a write of this device has replaced.
    struct Loss {
        let key: String
        let member: String
        let value: Int64
    }

    struct State {
        var members: [String: Int64] = ["a": 0, "b": 0, "n": 0]
        var version = 1
        var random: SeededRandom
        var losses: [Loss] = []
        var additions: Int64 = 0
    }

    let state: Mutex<State>
    private let hasETags: Bool

    init(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        hasETags = random.pick([true, false])
        state = Mutex(State(random: random))
    }

    /// The other device writes: its values are below zero, each another one.
    func change() { state.withLock { Self.change(&$0) } }

    private static func change(_ state: inout State) {
        state.version += 1
        let member = state.random.pick(["a", "b", "n"])
        if member == "n" {
            state.members["n", default: 0] += 1
            state.additions += 1
        } else {
            state.members[member] = -Int64(state.version)
        }
    }

    func answer(_ request: UpstreamRequest) -> ScriptedAnswer? {
        state.withLock { state in
            if request.method == "GET" { return shown(state) }
            if state.random.pick([true, false, false, false, false]) { Self.change(&state) }
            if let match = request.headers["If-Match"], match != Self.etag(state) {
                return .reply("another version", status: 412)
            }
            if request.method == "POST" {
                state.members["n", default: 0] += 1
            } else {
                for (member, value) in request.body?.members ?? [:] {
                    let (key, old) = (request.headers["Idempotency-Key"], state.members[member])
                    state.losses.append(Loss(key: key ?? "", member: member, value: old ?? 0))
                    state.members[member] = value
                }
            }
            state.version += 1
            let isShown = state.random.pick([true, false])
            return isShown ? shown(state, at: request.url) : .reply(status: 204)
        }
    }

    private func shown(_ state: State, at url: WebURL? = nil) -> ScriptedAnswer {
        var headers = hasETags ? ["ETag": Self.etag(state)] : [:]
        if let url { headers["Content-Location"] = url.text }
        let members = state.members.sorted { $0.key < $1.key }
        return .json(
            "{\(members.map { #""\#($0.key)":\#($0.value)"# }.joined(separator: ","))}",
            headers: headers
        )
    }

    private static func etag(_ state: State) -> String { "\"\(state.version)\"" }
}

extension [UInt8] {
    fileprivate var members: [String: Int64] {
        let members = (try? JSONValue(parsing: self))?.members ?? []
        return Dictionary(uniqueKeysWithValues: members.map { ($0.name, $0.value.integer ?? 0) })
    }
}

private struct TwoDevices {
    struct Complaint: Error, CustomStringConvertible {
        let description: String
    }

    private struct Write {
        let id: ModifierID
        let isAddition: Bool
        /// The values of base right before the acceptance and right after it.
        var seen: [[String: Int64]]
    }

    private let fixture: EngineFixture
    private let server: DisputedServer
    private let url = EngineFixture.firstURL
    private let watch: Watch
    private var heard = 1
    private var random: SeededRandom
    private var writes: [Write] = []
    /// The values that the reads of this device have brought before the present writes were sent.
    private var read: Set<Int64> = []
    private var value: Int64 = 0
    private var checked = 0

    init(seed: UInt64, _ fixture: EngineFixture) async throws {
        self.fixture = fixture
        random = SeededRandom(seed: ~seed)
        let server = DisputedServer(seed: seed)
        self.server = server
        fixture.upstream.answerOthers { server.answer($0) }
        watch = try await Watch(fixture) { $0.types = [.modifier] }
        try await look()
    }

    private func setLane(isPaused: Bool) async throws {
        let lane = Lane.name(try LaneName("phone"))
        try await fixture.engine.modifiers.setLane(lane, fixture.scope, isPaused: isPaused)
    }

    private mutating func look() async throws {
        try await fixture.fetch(url) { $0.policy = .networkOnly }
        read.formUnion(try await base().values)
    }

    private func base() async throws -> [String: Int64] {
        let (engine, scope, now) = (fixture.engine, fixture.scope, fixture.clock.now())
        let id = try EntryID.url(url)
        let text = try await engine.store.read { reader throws(StoreError) in
            try engine.text(of: id, scope, reader, now: now, as: .base)
        }
        return Array((text ?? "").utf8).members
    }

    /// Both devices write while this one cannot send; then it sends.
    mutating func meet() async throws {
        try await setLane(isPaused: true)
        let first = writes.count
        for _ in 0..<5 {
            switch random.pick([0, 0, 1, 1, 2]) {
            case 0: try await write()
            case 1: server.change()
            default: try await look()
            }
        }
        try await setLane(isPaused: false)
        for place in first..<writes.count { try await end(place) }
        try complainOfLosses()
    }

    private mutating func write() async throws {
        let isAddition = random.pick([true, false, false])
        let before = try await base()
        value += 1
        let members = random.pick([["a"], ["b"], ["a", "b"]]).map { #""\#($0)":\#(value)"# }
        let effect = try Effect.json(
            isAddition
                ? #"{"type":"add","value":{"/n":1}}"#
                : #"{"type":"merge","value":{\#(members.joined(separator: ","))}}"#
        )
        let place = try fixture.url("/additions")
        let id = try await fixture.write(
            .url(url),
            effect,
            isAddition ? "POST" : nil,
            to: isAddition ? place : nil,
            id: "w\(value)"
        ) { $0.lane = try LaneName("phone") }
        let seen = [before, try await base()]
        writes.append(Write(id: id, isAddition: isAddition, seen: seen))
    }

    /// Waits until a write is settled; the user decides its conflicts.
    private mutating func end(_ place: Int) async throws {
        let write = writes[place]
        while true {
            heard += 1
            guard case .modifier(let frame) = try await watch.frames(upTo: heard)[heard - 1],
                frame.id == write.id.text
            else { continue }
            if frame.state.isSettled {
                guard frame.state == .confirmed || !write.isAddition else {
                    throw Complaint(description: "\(frame.id), an addition, is \(frame.state)")
                }
                return
            }
            guard frame.state == .conflict else { continue }
            let theirs = (frame.conflict?.first?.theirs?.bytes ?? []).members
            let isNew = theirs.contains { member, value in
                let name = String(member.dropFirst())
                return value < 0 && !write.seen.allSatisfy { $0[name] == value }
            }
            guard isNew else {
                throw Complaint(description: "\(frame.id) is in dispute about \(theirs)")
            }
            if random.pick([true, false]) {
                _ = try await fixture.engine.modifiers.retry(write.id, fixture.scope)
                writes[place].seen.append(
                    Dictionary(
                        uniqueKeysWithValues: theirs.map { (String($0.key.dropFirst()), $0.value) }
                    )
                )
            } else {
                try await fixture.cancel(write.id.text)
            }
        }
    }

    private mutating func complainOfLosses() throws {
        let losses = server.state.withLock { $0.losses }
        for loss in losses[checked...] where loss.value < 0 && read.contains(loss.value) {
            let id = loss.key.split(separator: ".")[0]
            let write = writes.first { $0.id.text == id }
            guard write?.seen.contains(where: { $0[loss.member] == loss.value }) == true else {
                throw Complaint(description: "\(loss.key) has overwritten \(loss)")
            }
        }
        checked = losses.count
    }

    /// Compares what the daemon shows at the end with what the server has.
    mutating func check() async throws {
        // The first may join a read that left before the last write: only the daemon's own read
        // after a write never does.
        for _ in 0..<2 { try await look() }
        let (members, additions) = server.state.withLock { ($0.members, $0.additions) }
        let own = Int64(writes.count(where: \.isAddition))
        guard members["n"] == own + additions else {
            throw Complaint(description: "\(members), after \(own) and \(additions) additions")
        }
        let shown = try await base()
        guard shown == members else {
            throw Complaint(description: "\(shown) is shown of \(members)")
        }
    }
}
