package import LarderModel
package import LarderStore
import LarderStrategy
import LarderUpstream
package import LarderWire

/// Maps every error below the engine to a problem; no other place does.
extension Problem {
    static func gone(_ url: WebURL, status: Int) -> Problem {
        var problem = Problem(.deleted, "the origin says that \(url) is gone", status: status)
        problem.originStatus = status
        return problem
    }

    package init(_ error: ModelError) {
        switch error {
        case .badID: self.init(.badID, error.message)
        case .badURL: self.init(.badURL, error.message)
        case .badAccount, .badOriginName, .badHost, .badProxy, .badDuration, .badByteSize,
            .badModifierID, .badLane, .badLaneName, .badKey, .badRule,
            .badPrefetchName:
            self.init(.badRequest, error.message)
        }
    }

    init(unknownOriginOf url: WebURL) {
        let name = ImplicitOrigin.suggestedName(for: url)?.text ?? "NAME"
        let command = "cachectl origin add \(name) \(url.originText)"
        self.init(
            .unknownOrigin,
            "\(url.originText) belongs to no configured origin",
            hint: "An administrator adds it with: \(command)"
        )
    }

    init(offline name: OriginName) {
        self.init(
            .offline,
            "the origin '\(name)' was set offline",
            hint: "An administrator sets it online with: cachectl origin online \(name)"
        )
    }

    package init(_ error: StoreError) {
        switch error {
        case .tooLarge: self.init(.entryTooLarge, error.message)
        case .noRoom, .keyTaken: self.init(.cacheFull, error.message)
        case .diskFull: self.init(.diskFull, error.message)
        case .pinned: self.init(.pinned, error.message)
        case .targeted: self.init(.targeted, error.message)
        case .conditionFailed: self.init(.preconditionFailed, error.message)
        case .modifierExists: self.init(.modifierExists, error.message)
        case .missingID: self.init(.alreadySettled, error.message)
        case .idNamed: self.init(.badRequest, error.message, status: 422)
        case .otherIDs: self.init(.overloaded, error.message)
        case .queueFull: self.init(.queueFull, error.message)
        case .pinsFull, .tooManyPins, .tooManySets: self.init(.pinsFull, error.message)
        case .overloaded, .tooManyReads, .overLoopBudget: self.init(.overloaded, error.message)
        case .closed: self.init(.shuttingDown, error.message)
        case .noFile, .uploadLost: self.init(.storage, error.message, status: 503)
        case .cannotOpen, .inUse, .newer, .unusable, .sqlite, .corrupt, .badChunk:
            self.init(.storage, error.message)
        }
    }

    private static let hintOfLocalProxy =
        "A local proxy with fake-IP gives each name such an address. Exclude the name there, or: "
        + "cachectl origin add NAME URL --allow-private."

    /// Hints for certificates, by a part of the reason.
    private static let hintsOfCertificates = [
        (
            "certificate is not trusted",
            "If your network opens TLS, or the server has a root of its own, add that root: to the "
                + "system with update-ca-certificates, or as tls.ca_file of the origin. Else check "
                + "the clock, and whether a captive portal answers."
        ),
        (
            "certificate is another host's",
            "A captive portal may answer in its place: sign in to the network with a browser."
        ),
    ]

    init(_ failure: FlightFailure, url: WebURL) {
        let host = url.originText
        switch failure {
        case .unreachable(let reason):
            self.init(
                .unreachable,
                "\(host) cannot be reached: \(reason)",
                hint: Self.hintsOfCertificates.first { reason.contains($0.0) }?.1
            )
        case .closed:
            self.init(
                .unreachable,
                "\(host) cannot be reached: it closes its connections without an answer"
            )
        case .addressRefused(let address):
            // Local proxies give names addresses of 198.18.0.0/15, which RFC 2544 keeps for tests.
            let isOfProxy = ["198.18.", "198.19."].contains { address.hasPrefix($0) }
            self.init(
                .addressRefused,
                "\(host) leads to \(address), which its origin does not allow",
                hint: isOfProxy ? Self.hintOfLocalProxy : nil
            )
        case .timeout: self.init(.timeout, "\(host) did not answer in time")
        case .brokenOff(let reason):
            self.init(.badAnswer, "\(host) broke off its answer: \(reason)")
        case .badAnswer(let reason), .undecodable(let reason):
            self.init(.badAnswer, "the answer of \(host) cannot be used: \(reason)")
        case .captive(let host):
            self.init(.captive, "'\(host)' answered like a captive portal, not like the origin")
        case .redirectRefused(let target):
            self.init(.redirectRefused, "\(host) redirects to '\(target)'")
        case .downgradeRefused(let target):
            self.init(
                .redirectRefused,
                "\(host) redirects from https to http, at '\(target)'",
                hint: "The origin's server is at fault: any server could answer over http."
            )
        case .tooLarge:
            self.init(.entryTooLarge, "the answer of \(host) is larger than an entry may be")
        case .endless:
            self.init(.entryTooLarge, "the answer of \(host) is a stream of events without an end")
        case .shuttingDown: self = .daemonEnds
        case .shortage(let reason):
            self.init(
                .overloaded,
                "the daemon cannot open a connection: \(reason)",
                hint: "Try again; if files are short, raise LimitNOFILE= of the unit."
            )
        case .overloaded:
            self.init(.overloaded, "\(Limits.flightsMax) requests are under way already")
        }
    }

