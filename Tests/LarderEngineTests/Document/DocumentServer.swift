import LarderJSON
import LarderModel
import LarderTestSupport
import LarderUpstream
import Synchronization

/// A server with a to-do list and a note of each account, as other people write them: it knows
/// neither base nor view.
///
/// While it is in trouble, requests fail in every way that a network and a server have.
final class DocumentServer: Sendable {
    /// Something between the daemon and the server that makes the daemon seem to break a rule.
    enum Fault: CaseIterable {
        /// A 2xx without the document counts as a refusal (case 6).
        case bareIsRefusal
        /// A write that was answered 202 is never confirmed (case 7).
        case promiseNeverEnds
        /// The id of a to-do stays temporary in requests (case 16).
        case temporaryID
        /// A request has the id of another to-do in its URL (case 16).
        case otherID
        /// The temporary name of a to-do does not lead to it once it has its real id (case 16).
        case nameIsLost
        /// The request of joined writes makes the changes of the first one only (case 17).
        case joinedLosesOthers
        /// Joined writes end as if they cancelled each other out (case 17).
        case joinedIsNeedless
        /// Writes that cancel each other out are sent (case 17).
        case needlessIsSent
        /// A cancelled write is sent (case 18).
        case cancelledIsSent
        /// A write that was perhaps applied is cancelled (case 18).
        case appliedIsCancelled
        /// Each attempt has another key (case 21).
        case otherKey
        /// A lost answer counts as a refusal (case 22).
        case lostIsRefusal
        /// No request gets a new credential (case 23).
        case oldCredential
        /// A new credential wakes no write that waits for one (case 23).
        case nothingWakes
        /// A portal's answer counts as the server's (case 25).
        case portalConfirms
        /// The list has copies of its own, which no change of a to-do reaches (case 28).
        case listHasCopies
        /// A request has the credential of another account (case 30).
        case otherAccount
        /// An account is shown the documents of another one (case 30).
        case otherDocuments

        /// Whether the fault shows only if a person cancels many writes.
        var isOfCancel: Bool { self == .cancelledIsSent || self == .appliedIsCancelled }

        /// Whether it needs an origin whose writes are joined.
        var joins: Bool {
            switch self {
            case .joinedLosesOthers, .joinedIsNeedless, .needlessIsSent: true
            case _: false
            }
        }
    }

    /// A write as the client has it.
    struct Draft {
        let account: String
        let method: String
        let body: [UInt8]
        /// The to-do that it changes; nil for another document, or for a new to-do.
        let todo: DocumentWriter.Todo?
    }

    /// The method and the members of a request that changed a document.
    struct Work {
        let method: String
        let members: [String: JSONValue]
    }

    /// Rules of the server, and a fault between it and the daemon.
    struct Rules {
        var fault: Fault?
        /// Whether the server does what carries one key once.
        var honoursKeys = true
        /// Whether all accounts have one credential, which has no end.
        var isShared = false
    }

    struct State {
        var random: SeededRandom
        let rules: Rules
        var isInTrouble = true
        /// The number of the credential that the server takes of each account.
        var tokens: [String: Int] = [:]
        var items: [Int: [String: JSONValue]] = [:]
        /// The note of each account.
        var notes: [String: [String: JSONValue]] = [:]
        /// The version of each document, by its name.
        var versions: [String: Int] = [:]
        /// Versions of each document, by its name and in their order; nil for a deleted document.
        var history: [String: [[String: JSONValue]?]] = [:]
        /// The answer to each key.
        var answers: [String: ScriptedAnswer] = [:]
        /// Writes that were answered 202 and are not done yet.
        var promises: [UpstreamRequest] = []
        /// How often each write was done, by its id.
        var done: [String: Int] = [:]
        /// Writes that may be confirmed without being done: promised ones, and deletions of what is
        /// gone.
        var excused: Set<String> = []
        /// The last request that did each write, by the id of the write.
        var work: [String: Work] = [:]
        /// Each write that a client has asked for, by its id.
        var drafts: [String: Draft] = [:]
        /// Writes that had a refused credential.
        var unauthorized: Set<String> = []
        /// Joined writes that were not done, by the id of the first.
        var dropped: Set<String> = []
        /// The mark under which each to-do was created.
        var marks: [Int: String] = [:]
        /// Changes of the writes that were answered 202, by the name of the document.
        var promised: [String: [[String: JSONValue]]] = [:]
        /// Answers that are under way.
        var gates: [Gate] = []
        var complaints: [String] = []
    }

