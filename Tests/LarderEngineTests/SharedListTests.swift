import LarderJSON
import LarderModel
import LarderTestSupport
import LarderUpstream
import Synchronization
import Testing

/// Lives of a daemon with a list of entities that two users, or two accounts of a user, share.
///
/// The users add to-dos under temporary ids, edit, delete and remove them, and change the title,
/// while other devices write and the users read. The list is pinned and evicted, `cache.db` is
/// lost, and the daemon is killed. The judge is ``PlainSharedList``.
@Suite("A list that two users share, simulated", .timeLimit(.minutes(60)))
struct SharedListTests {
    /// P-04, P-07, P-09, P-14.
    @Test("Each user sees the list of the server with its own waiting writes, and no others")
    func agrees() async throws {
        _ = try await SimulationSeeds.run(SimulationSeeds.first(24)) { seed in
            try await SharedListLives(seed: seed).live()
            return KeptCounts()
        }
    }

    /// The most seeds until the judge has to notice that a rule is missing.
    private static let seedsWithoutRule: UInt64 = 20

    @Test("The judge fails without one rule of its model", arguments: SharedListRule.allCases)
    func isNeeded(rule: SharedListRule) async throws {
        for seed in 0..<Self.seedsWithoutRule {
            do {
                try await SharedListLives(seed: seed, without: rule).live()
            } catch is SharedListLives.Complaint {
                return
            }
        }
        Issue.record("nothing fails without \(rule)")
    }
}

/// A rule of ``PlainSharedList`` that can be taken out.
enum SharedListRule: CaseIterable {
    /// The waiting writes of a user show to that user (P-04).
    case ownWritesShow
    /// The waiting writes of a user show to no other one (case 29).
    case othersStayHidden
    /// Writes are applied in the order of acceptance (P-04).
    case acceptanceIsTheOrder
    /// The edit of an entity shows in the list (case 28).
    case editsShowInTheList
    /// A deleted entity has no place in the list (case 28).
    case deletedLeavesTheList
    /// The read of any user replaces base, also while writes wait (case 3).
    case readReplacesBase
    /// Neither a loss of `cache.db` nor an eviction takes the list that a write targets (P-07).
    case targetIsKept
    /// The effect of a refused write leaves the view (case 11).
    case refusedIsTakenBack
    /// A confirmed write shows until a read has brought it (case 29).
    case answeredShows
    /// The real id takes the place of the temporary one (case 16).
    case temporaryIDIsReplaced
}

/// The shared list as the server said it last, and the writes of both users that have not ended.
struct PlainSharedList {
    struct Item: Equatable {
        var id: String
        var text: String
    }

    struct Document: Equatable {
        var title: String
        var items: [Item]
    }

    enum Kind {
        case title, add, remove, edit, delete
    }

    struct Write {
        let id: ModifierID
        let user: Int
        let kind: Kind
        /// The to-do by the name that its client knows: its id, or the temporary id that it had.
        let name: String
        /// The to-do by its present id, with the new text.
        var item: Item

        var isOfList: Bool { kind != .edit && kind != .delete }
    }

    /// Nil while nothing is known of the list.
    var base: Document?
    /// In the order of acceptance.
    private(set) var writes: [Write] = []
    /// The users who have pinned the list.
    var pinned: Set<Int> = []
    private let missing: SharedListRule?

    init(without missing: SharedListRule?) { self.missing = missing }

    func holds(_ rule: SharedListRule) -> Bool { rule != missing }

    /// Whether `state.db` has to have the list.
    var isKept: Bool { !pinned.isEmpty || writes.contains(where: \.isOfList) }

    func writes(of user: Int) -> [Write] { writes.filter { $0.user == user } }