    /// The cause of a failed flight.
    ///
    /// For an answer that cannot be stored, it also names the route that passes it through.
    init(_ failure: FlightFailure, of plan: Flight.Plan) {
        self.init(failure, url: plan.key.url)
        guard failure == .tooLarge || failure == .endless else { return }
        let path = RawCommand.path(
            of: plan.key.url,
            origin: plan.origin.name,
            base: plan.origin.baseURL
        )
        guard plan.key.content == nil else {
            hint = "Send the same request to \(path), which passes it through without keeping it."
            return
        }
        rawHref = path
        hint = "GET \(path) passes it through without keeping it."
        if failure == .tooLarge { hint += " To keep it, raise cache.max_entry_bytes." }
    }

    /// The cached answer left the cache before a client had it.
    static func evicted(_ url: WebURL) -> Problem {
        Problem(.badAnswer, "what was cached for \(url) was evicted meanwhile")
    }

    /// The origin says that `name` is deleted, or a modifier deletes it.
    package static func deleted(_ name: String, by source: AnswerSource) -> Problem {
        guard source == .modifier else {
            return Problem(
                .deleted,
                "\(name) is gone: its origin says so, or it was deleted here",
                status: 410
            )
        }
        return Problem(
            .deleted,
            "\(name) is deleted by a write that waits to be sent",
            status: 410,
            hint: "With show=base GET /v1/entries/{id} gives what the origin said last."
        )
    }

    static func noSuchModifier(_ id: ModifierID) -> Problem {
        Problem(.noSuchModifier, "there is no modifier '\(id)'")
    }

    /// The wait ended before the command was written, so no client was told that it was done.
    static func notWritten(_ report: ModifierReport, _ end: Wait.End) -> Problem {
        if case .daemonEnds = end { return .daemonEnds }
        return Problem(
            .overloaded,
            "what was asked of '\(report.id)' is not written down yet",
            hint: "See its state with GET /v1/modifiers/ID, and the disk with GET /v1/status."
        )
    }

    static func alreadySent(_ report: ModifierReport) -> Problem {
        Problem(
            .alreadySent,
            "'\(report.id)' is \(report.state.rawValue)",
            hint: report.state.isSettled ? ProblemKind.alreadySettled.hint : nil
        )
    }

    static func alreadySettled(_ report: ModifierReport) -> Problem {
        Problem(.alreadySettled, "'\(report.id)' is \(report.state.rawValue)")
    }

    /// Why a modifier failed, as watchers are told it.
    init(deadLetter modifier: StoredModifier, _ reason: ModifierReason, _ answer: StoredAnswer?) {
        let request = "\(modifier.method) \(modifier.url)"
        switch reason {
        case .refused:
            let status = answer.map { "answered \($0.status)" } ?? "refused"
            self.init(.originStatus, "\(request) was \(status)")
        case .attempts: self.init(.notApplied, "\(request) was tried as often as it may be")
        case .expired: self.init(.notApplied, "\(request) was not sent before it expired")
        case .conflict:
            self.init(.notApplied, "\(request) met a change of another device")
        case .parentFailed:
            self.init(.notApplied, "\(request) depends on one that was not applied")
        case .discarded:
            self.init(.notApplied, "\(request) was given up; the origin may have applied it")
        case .cancelled: self.init(.notApplied, "\(request) was given up before it was sent")
        case .unreadable: self = .unreadableModifier
        }
        originStatus = answer?.status
        guard let body = answer?.body, !body.isEmpty else { return }
        quote(Array(body.prefix(Limits.toldAnswerBytesMax)))
    }

    static let unreadableModifier = Problem(
        .notApplied,
        "its row cannot be read, or was written by a later version"
    )
}

extension FlightFailure {
    init(_ error: UpstreamError) {
        switch error {
        case .unreachable(_, let reason): self = .unreachable(reason)
        case .closed: self = .closed
        case .addressRefused(_, let address): self = .addressRefused(address)
        case .timedOut: self = .timeout
        case .brokenOff(let reason): self = .brokenOff(reason)
        case .undecodable(let reason): self = .undecodable(reason)
        case .expandsTooMuch:
            self = .badAnswer("its coded body expands more than \(Limits.decodedRatioMax) times")
        case .headTooLarge:
            self = .badAnswer(
                "its head has more than \(Limits.responseHeadBytesMax) bytes"
                    + " or \(Limits.headerFieldsMax) fields"
            )
        case .shortage(let reason): self = .shortage(reason)
        case .cancelled: self = .timeout
        }
    }
}
