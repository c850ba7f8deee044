import LarderJSON

/// The origin without its sockets and files: what it keeps, what it was told, what it does.
struct Origin {
    /// What a request gets.
    enum Action {
        case answer(Reply, afterMilliseconds: Int)
        /// The answer waits until it is asked for by ``released(_:)``.
        case hold(Held)
        case close
        /// What is held is answered or closed, and this request answered.
        case release(answers: Bool, Reply)
    }

    /// A request with what it is to be answered.
    struct Held {
        fileprivate let request: Request
        /// Nil: it is still to be done.
        fileprivate let reply: Reply?
    }

    /// What is to be done about one request, in this order.
    struct Turn {
        /// The line of the log for what was applied.
        var effect: [UInt8]?
        var action: Action
    }

    private let honoursKeys: Bool
    private var documents = Documents()
    private var conducts: [Conduct] = []
    /// The first answer to each key.
    private var answers: [String: Reply] = [:]
    private var effects: [[UInt8]] = []
    private var received: [[UInt8]] = []
    private var receivedCount = 0
    private var heldCount = 0

    /// Requests that are remembered for `/_received`: those of one script.
    private static let receivedMax = 20_000

    init(honoursKeys: Bool) {
        self.honoursKeys = honoursKeys
    }

    /// Does again what the log says was done.
    mutating func redo(_ write: Write) {
        _ = apply(write)
    }

    /// A head came; whether its body is to be read.
    mutating func headReceived(method: String, path: String) -> Bool {
        guard !Request.isControl(path),
            let index = conducts.firstIndex(where: {
                $0.covers(method: method, path: path, authorization: nil)
            }),
            conducts[index].ending == .refuse
        else { return true }
        use(index)
        note(Request(method: method, path: path))
        return false
    }

    mutating func received(_ request: Request) -> Turn {
        guard !Request.isControl(request.path) else { return Turn(action: control(request)) }
        note(request)
        let index = conducts.firstIndex {
            $0.covers(
                method: request.method,
                path: request.path,
                authorization: request.authorization
            )
        }
        guard let index else { return ordinary(request) }
        let conduct = conducts[index]
        use(index)
        var turn = Turn(action: .close)
        var reply = conduct.reply
        if conduct.isApplied {
            let done: Reply
            (done, turn.effect) = answer(request)
            reply = reply ?? done
        }
        switch conduct.ending {
        case .close, .refuse: break
        case .hold:
            heldCount += 1
            turn.action = .hold(Held(request: request, reply: reply))
        case .answer:
            let reply = reply ?? .refusal(500, "nothing to answer")
            turn.action = .answer(reply, afterMilliseconds: conduct.delayMilliseconds)
        }
        return turn
    }

    /// A request that was held is to be answered.
    mutating func released(_ held: Held) -> Turn {
        heldCount -= 1
        guard let reply = held.reply else { return ordinary(held.request) }
        return Turn(action: .answer(reply, afterMilliseconds: 0))
    }

    /// A request that was held has lost its connection.
    mutating func abandoned() {
        heldCount -= 1
    }

    private mutating func ordinary(_ request: Request) -> Turn {
        let (reply, effect) = answer(request)
        return Turn(effect: effect, action: .answer(reply, afterMilliseconds: 0))
    }

    private mutating func use(_ index: Int) {
        if !conducts[index].use() { conducts.remove(at: index) }
    }

    private mutating func note(_ request: Request) {
        var json = JSONWriter()
        json.object { json in
            json.member("method", request.method)
            json.member("path", request.path)
            json.member("key", request.key)
            json.member("type", request.type)
            json.member("authorization", request.authorization)
        }
        receivedCount += 1
        if received.count == Self.receivedMax { received.removeFirst(Self.receivedMax / 2) }
        received.append(json.bytes + [UInt8(ascii: "\n")])
    }
}

extension Origin {
    /// The ordinary answer, and the line of the effect that the request had.
    private mutating func answer(_ request: Request) -> (Reply, effect: [UInt8]?) {
        if request.method == "GET" || request.method == "HEAD" {
            return (documents.read(request.path, ifNoneMatch: request.ifNoneMatch), nil)
        }
        guard let write = Write(request) else {
            return (.refusal(415, "neither JSON nor text"), nil)
        }
        if honoursKeys, let first = write.key.flatMap({ answers[$0] }) { return (first, nil) }
        guard documents.matches(request.path, request.ifMatch) else {
            return (.refusal(412, "it has another version"), nil)
        }
        return apply(write)
    }

    private mutating func apply(_ write: Write) -> (Reply, effect: [UInt8]?) {
        let number = effects.count + 1
        switch documents.apply(write, number: number) {
        case .refused(let reply): return (reply, nil)
        case .applied(let reply):
            let seen = write.key.map { answers[$0] != nil } ?? false
            let line = write.line(number: number, seen: seen)
            effects.append(line)
            if let key = write.key, !seen { answers[key] = reply }
            return (reply, line)
        }
    }
}

extension Origin {
    private mutating func control(_ request: Request) -> Action {
        let done = Reply(status: 204)
        do throws(ControlError) {
            switch (request.method, request.path) {
            case ("GET", "/_log"): return .answer(Self.lines(effects), afterMilliseconds: 0)
            case ("GET", "/_received"): return .answer(Self.lines(received), afterMilliseconds: 0)
            case ("GET", "/_control"): return .answer(report(), afterMilliseconds: 0)
            case ("POST", "/_control"):
                conducts.append(try Conduct(try Self.command(request)))
                return .answer(done, afterMilliseconds: 0)
            case ("DELETE", "/_control"):
                conducts = []
                return .release(answers: false, done)
            case ("POST", "/_release"):
                var members = try ControlMembers(try Self.command(request))
                let answers = try members.take("as") { value in
                    ["answer": true, "close": false][value.string]
                }
                try members.refuseRest()
                return .release(answers: answers ?? true, done)
            default: throw ControlError("there is no such command")
            }
        } catch {
            return .answer(.refusal(400, error.message), afterMilliseconds: 0)
        }
    }

    private static func command(_ request: Request) throws(ControlError) -> JSONValue {
        do throws(JSONError) {
            return try JSONValue(parsing: request.body)
        } catch {
            throw ControlError("the command is no JSON: \(error.message)")
        }
    }

    private static func lines(_ lines: [[UInt8]]) -> Reply {
        let type = Reply.Header(name: "Content-Type", value: "application/jsonl")
        return Reply(status: 200, headers: [type], body: Array(lines.joined()))
    }

    private func report() -> Reply {
        var json = JSONWriter()
        json.object { json in
            json.name("conducts")
            json.beginArray()
            for conduct in conducts { conduct.write(to: &json) }
            json.endArray()
            json.member("held", heldCount)
            json.member("received", receivedCount)
            json.member("effects", effects.count)
        }
        return Reply(
            status: 200,
            headers: [.init(name: "Content-Type", value: "application/json")],
            body: json.bytes
        )
    }
}
