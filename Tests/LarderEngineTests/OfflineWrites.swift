import LarderAPI
import LarderJSON
import LarderModel
import LarderNormalize
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire

@testable import LarderEngine

/// Writes that wait for the network, and what is sent once it is there.
struct Offline {
    let fixture = EngineFixture.running
    static let name = "tmp:6f1c0a52-0000-4000-8000-0123456789ab"
    static let note = #"{"text":"a","n":1,"liked":false}"#
    static let wait = Duration.seconds(36_000)
    private static let lane = "phone"

    init() {
        // A read after a write is refused, so that each view is what the writes have made.
        fixture.upstream.answerOthers { .reply(status: $0.method == "GET" ? 403 : 204) }
    }

    func setPaused(_ isPaused: Bool) async throws {
        let lane = Lane.name(try LaneName(Self.lane))
        try await fixture.engine.modifiers.setLane(lane, fixture.scope, isPaused: isPaused)
    }

    /// The URL of a note that is in the cache; writes in the lane wait from then on.
    func url(_ etag: String? = nil) async throws -> WebURL {
        let url = try fixture.url("/note")
        let headers = etag.map { ["ETag": "\"\($0)\""] } ?? [:]
        try await fixture.cache(url, .json(Self.note, headers: headers))
        try await setPaused(true)
        return url
    }

    @discardableResult
    func write(
        _ id: String,
        _ effect: String,
        on target: EntryID,
        _ adjust: (inout LarderWire.ModifierCommand) throws -> Void = { _ in }
    ) async throws -> ModifierID {
        try await fixture.write(target, .json(effect), id: id) {
            $0.lane = try LaneName(Self.lane)
            try adjust(&$0)
        }
    }

    func merges(_ values: String..., on url: WebURL) async throws {
        for (number, value) in values.enumerated() {
            let effect = #"{"type":"merge","value":\#(value)}"#
            try await write("w\(number)", effect, on: EntryID(url))
        }
    }

    var todo: EntryID { get throws { try .entity("Todo:\(Self.name)") } }

    func create() async throws {
        let object = #"{"type":"Todo","id":"\#(Self.name)","title":"eggs","done":false}"#
        let list = try fixture.url("/todos")
        try await fixture.write(
            .url(list),
            .json(#"{"type":"list_add","value":{"/items":[\#(object)]}}"#),
            "POST",
            to: list,
            id: "create"
        ) {
            $0.lane = try LaneName(Self.lane)
            $0.request.headers.append("Content-Type", "application/json")
            $0.request.body = .bytes(Array(#"{"title":"eggs"}"#.utf8))
        }
    }

    func report(_ id: String) async throws -> ModifierReport {
        try await fixture.engine.modifiers.modifier(ModifierID(id), fixture.scope)
    }

    /// The reports of writes once they are settled.
    ///
    /// With `later`, a pause ends before each of them.
    func ends(_ ids: String..., later isLater: Bool = false) async throws -> [ModifierReport] {
        var reports: [ModifierReport] = []
        for id in ids {
            if isLater { fixture.clock.advance(by: .seconds(120)) }
            reports.append(try await fixture.settled(ModifierID(id), wait: Self.wait))
        }
        return reports
    }

    /// Returns once a write has come to a state, and waits in it.
    func comes(_ id: String, to state: LarderAPI.ModifierState) async throws {
        let modifiers = fixture.engine.context.modifiers
        _ = try await fixture.engine.context.wait(
            upTo: Self.wait,
            ClientCancellation(),
            on: modifiers.commits
        ) { () async throws(Problem) -> Void? in
            let report = try await fixture.engine.modifiers.modifier(
                Problem.checking { () throws(ModelError) in try ModifierID(id) },
                fixture.scope
            )
            return report.state == state && report.waitingFor != nil ? () : nil
        }
    }

    var asked: [String] {
        fixture.upstream.asked.all.map { "\($0.method) \($0.url.pathAndQuery)" }
    }

    var sent: [String] {
        fixture.upstream.asked.all.filter { $0.method != "GET" }.map { request in
            let body = String(decoding: request.body ?? [], as: UTF8.self)
            return "\(request.method) \(request.url.pathAndQuery) \(body)"
        }
    }

    var keys: [String?] {
        fixture.upstream.asked.all.filter { $0.method != "GET" }
            .map { $0.headers["Idempotency-Key"] }
    }

    func shown(_ url: WebURL) async throws -> String? {
        try await fixture.cached(url).lastShown?.text
    }
}

func joining(_ rule: ModifierRules.CoalesceRule) -> @Sendable (inout EngineSetup) -> Void {
    { setup in
        setup.origin.modifiers.coalesce = rule
        setup.origin.modifiers.empty = [EmptyForm(path: "/todos", form: #"{"items":[]}"#)]
        setup.origin.normalize = NormalizeRules(
            byType: .standard,
            types: [TypeRule(type: "Todo", url: "/todos/{id}")]
        )
    }
}
