import LarderJSON
package import LarderModel

/// What `GET` and `POST /v1/fetch` ask for.
package struct FetchCommand: Equatable, Sendable {
    package var url: WebURL
    /// Nil leaves it to the origin's settings; so do the next two.
    package var policy: FetchPolicy?
    /// How long the cache is held back for the network, where the policy does: 0 to ``Limits/fetchTimeMax``.
    package var networkWait: Duration?
    /// How long the client waits in all: 1 ms to ``Limits/fetchTimeMax``.
    package var timeout: Duration?
    package var account = AccountName.default
    /// Whether the answer's entities are shared with other answers; nil leaves it to the origin's
    /// rules.
    package var normalizes: Bool?
    /// Whether what is cached is shown without what was evicted of it: the member `partial`.
    package var isPartial = false
    /// Whether the stream stays open and tells each further view: the member `follow`.
    package var follows = false
    /// How often the client is told that the stream lives, behind the first frame.
    package var heartbeat = Limits.heartbeatTime
    /// Sent to the origin; checked by ``RequestHeaderRules``.
    package var headers = HeaderFields()

    package init(url: WebURL) {
        self.url = url
    }

    /// Reads the parameters of a GET, and refuses every other.
    package init(query: Substring) throws(Problem) {
        var parameters = try QueryParameters(query)
        try self.init(
            url: parameters.take("url"),
            policy: parameters.take("policy"),
            networkWait: parameters.take("network_wait"),
            timeout: parameters.take("timeout")
        )
        account = try parameters.takeAccount()
        normalizes = try parameters.takeBool("normalize")
        isPartial = try parameters.takeBool("partial") ?? false
        follows = try parameters.takeBool("follow") ?? false
        heartbeat = try Duration(heartbeat: parameters.take("heartbeat"))
        try parameters.refuseRest(hint: Self.encodeHint)
    }

    /// Reads the body of a POST, and refuses every unknown member.
    package init(json: [UInt8]) throws(Problem) {
        var members = try CommandMembers(json, of: Self.names)
        try self.init(
            url: members.takeString("url"),
            policy: members.takeString("policy"),
            networkWait: members.takeString("network_wait"),
            timeout: members.takeString("timeout")
        )
        account = try members.takeAccount()
        normalizes = try members.takeBool("normalize")
        isPartial = try members.takeBool("partial") ?? false
        follows = try members.takeBool("follow") ?? false
        heartbeat = try Duration(heartbeat: members.takeString("heartbeat"))
        if let given = try members.take("headers", "an object", { $0.members }) {
            headers = try RequestHeaderRules.fields(given)
        }
    }

    private static let names = [
        "url", "policy", "network_wait", "timeout", "account", "normalize", "partial", "follow",
        "heartbeat", "headers",
    ]

    private init(
        url: String?,
        policy: String?,
        networkWait: String?,
        timeout: String?
    ) throws(Problem) {
        guard let url else {
            throw Problem(.badRequest, "url is missing", hint: Self.encodeHint)
        }
        do throws(ModelError) {
            self.url = try WebURL(url)
        } catch {
            throw Problem(.badURL, error.message)
        }
        self.policy = try policy.map { text throws(Problem) in try Self.policy(text) }
        self.networkWait = try networkWait.map { text throws(Problem) in
            try Duration(command: text, of: "network_wait", in: .zero...Limits.fetchTimeMax)
        }
        self.timeout = try timeout.map { text throws(Problem) in
            try Duration(
                command: text,
                of: "timeout",
                in: .milliseconds(1)...Limits.fetchTimeMax
            )
        }
    }
}

extension FetchCommand {
    private static let encodeHint = """
        If it is part of the URL, the URL was not percent-encoded: \
        curl -G --data-urlencode url=URL …/v1/fetch
        """

    private static func policy(_ text: String) throws(Problem) -> FetchPolicy {
        guard let policy = FetchPolicy(rawValue: text) else {
            throw Problem("policy", text, isNoneOf: FetchPolicy.allCases.map(\.rawValue))
        }
        return policy
    }
}

extension Duration {
    /// How often a stream says that it lives; ``Limits/heartbeatTime`` where a command says nothing.
    init(heartbeat text: String?) throws(Problem) {
        guard let text else {
            self = Limits.heartbeatTime
            return
        }
        try self.init(command: text, of: "heartbeat", in: Limits.heartbeatTimes)
    }

    /// A duration of a command within bounds; `name` is what a refusal calls it.
    init(
        command text: String,
        of name: String,
        in range: ClosedRange<Duration>
    ) throws(Problem) {
        do throws(ModelError) {
            try self.init(unit: text)
        } catch {
            throw Problem(.badRequest, "\(name): \(error.message)")
        }
        guard range.contains(self) else {
            let (least, most) = (range.lowerBound.unitText, range.upperBound.unitText)
            throw Problem(.badRequest, "\(name): '\(text)' is not within \(least) to \(most)")
        }
    }
}
