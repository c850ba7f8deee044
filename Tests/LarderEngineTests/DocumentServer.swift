import LarderJSON
import LarderModel
import LarderTestSupport
import LarderUpstream
import Synchronization

/// A server with a to-do list and a note, as other people write them: it knows neither base nor
/// view.
///
/// While it is in trouble, requests fail in every way that a network and a server have.
final class DocumentServer: Sendable {
    struct State {
        var random: SeededRandom
        var isInTrouble = true
        /// The value of `Authorization` that the server takes.
        var token = "0"
        var items: [Int: [String: JSONValue]] = [:]
        var note: [String: JSONValue] = ["text": .string("none"), "count": .number(JSONNumber(0))]
        /// The version of each document, by its path.
        var versions: [String: Int] = [:]
        /// The answer to each key.
        var answers: [String: ScriptedAnswer] = [:]
        /// Writes that were answered 202 and are not done yet.
        var promises: [UpstreamRequest] = []
        /// How often each thing was created, by its mark.
        var created: [String: Int] = [:]
    }

    let state: Mutex<State>

    init(seed: UInt64) {
        state = Mutex(State(random: SeededRandom(seed: seed)))
    }

    /// Ends the trouble, and does what was promised.
    func recover() {
        state.withLock { state in
            state.isInTrouble = false
            for request in state.promises { _ = state.perform(request) }
            state.promises = []
        }
    }

    /// Another device writes.
    func writeElsewhere(_ title: String) {
        state.withLock { state in
            switch state.random.next() % 5 {
            case 0: state.add(["title": .string(title), "done": .bool(false)])
            case 1: if let id = state.anyItem { state.remove(id) }
            case 2: state.setNote(["text": .string(title)])
            default:
                if let id = state.anyItem { state.change(id, ["title": .string(title)]) }
            }
        }
    }

    func answer(_ request: UpstreamRequest) -> ScriptedAnswer? {
        state.withLock { state in
            if state.isInTrouble, state.random.next() % 2 == 0,
                let failed = state.trouble(request)
            {
                return failed
            }
            guard request.origin.headers["Authorization"] == state.token else {
                return .reply("log in", status: 401)
            }
            return state.perform(request)
        }
    }

    /// The document under a path; nil if the server has none.
    func document(_ path: String) -> JSONValue? { state.withLock { $0.document(path) } }

    var paths: [String] {
        state.withLock { state in
            ["/todos", "/note"] + state.items.keys.sorted().map { "/todos/\($0)" }
        }
    }
}

extension DocumentServer.State {
    fileprivate var anyItem: Int? {
        mutating get { items.isEmpty ? nil : random.pick(items.keys.sorted()) }
    }

    /// An answer or an error that stands for a fault; nil if this request meets none.
    fileprivate mutating func trouble(_ request: UpstreamRequest) -> ScriptedAnswer? {
        let isWrite = request.method != "GET"
        switch random.next() % 12 {
        case 0, 1: return .failure(.unreachable(host: "api.example.com", reason: "away"))
        case 2: return .reply("busy", status: 503)
        case 3: return .reply("a portal", status: 511)
        case 4:
            token += "0"
            return nil
        case 5 where isWrite: return .reply("no", status: 422)
        case 6 where isWrite, 7 where isWrite:
            // The server does the write, and its answer is lost.
            _ = perform(request)
            return .failure(.brokenOff(reason: "lost"))
        case 6, 7: return .failure(.brokenOff(reason: "lost"))
        case 8 where isWrite && request.method != "POST":
            promises.append(request)
            return .reply(status: 202)
        case 9 where isWrite:
            return .reply("broken", status: 500)
        default: return nil
        }
    }

    // MARK: Writing

    fileprivate mutating func perform(_ request: UpstreamRequest) -> ScriptedAnswer {
        let path = String(request.url.path)
        guard request.method != "GET" else { return shown(path) }
        let key = request.headers["Idempotency-Key"]
        if let known = key.flatMap({ answers[$0] }) { return known }
        if let match = request.headers["If-Match"], match != etag(path) {
            return .reply("another version", status: 412)
        }
        let answer = write(request, path)
        if let key { answers[key] = answer }
        return answer
    }

    private mutating func write(_ request: UpstreamRequest, _ path: String) -> ScriptedAnswer {
        let members = request.body.flatMap { try? JSONValue(parsing: $0) }?.members ?? []
        let values = Dictionary(members.map { ($0.name, $0.value) }) { $1 }
        switch (request.method, path) {
        case ("POST", "/todos"):
            if case .string(let mark)? = values["mark"] { created[mark, default: 0] += 1 }
            let id = add(values)
            return shown("/todos/\(id)", status: 201, ["Location": "/todos/\(id)"])
        case ("POST", "/note/count"):
            setNote(["count": .number(JSONNumber((note["count"]?.integer ?? 0) + 1))])
            return .reply(status: 204)
        case ("PATCH", "/note"): setNote(values)
        case ("PATCH", _):
            guard let id = item(path), items[id] != nil else { return .reply("gone", status: 404) }
            change(id, values)
        case ("DELETE", _):
            guard let id = item(path), items[id] != nil else { return .reply("gone", status: 404) }
            remove(id)
            return .reply(status: 204)
        default: return .reply("what?", status: 400)
        }
        let isShown = random.next() % 2 == 0
        return isShown ? shown(path, ["Content-Location": path]) : .reply(status: 204)
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

    fileprivate mutating func setNote(_ members: [String: JSONValue]) {
        note.merge(members) { $1 }
        versions["/note", default: 0] += 1
    }

    private mutating func touch(_ id: Int) {
        versions["/todos/\(id)", default: 0] += 1
        versions["/todos", default: 0] += 1
    }

    // MARK: Reading

    private func item(_ path: String) -> Int? {
        path.hasPrefix("/todos/") ? Int(path.dropFirst("/todos/".count)) : nil
    }

    fileprivate func document(_ path: String) -> JSONValue? {
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
        case "/note": return object(note)
        case "/todos":
            let todos = items.keys.sorted().compactMap(todo)
            return .object([JSONMember(name: "items", value: .array(todos))])
        default: return item(path).flatMap(todo)
        }
    }

    private func etag(_ path: String) -> String { "\"\(versions[path] ?? 0)\"" }

    private func shown(
        _ path: String,
        status: Int = 200,
        _ headers: [String: String] = [:]
    ) -> ScriptedAnswer {
        guard let document = document(path) else { return .reply("gone", status: 404) }
        let headers = headers.merging(["ETag": etag(path)]) { own, _ in own }
        return .json(
            String(decoding: document.bytes, as: UTF8.self),
            status: status,
            headers: headers
        )
    }
}
