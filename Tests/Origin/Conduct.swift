import LarderJSON

/// How the origin is told to treat some requests.
struct Conduct {
    enum Ending: String, CaseIterable {
        case answer
        /// Does not answer before it is told to.
        case hold
        /// Closes the connection once the request is read.
        case close
        /// Closes it before the body is read.
        case refuse
    }

    private let prefix: String
    /// Nil: any.
    private let method: String?
    /// The value of `Authorization` that spares a request; nil: none does.
    private let sparedAuthorization: String?
    /// How many more requests; nil: all.
    private(set) var times: Int?
    let ending: Ending
    /// Whether the write is done as well.
    let isApplied: Bool
    /// Instead of the ordinary answer.
    let reply: Reply?
    let delayMilliseconds: Int

    func covers(method: String, path: String, authorization: String?) -> Bool {
        path.hasPrefix(prefix) && (self.method == nil || self.method == method)
            && (sparedAuthorization == nil || sparedAuthorization != authorization)
    }

    /// One request less; whether there are more to come.
    mutating func use() -> Bool {
        times = times.map { $0 - 1 }
        return times != 0
    }
}

extension Conduct {
    /// Reads `{"prefix": "/a", "times": 2, "status": 503}`; ``TestOrigin`` says what there is.
    init(_ json: JSONValue) throws(ControlError) {
        var members = try ControlMembers(json)
        prefix = try members.take("prefix") { $0.string } ?? "/"
        method = try members.take("method") { $0.string }
        sparedAuthorization = try members.take("unless_authorization") { $0.string }
        times = try members.take("times") { $0.integer.flatMap { $0 > 0 ? Int($0) : nil } }
        ending = try members.take("does") { $0.string.flatMap(Ending.init) } ?? .answer
        let status = try members.take("status") { value in
            value.integer.flatMap { (200...599).contains($0) ? Int($0) : nil }
        }
        let headers = try members.take("headers") { $0.members } ?? []
        let type = try members.take("type") { $0.string }
        let text = try members.take("text") { $0.string }
        let body = try members.take("body") { $0 }
        let isApplied = try members.take("applied") { $0.bool }
        delayMilliseconds = try members.take("delay_ms") { $0.integer.map { Int($0) } } ?? 0
        try members.refuseRest()
        if let content = body.map(Content.json) ?? text.map(Content.text) {
            reply = .content(content, status: status ?? 200, type: type).with(headers)
        } else {
            reply = status.map { Reply(status: $0).with(headers) }
        }
        // Without an answer of its own it is only about when and whether one comes.
        self.isApplied = isApplied ?? (reply == nil && ending == .answer)
    }

    func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("prefix", prefix)
            json.member("method", method)
            json.member("times", times)
            json.member("does", ending.rawValue)
            json.member("status", reply?.status)
            json.member("applied", isApplied)
        }
    }
}

extension Reply {
    fileprivate func with(_ members: [JSONMember]) -> Reply {
        members.reduce(self) { $0.with($1.name, $1.value.string ?? "") }
    }
}

/// The members of a command, taken one by one, so that a misspelled one is not passed over.
struct ControlMembers {
    private var members: [JSONMember]

    init(_ json: JSONValue) throws(ControlError) {
        guard let members = json.members else { throw ControlError("the command is no object") }
        self.members = members
    }

    mutating func take<Value>(
        _ name: String,
        _ read: (JSONValue) -> Value?
    ) throws(ControlError) -> Value? {
        guard let index = members.firstIndex(where: { $0.name == name }) else { return nil }
        let member = members.remove(at: index)
        guard let value = read(member.value) else {
            throw ControlError("'\(name)' cannot be \(member.value.kindText) like this")
        }
        return value
    }

    func refuseRest() throws(ControlError) {
        if let member = members.first { throw ControlError("'\(member.name)' is unknown") }
    }
}

/// What is wrong with a command.
struct ControlError: Error {
    let message: String

    init(_ message: String) {
        self.message = message
    }
}