    /// The list as a user sees it; nil for a miss.
    func view(of user: Int) -> Document? {
        guard var document = base else { return nil }
        let shown = writes.filter { write in
            write.user == user ? holds(.ownWritesShow) : !holds(.othersStayHidden)
        }
        for write in holds(.acceptanceIsTheOrder) ? shown : shown.reversed() {
            let place = document.items.firstIndex { $0.id == write.item.id }
            switch (write.kind, place) {
            case (.title, _): document.title = write.item.text
            case (.add, _): document.items.append(write.item)
            case (.edit, let place?) where holds(.editsShowInTheList):
                document.items[place].text = write.item.text
            case (.remove, let place?): document.items.remove(at: place)
            case (.delete, let place?) where holds(.deletedLeavesTheList):
                document.items.remove(at: place)
            case (.edit, _), (.remove, _), (.delete, _): break
            }
        }
        return document
    }

    mutating func accept(_ write: Write) { writes.append(write) }

    mutating func cancel(_ id: ModifierID) { writes.removeAll { $0.id == id } }

    mutating func refuse(_ id: ModifierID) { if holds(.refusedIsTakenBack) { cancel(id) } }

    /// Each write that is left is confirmed, and has been read.
    mutating func end() { writes = [] }

    mutating func read(_ document: Document) {
        if writes.isEmpty || holds(.readReplacesBase) { base = document }
    }

    /// A create is confirmed under a real id.
    mutating func rename(_ old: String, to new: String) {
        guard holds(.temporaryIDIsReplaced) else { return }
        for place in writes.indices where writes[place].item.id == old {
            writes[place].item.id = new
        }
    }
}

extension PlainSharedList.Item {
    /// The object as clients and the server write it: a temporary id is a string.
    var json: String {
        let id = id.hasPrefix("tmp:") ? "\"\(id)\"" : id
        return #"{"type":"Todo","id":\#(id),"text":"\#(text)","done":false}"#
    }

    /// Nil for an object that is not whole.
    init?(_ value: JSONValue) {
        guard value["type"]?.string == "Todo", value["done"]?.bool == false,
            let id = value["id"]?.string ?? value["id"]?.integer.map({ "\($0)" }),
            let text = value["text"]?.string
        else { return nil }
        self.init(id: id, text: text)
    }
}

extension PlainSharedList.Document {
    var json: String {
        #"{"title":"\#(title)","items":[\#(items.map(\.json).joined(separator: ","))]}"#
    }

    var texts: [String] { [title] + items.map(\.text) }

    init?(_ text: String) {
        guard let value = try? JSONValue(parsing: Array(text.utf8)),
            let title = value["title"]?.string, let elements = value["items"]?.elements
        else { return nil }
        let items = elements.compactMap { PlainSharedList.Item($0) }
        guard items.count == elements.count else { return nil }
        self.init(title: title, items: items)
    }
}

/// The server of the list.
final class SharedListServer: Sendable {
    struct State {
        var random: SeededRandom
        var list = PlainSharedList.Document(title: "title", items: [])
        var version = 1
        var lastID = 0
        /// The ids of the to-dos by the texts with which clients created them.
        var ids: [String: String] = [:]
        /// All texts that the list has had.
        var said: Set<String> = ["title"]
        /// The answer to each key: the server does once what carries one key.
        var answers: [String: ScriptedAnswer] = [:]
        /// Whether it refuses a few of the writes.
        var refuses = false
        /// Whether it answers reads; otherwise each of them fails.
        var answersReads = true
    }

    let state: Mutex<State>
    /// Once it has copied the files, the daemon that asks counts as killed.
    let plan = DiskPlan()

    init(seed: UInt64) {
        var state = State(random: SeededRandom(seed: seed))
        for number in 0..<3 { state.add("first \(number)") }
        self.state = Mutex(state)
    }

    var list: PlainSharedList.Document { state.withLock { $0.list } }

    /// Another device writes.
    func change(_ text: String) { state.withLock { $0.change(text) } }