    let state: Mutex<State>
    /// Once it has copied the files, the daemon that asks counts as killed.
    let plan = DiskPlan()

    init(seed: UInt64, _ rules: Rules, accounts: [String]) {
        var state = State(random: SeededRandom(seed: seed), rules: rules)
        for account in accounts { state.setNote(of: account, ["text": .string("none")]) }
        self.state = Mutex(state)
    }

    /// Ends the trouble, and does what was promised.
    func recover() {
        state.withLock { state in
            state.isInTrouble = false
            for request in state.promises { _ = state.perform(request) }
            state.promises = []
        }
        deliver()
    }

    /// Lets the answers arrive that are under way.
    func deliver() {
        let gates = state.withLock { state in
            defer { state.gates = [] }
            return state.gates
        }
        for gate in gates { gate.open() }
    }

    /// Another device writes.
    func writeElsewhere(_ title: String) {
        state.withLock { state in
            switch state.random.next() % 5 {
            case 0: state.add(["title": .string(title), "done": .bool(false)])
            case 1: if let id = state.anyItem { state.remove(id) }
            case 2:
                let accounts = state.notes.keys.sorted()
                guard !accounts.isEmpty else { return }
                state.setNote(of: state.random.pick(accounts), ["text": .string(title)])
            default:
                if let id = state.anyItem { state.change(id, ["title": .string(title)]) }
            }
        }
    }

    func answer(_ request: UpstreamRequest) -> ScriptedAnswer? {
        state.withLock { state in
            guard !plan.hasCopied else { return nil }
            let request = state.received(request)
            guard let answer = state.answer(request) else { return nil }
            guard state.isInTrouble, state.random.next() % 5 == 0 else { return answer }
            let gate = Gate()
            state.gates.append(gate)
            return answer.held(by: gate)
        }
    }

    /// Makes the change of a write request that the daemon did not send.
    func perform(_ request: UpstreamRequest) { state.withLock { _ = $0.perform(request) } }

    /// The ids under which the server has the to-do with a mark.
    func ids(marked mark: String) -> [Int] {
        state.withLock { state in state.marks.filter { $0.value == mark }.keys.sorted() }
    }

    /// The mark under which the to-do with an id was created; nil for one from elsewhere.
    func mark(_ id: String) -> String? {
        state.withLock { state in Int(id).flatMap { state.marks[$0] } }
    }

    /// The document under a path, as an account sees it; nil if the server has none.
    func document(_ path: String, _ account: String) -> JSONValue? {
        state.withLock { $0.document(path, account) }
    }

    var paths: [String] {
        state.withLock { state in
            ["/todos", "/note"] + state.items.keys.sorted().map { "/todos/\($0)" }
        }
    }

    /// Values of a member of a document since a version, and those that the server has promised.
    func words(of name: String, since version: Int) -> [[String: JSONValue]] {
        state.withLock { state in
            let said = (state.history[name] ?? []).dropFirst(version).compactMap { $0 }
            return said + (state.promised[name] ?? [])
        }
    }

    /// Whether a document was there and is not there any more, or was not for a while.
    func hasDeleted(_ name: String) -> Bool {
        state.withLock { $0.history[name]?.contains(nil) ?? false }
    }

    /// The first version since another one in which a document was that.
    func version(of name: String, _ members: [String: JSONValue], since version: Int) -> Int? {
        state.withLock { state in
            (state.history[name] ?? []).indices.dropFirst(version).first { index in
                state.history[name]?[index] == members
            }
        }
    }

    /// The name of a document that is under a path for an account.
    static func name(_ path: String, _ account: String) -> String {
        path == "/note" ? account + path : path
    }

