package import LarderAPI
import LarderJSON
package import LarderModel
import LarderWire

/// A fetch with checked values.
package struct FetchOrder: Equatable, Sendable {
    package var url: WebURL
    /// Nil leaves it to the origin's settings; so do the next two.
    package var policy: FetchPolicy?
    /// How long the cache is held back for the network, where the policy does.
    package var networkWait: Duration?
    /// How long the client waits in all.
    package var timeout: Duration?
    package var account = AccountName.default
    /// Whether the answer's entities are shared with other answers; nil leaves it to the origin's
    /// rules.
    package var normalizes: Bool?
    /// Whether what is cached is shown without what was evicted of it.
    package var isPartial = false
    /// Whether the stream stays open and tells each further view.
    package var follows = false
    package var heartbeat = Limits.heartbeatTime
    /// Sent to the origin.
    package var headers = HeaderFields()

    package init(url: WebURL) {
        self.url = url
    }

    package init(_ command: FetchCommand) throws(Problem) {
        let options = command.options
        url = try Problem.checking(nil, .badURL) { () throws(ModelError) in try WebURL(command.url)
        }
        policy = options.policy.flatMap { FetchPolicy(rawValue: $0.rawValue) }
        networkWait = try options.networkWait?.checked("network_wait")
        let times = .milliseconds(1)...Limits.fetchTimeMax
        timeout = try options.timeout?.checked("timeout", in: times)
        account = try AccountName(command: options.account)
        normalizes = options.normalize
        isPartial = options.partial ?? false
        follows = options.follow ?? false
        heartbeat = try Duration(heartbeat: options.heartbeat)
        headers = try RequestHeaderRules.fields(
            (options.headers?.members ?? []).map {
                JSONMember(name: $0.name, value: .string($0.value))
            }
        )
    }
}

extension Duration {
    /// The time between two heartbeats that a command asks for.
    init(heartbeat: Duration?) throws(Problem) {
        self =
            try heartbeat?.checked("heartbeat", in: Limits.heartbeatTimes)
            ?? Limits.heartbeatTime
    }
}