    func answer(_ request: UpstreamRequest) -> ScriptedAnswer? {
        state.withLock { state -> ScriptedAnswer? in
            let path = String(request.url.path)
            guard request.method == "GET" else {
                return plan.hasCopied ? nil : state.write(request, path)
            }
            // A refusal ends the read, although no time passes.
            guard !plan.hasCopied else { return ScriptedAnswer.reply("killed", status: 403) }
            return state.read(request, path)
        }
    }
}

extension SharedListServer.State {
    fileprivate mutating func add(_ text: String) {
        lastID += 1
        list.items.append(PlainSharedList.Item(id: "\(lastID)", text: text))
        noteChange()
    }

    private mutating func noteChange() {
        version += 1
        said.formUnion(list.texts)
    }

    fileprivate mutating func change(_ text: String) {
        let place = list.items.isEmpty ? nil : Int(random.next() % UInt64(list.items.count))
        switch (random.next() % 5, place) {
        case (0, _): list.title = text
        case (1, let place?): list.items.remove(at: place)
        case (2, let place?), (3, let place?): list.items[place].text = text
        default: add(text)
        }
        noteChange()
    }

    fileprivate func read(_ request: UpstreamRequest, _ path: String) -> ScriptedAnswer {
        // The read of the base URL shows whether the origin is back.
        guard path != "/" else { return .reply("nothing is here", status: 404) }
        guard answersReads else { return .reply("later", status: 500) }
        if request.headers["If-None-Match"] == etag { return .reply(status: 304) }
        return shown(path)
    }

    private var etag: String { "\"\(version)\"" }

    private func place(_ path: String) -> Int? {
        list.items.firstIndex { "/todos/\($0.id)" == path }
    }

    private func shown(
        _ path: String,
        status: Int = 200,
        _ headers: [String: String] = [:]
    ) -> ScriptedAnswer {
        let headers = headers.merging(["ETag": etag]) { own, _ in own }
        if path == "/todos" { return .json(list.json, status: status, headers: headers) }
        guard let place = place(path) else { return .reply("gone", status: 404) }
        return .json(list.items[place].json, status: status, headers: headers)
    }

    fileprivate mutating func write(_ request: UpstreamRequest, _ path: String) -> ScriptedAnswer {
        let key = request.headers["Idempotency-Key"] ?? ""
        if let known = answers[key] { return known }
        let trouble = random.next() % 18
        switch trouble {
        case 0: return .failure(.unreachable(host: "api.example.com", reason: "away"))
        case 1: return .reply("busy", status: 503)
        case 2: return .reply("a portal", status: 511)
        case 3, 4, 5:
            guard refuses else { break }
            answers[key] = .reply("no", status: 422)
            return .reply("no", status: 422)
        default: break
        }
        let answer = perform(request, path)
        answers[key] = answer
        return trouble > 14 ? .failure(.brokenOff(reason: "lost")) : answer
    }

    private mutating func perform(_ request: UpstreamRequest, _ path: String) -> ScriptedAnswer {
        let body = request.body.flatMap { try? JSONValue(parsing: $0) }
        let text = body?["text"]?.string ?? ""
        let place = place(path)
        defer { noteChange() }
        switch request.method {
        case "POST" where path == "/todos":
            add(text)
            ids[text] = "\(lastID)"
            return shown("/todos/\(lastID)", status: 201, ["Location": "/todos/\(lastID)"])
        case "POST":
            let id = body?["id"]?.integer.map { "\($0)" }
            list.items.removeAll { $0.id == id }
            return .reply(status: 204)
        case "DELETE":
            if let place { list.items.remove(at: place) }
            return .reply(status: place == nil ? 404 : 204)
        default:
            if path == "/todos" { list.title = body?["title"]?.string ?? list.title }
            if let place { list.items[place].text = text }
            guard path == "/todos" || place != nil else { return .reply(status: 204) }
        }
        switch random.next() % 3 {
        case 0: return .reply(status: 204)
        // The change is made already.
        case 1 where place != nil: return .reply(status: 202)
        default: return shown(path, ["Content-Location": path])
        }
    }
}