    /// The value of `Authorization` that the server takes of an account.
    func credential(_ account: String) -> String { state.withLock { $0.credential(account) } }
}

extension DocumentServer.State {
    fileprivate var anyItem: Int? {
        mutating get { items.isEmpty ? nil : random.pick(items.keys.sorted()) }
    }

    fileprivate func credential(_ account: String) -> String {
        "\(account) \(tokens[account] ?? 0)"
    }

    private func account(_ request: UpstreamRequest) -> String {
        String((request.origin.headers["Authorization"] ?? "").prefix { $0 != " " })
    }

    /// The id of a write.
    private func id(_ request: UpstreamRequest) -> String {
        String((request.headers["Idempotency-Key"] ?? "").prefix { $0 != "." })
    }

    // MARK: Faults

    /// A request as it arrives; complains of what no request may have.
    fileprivate mutating func received(_ sent: UpstreamRequest) -> UpstreamRequest {
        var request = sent
        let isWrite = request.method != "GET"
        switch rules.fault {
        case .temporaryID where request.method == "PATCH":
            request.body = Array(#"{"of":"tmp:1"}"#.utf8)
        case .otherKey where isWrite:
            request.headers.set("Idempotency-Key", "\(id(request)).\(random.next())")
        case .oldCredential where !account(request).isEmpty:
            request.origin.headers.set("Authorization", "\(account(request)) 0")
        case .otherAccount where account(request) == "work",
            .otherDocuments where account(request) == "work" && !isWrite:
            request.origin.headers.set("Authorization", credential("default"))
        case .otherID where isWrite && todo(String(request.url.path)) != nil:
            let other = items.keys.min { marks[$0] ?? "" < marks[$1] ?? "" } ?? 0
            let tail = request.url.path.hasSuffix("/tags") ? "/tags" : ""
            let url = try? WebURL("https://api.example.com/todos/\(other)\(tail)")
            request.url = url ?? request.url
        case .joinedLosesOthers where isJoined(request):
            guard let draft = drafts[id(request)] else { break }
            (request.method, request.body) = (draft.method, draft.body)
        default: break
        }
        let text = request.url.text + String(decoding: request.body ?? [], as: UTF8.self)
        if text.contains("tmp:") || text.contains("{{") || text.contains("%7B") {
            complaints.append("\(request.method) \(text) has a temporary id")
        }
        guard isWrite else { return request }
        guard let draft = drafts[id(request)] else {
            complaints.append("a write without an owner: \(text)")
            return request
        }
        let account = account(request)
        if !account.isEmpty, account != draft.account {
            complaints.append("\(id(request)) has the credential of \(account)")
        }
        if let wanted = draft.todo, let sent = todo(String(request.url.path)) {
            let isRight = wanted.mark.map { $0 == marks[sent] } ?? (wanted.name == "\(sent)")
            if !isRight { complaints.append("a write of \(wanted.name) goes to \(text)") }
        }
        return request
    }

    /// Whether a request is not the one of its own write alone.
    private func isJoined(_ request: UpstreamRequest) -> Bool {
        guard let draft = drafts[id(request)] else { return false }
        let own = String(decoding: draft.body, as: UTF8.self)
        let isSame = draft.method == request.method && draft.body == request.body ?? []
        return !isSame && !own.contains("{{")
    }

    /// The number of the to-do that a request changes.
    private func todo(_ path: String) -> Int? {
        item(path.hasSuffix("/tags") ? String(path.dropLast(5)) : path)
    }

    fileprivate mutating func answer(_ request: UpstreamRequest) -> ScriptedAnswer? {
        let id = id(request)
        switch rules.fault {
        case .nothingWakes where unauthorized.contains(id): return .reply("log in", status: 401)
        case .joinedIsNeedless where request.method == "PATCH" && isJoined(request):
            dropped.insert(id)
            return .reply(status: 204)
        default: break
        }
        if isInTrouble, random.next() % 2 == 0, let failed = trouble(request) { return failed }
        let account = account(request)
        guard request.origin.headers["Authorization"] == credential(account) else {
            unauthorized.insert(id)
            return .reply("log in", status: 401)
        }
        return perform(request)
    }

    /// An answer or an error that stands for a fault; nil if this request meets none.
    private mutating func trouble(_ request: UpstreamRequest) -> ScriptedAnswer? {
        let isWrite = request.method != "GET"
        switch random.next() % 13 {
        case 0, 1: return .failure(.unreachable(host: "api.example.com", reason: "away"))
        case 2: return .reply("busy", status: 503)
        case 3 where isWrite && rules.fault == .portalConfirms: return .reply(status: 204)
        case 3: return .reply("a portal", status: 511)
        case 4 where rules.isShared: return .reply("log in", status: 401)
        case 4:
            tokens[account(request), default: 0] += 1
            return nil
        case 5 where isWrite: return .reply("no", status: 422)
        case 6 where isWrite, 7 where isWrite:
            // The server does the write, and its answer is lost.
            _ = perform(request)
            if rules.fault == .lostIsRefusal { return .reply("no", status: 422) }
            return .failure(.brokenOff(reason: "lost"))
        case 6, 7: return .failure(.brokenOff(reason: "lost"))
        case 8 where isWrite && request.method != "POST":
            promises.append(request)
            excused.insert(id(request))
            let name = DocumentServer.name(String(request.url.path), account(request))
            promised[name, default: []].append(members(of: request))
            return .reply(status: 202)
        case 9 where isWrite: return .reply("broken", status: 500)
        case 10 where isWrite: return .reply("wait", status: 429, headers: ["Retry-After": "7"])
        default: return nil
        }
    }

    // MARK: Writing

    fileprivate mutating func perform(_ request: UpstreamRequest) -> ScriptedAnswer {
        let (path, account) = (String(request.url.path), account(request))
        guard request.method != "GET" else { return read(path, account) }
        let key = rules.honoursKeys ? request.headers["Idempotency-Key"] : nil
        if let known = key.flatMap({ answers[$0] }) { return known }
        if let match = request.headers["If-Match"], match != etag(path, account) {
            return .reply("another version", status: 412)
        }
        let answer = write(request, path, account)
        if let key { answers[key] = answer }
        return answer
    }

    /// The answer to a write that was done, without the document.
    private var bareAnswer: ScriptedAnswer {
        rules.fault == .bareIsRefusal ? .reply("no", status: 422) : .reply(status: 204)
    }

    private mutating func write(
        _ request: UpstreamRequest,
        _ path: String,
        _ account: String
    ) -> ScriptedAnswer {
        let values = members(of: request)
        let found = item(path).flatMap { items[$0] == nil ? nil : $0 }
        switch (request.method, path) {
        case ("POST", "/todos"):
            let id = add(values)
            if case .string(let mark)? = values["mark"] { marks[id] = mark }
            noteDone(request)
            return shown("/todos/\(id)", account, status: 201, ["Location": "/todos/\(id)"])
        case ("POST", "/note/count"):
            let count = notes[account]?["count"]?.integer ?? 0
            setNote(of: account, ["count": .number(JSONNumber(count + 1))])
            noteDone(request)
            return bareAnswer
        case ("POST", "/note/about"):
            // The mark says which to-do the temporary id stood for.
            let mark = values["todo"]?.integer.flatMap { marks[Int($0)] }
            if mark.map({ JSONValue.string($0) }) != values["mark"] {
                complaints.append("a note is about \(values), which was created as \(mark ?? "-")")
            }
            setNote(of: account, ["text": values["text"] ?? .null])
            noteDone(request)
            return bareAnswer
        case ("PATCH", "/note"): setNote(of: account, values)
        case ("PATCH", _):
            guard let found else { return .reply("gone", status: 404) }
            change(found, values)
        case ("POST", _) where path.hasSuffix("/tags"):
            guard let id = item(String(path.dropLast(5))), let old = items[id] else {
                return .reply("gone", status: 404)
            }
            let tags = old["tags"]?.elements ?? []
            change(id, ["tags": .array(tags + [values["tag"] ?? .null])])
            noteDone(request)
            return bareAnswer
        case ("DELETE", _):
            guard let found else {
                excused.insert(id(request))
                return .reply("gone", status: 404)
            }
            remove(found)
            noteDone(request)
            return bareAnswer
        default: return .reply("what?", status: 400)
        }
        noteDone(request)
        let isShown = random.next() % 2 == 0
        return isShown
            ? shown(path, account, ["Content-Location": path]) : bareAnswer
    }

    private func members(of request: UpstreamRequest) -> [String: JSONValue] {
        let members = request.body.flatMap { try? JSONValue(parsing: $0) }?.members ?? []
        return Dictionary(members.map { ($0.name, $0.value) }) { $1 }
    }

    private mutating func noteDone(_ request: UpstreamRequest) {
        done[id(request), default: 0] += 1
        work[id(request)] = DocumentServer.Work(
            method: request.method,
            members: members(of: request)
        )
    }

    @discardableResult
    fileprivate mutating func add(_ members: [String: JSONValue]) -> Int {
        let id = versions["/todos", default: 0] + 1
        items[id] = members
        touch(id)
        return id
    }

    fileprivate mutating func change(_ id: Int, _ members: [String: JSONValue]) {
        items[id]?.merge(members) { $1 }
        touch(id)
    }

    fileprivate mutating func remove(_ id: Int) {
        items[id] = nil
        touch(id)
    }

    fileprivate mutating func setNote(of account: String, _ members: [String: JSONValue]) {
        var note = notes[account] ?? DocumentServer.emptyNote
        note.merge(members) { $1 }
        notes[account] = note
        let name = DocumentServer.name("/note", account)
        versions[name, default: 0] += 1
        history[name, default: []].append(note)
    }

    private mutating func touch(_ id: Int) {
        let name = "/todos/\(id)"
        versions[name, default: 0] += 1
        history[name, default: []].append(items[id])
        versions["/todos", default: 0] += 1
    }

    // MARK: Reading

    private func item(_ path: String) -> Int? {
        path.hasPrefix("/todos/") ? Int(path.dropFirst("/todos/".count)) : nil
    }

    fileprivate func document(_ path: String, _ account: String) -> JSONValue? {
        let object = { (members: [String: JSONValue]) -> JSONValue in
            let sorted = members.sorted { $0.key < $1.key }
            return .object(sorted.map { JSONMember(name: $0.key, value: $0.value) })
        }
        let todo = { (id: Int) -> JSONValue? in
            items[id].map { members in
                let own: [String: JSONValue] = [
                    "type": .string("Todo"), "id": .number(JSONNumber(Int64(id))),
                ]
                return object(members.merging(own) { $1 })
            }
        }
        switch path {
        case "/note": return object(notes[account] ?? DocumentServer.emptyNote)
        case "/todos":
            let todos = items.keys.sorted().compactMap(todo)
            return .object([JSONMember(name: "items", value: .array(todos))])
        default: return item(path).flatMap(todo)
        }
    }

    private func etag(_ path: String, _ account: String) -> String {
        "\"\(versions[DocumentServer.name(path, account)] ?? 0)\""
    }

    private mutating func read(_ path: String, _ account: String) -> ScriptedAnswer {
        // A private answer of a shared origin is the user's own row.
        let isPrivate = rules.isShared && isInTrouble && random.next() % 4 == 0
        return shown(path, account, isPrivate ? ["Cache-Control": "private"] : [:])
    }

    private func shown(
        _ path: String,
        _ account: String,
        status: Int = 200,
        _ headers: [String: String] = [:]
    ) -> ScriptedAnswer {
        var state = self
        if rules.fault == .listHasCopies, path == "/todos" {
            for id in items.keys {
                state.items[id] = history["/todos/\(id)"]?.compactMap { $0 }.first
            }
        }
        guard let document = state.document(path, account) else {
            return .reply("gone", status: 404)
        }
        let headers = headers.merging(["ETag": etag(path, account)]) { own, _ in own }
        return .json(
            String(decoding: document.bytes, as: UTF8.self),
            status: status,
            headers: headers
        )
    }
}

extension DocumentServer {
    fileprivate static let emptyNote: [String: JSONValue] = [
        "text": .string("none"), "count": .number(JSONNumber(0)),
    ]
}
