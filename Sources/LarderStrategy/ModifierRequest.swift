package import LarderModel

/// The parts of a modifier's request and changes that decide the meaning of its answers.
package struct ModifierRequest: Equatable, Sendable {
    package let method: String
    /// The rules that limit its redirects and recognize a portal's answers.
    package let flight: FlightRules
    /// The media type of its body without parameters, in lower case; empty if there is none.
    package let essence: String
    package let isConditional: Bool
    /// Whether HTML may be the origin's answer.
    ///
    /// The request carries or accepts HTML, the target is HTML, the origin has pages, or its
    /// settings say so.
    package let expectsHTML: Bool
    package let targets: [EntryID]
    /// Targets that only its effects name.
    private let implied: Set<EntryID>

    /// Makes the request's rules.
    ///
    /// - `headers`: the fields that are sent, `Content-Type` included.
    /// - `baseIsJSON`: whether the last value that the origin said of a target is JSON.
    /// - `hasPages`: whether the origin has answered with HTML over https before.
    /// - `secrets`: fields besides credentials that only the origin may get, in lower case.
    package init(
        method: String,
        url: WebURL,
        headers: HeaderFields,
        targets: [EntryID],
        implied: Set<EntryID> = [],
        baseIsJSON: Bool,
        baseIsHTML: Bool = false,
        hasPages: Bool = false,
        expect: ModifierRules.ExpectRule? = nil,
        redirectHosts: [HostPort] = [],
        secrets: Set<String> = []
    ) {
        self.method = method
        self.targets = targets
        self.implied = implied
        flight = FlightRules(
            url: url,
            cachedIsJSON: baseIsJSON,
            accept: headers["Accept"],
            redirectHosts: redirectHosts,
            carrying: .all(but: secrets),
            expect: expect
        )
        essence = ResponseHead.essence(of: headers)
        let accepted = headers.list("Accept")?.lowercased()
        let acceptsHTML = accepted.map { $0.contains("text/html") || $0.contains("xhtml") }
        let mayBeHTML =
            baseIsHTML || hasPages || FlightRules.isHTML(essence) || acceptsHTML == true
        expectsHTML = expect == .any || expect == nil && mayBeHTML
        isConditional = headers["If-Match"] != nil
    }

    /// Whether it may be sent again when its arrival is unknown (case 22).
    ///
    /// It may if doing it twice is doing it once, if the origin promises to notice, or if `rule`
    /// says so. `rule` is the modifier's own, or the origin's.
    package func resends(
        _ rule: ModifierRules.UnknownRule,
        isHonoured: Bool
    ) -> Bool {
        switch rule {
        case .resend: return true
        case .hold: return false
        case .auto: break
        }
        switch method {
        case "PUT", "DELETE": return true
        case "PATCH" where essence == "application/merge-patch+json": return true
        case _: return isConditional || isHonoured
        }
    }

    /// The target of a redirect that is followed with the same method and body.
    ///
    /// Only a 307 or 308 is followed, to the targets that ``FlightRules`` allow for reads.
    package func followed(
        _ status: Int,
        _ headers: HeaderFields,
        from answering: WebURL
    ) -> WebURL? {
        guard status == 307 || status == 308, let location = headers["Location"],
            case .allowed(let url) = flight.redirect(from: answering, to: location)
        else { return nil }
        return url
    }

    /// The meaning of an answer to a repeat under the same key (cases 21 and 22).
    ///
    /// A repeat is an attempt after one that may have been applied.
    ///
    /// | answer | meaning |
    /// |---|---|
    /// | 409 under an honoured key, 425 | the origin still works on the first attempt: ask again |
    /// | 412 | the shell asks by a GET whether the effect is there; if not, it is a conflict |
    /// | another refusal | it may be about the second attempt only: a person decides |
    ///
    /// `isOfUpstream`: the upstream sent the request twice within one attempt. If the origin put
    /// the second sending off, the result of the first is as unclear as after a lost connection.
    package static func ofRepeat(
        _ verdict: ModifierVerdict,
        status: Int,
        isHonoured: Bool,
        isOfUpstream: Bool = false
    ) -> ModifierVerdict {
        var verdict = verdict
        let isRefusal = verdict == .refused || verdict == .conflict(.look)
        // A 2xx is a refusal by `refused_if`, as GraphQL says that a thing is there already.
        if isRefusal, (200..<300).contains(status) || (400..<500).contains(status) {
            verdict =
                status == 409 && isHonoured
                ? .notNow(retryAfter: nil) : .unclear(.refusedRepeat)
        }
        switch verdict {
        case .notNow, .serverFailed, .authNeeded, .captive:
            return isOfUpstream ? .unclear(.lost) : verdict
        case .confirmed, .accepted, .refused, .conflict, .noCredential, .unclear, .neverLeft:
            return verdict
        }
    }

    /// The meaning of an answer that is not ``followed(_:_:from:)``.
    ///
    /// `isOrigins`: it is known that the answer is not a captive portal's.
    package func verdict(
        _ status: Int,
        _ headers: HeaderFields,
        from answering: WebURL,
        rule: ModifierRules.AnswerRule,
        now: Timestamp,
        isOrigins: Bool = false
    ) -> ModifierVerdict {
        let head = ResponseHead(status: status, headers: headers, now: now)
        guard isOrigins || !isPortal(head, answering) else { return .captive }
        // The origin's, as nothing else can have sent it, and perhaps about something else.
        guard !isUnexpected(head, answering) else { return .unclear(.gateway) }
        switch status {
        case 202: return .accepted
        case 200..<300: return .confirmed(body(head, headers, answering, rule))
        case 300..<400: return .refused
        case 401, 407: return .authNeeded
        case 404 where method == "DELETE", 410 where method == "DELETE":
            return .confirmed(.none)
        case 408, 425: return .notNow(retryAfter: head.retryAfter)
        case 429: return .notNow(retryAfter: head.retryAfter, rest: head.rest ?? .zero)
        case 409, 412, 428: return .conflict(.look)
        case 400..<500: return .refused
        case 502, 504, 520, 522, 524: return .unclear(.gateway)
        case 501, 505: return .refused
        case 503:
            return .notNow(retryAfter: head.retryAfter, rest: head.rest, isSure: false)
        case 500..<600: return .serverFailed(retryAfter: head.retryAfter)
        // RFC 9110 15 allows no such status.
        case _: return .unclear(.gateway)
        }
    }

    private func isPortal(_ head: ResponseHead, _ answering: WebURL) -> Bool {
        if flight.captivePortal(head, from: answering) != nil { return true }
        // Over plain http a portal answers any method with 200 and its page.
        if head.isPage, !expectsHTML, !answering.isSecure { return true }
        guard (300..<400).contains(head.status), let location = head.location,
            case .refused(.captive) = flight.redirect(from: answering, to: location)
        else { return false }
        return true
    }

    private func isUnexpected(_ head: ResponseHead, _ answering: WebURL) -> Bool {
        if flight.expect == .json { return head.isPage || head.hasOtherThanJSON }
        return head.isPage && !expectsHTML && answering.isSecure
    }

    /// Whether the first bytes of a 2xx's body are none that the origin gives.
    ///
    /// The head decides about a body that says it is HTML.
    package func isUnexpected(_ body: [UInt8], _ headers: HeaderFields) -> Bool {
        let type = ResponseHead.essence(of: headers)
        guard !expectsHTML, !FlightRules.isHTML(type) else { return false }
        guard flight.expect == .json else { return FlightRules.isPage(startingWith: body) }
        let first = FlightRules.start(of: body).first
        return first.map { !"{[\"-0123456789tfn".contains($0) } ?? false
    }

    /// The target that the body of a 2xx represents (case 5).
    private func body(
        _ head: ResponseHead,
        _ headers: HeaderFields,
        _ answering: WebURL,
        _ rule: ModifierRules.AnswerRule
    ) -> ModifierVerdict.ConfirmedBody {
        // A deleted resource has no representation.
        guard method != "DELETE", head.status != 204, head.status != 205,
            head.contentLength != 0
        else { return .none }
        // With the Location of what was put, many servers send a word such as "Created".
        let isOfBytes = method == "PUT" && !ResponseHead.isJSON(essence)
        let places = [
            headers["Content-Location"],
            head.status == 201 && !isOfBytes ? head.location : nil,
        ]
        for place in places {
            if let target = place.flatMap({ target(at: $0, from: answering) }) {
                return .representation(of: target)
            }
        }
        let isSaid = headers.listed("Preference-Applied").contains { preference in
            preference.filter { $0 != "\"" } == "return=representation"
        }
        guard rule == .representation || isSaid, let own = ownTarget else { return .none }
        // A 201 to a POST represents what was created, and not the list that it was created in.
        let isCreation = head.status == 201 && method == "POST"
        if isCreation, let url = try? EntryID(flight.url), own == url { return .none }
        return .representation(of: own)
    }

    private func target(at place: String, from answering: WebURL) -> EntryID? {
        guard let url = try? answering.resolving(place), let id = try? EntryID(url) else {
            return nil
        }
        return targets.first { $0 == id }
    }

    /// Whether the body of a 2xx may give the value of a targeted entity (case 5).
    ///
    /// Then the rules find the entity's key in the body.
    package var mayShowEntity: Bool { method != "DELETE" && targets.contains(where: \.isEntity) }

    /// The target that the request's URL names, or the only one.
    private var ownTarget: EntryID? {
        if let id = try? EntryID(flight.url), targets.contains(id) { return id }
        let named = targets.filter { !implied.contains($0) }
        return named.count == 1 ? named.first : nil
    }
}

/// The facts of an unsettled modifier's row that decisions need.
///
/// The request and the effects are left out.
package struct ModifierRecord: Equatable, Sendable {
    package let number: ModifierNumber
    /// The user and account of its lanes and credentials.
    package let scope: Scope
    package let origin: OriginName
    /// The lanes of its targets and the named lane; a repeated lane counts once.
    package var lanes: [Lane]
    /// The modifiers that must be confirmed before it.
    ///
    /// Settled ones are left out, or named as failed.
    package var dependsOn: [ModifierNumber] = []
    /// The time of its acceptance; `answeredAt` is the time of its last answer.
    ///
    /// All its times are from the same clock. So the durations between them are right, even if the
    /// clock is wrong now.
    package var acceptedAt: Timestamp?
    package var answeredAt: Timestamp?
    package var holdUntil: Timestamp?
    package var expiresAt: Timestamp?
    /// The largest number of counted attempts; nil for any number.
    package var attemptsMax: Int?
    /// Whether it is sent again automatically after no clear answer
    /// (``ModifierRequest/resends(_:)``).
    package var resends: Bool
    /// Whether a person decides after each attempt without a clear answer (`after_unknown: hold`).
    package var holds = false
    /// Whether others may be joined to it, and whether it may be joined to another one (case 17).
    package var mayLead = false
    package var mayFollow = false
    /// Whether the origin's rule ends its conflict, also one that is being written
    /// (``ConflictRules/endsConflict(isChanged:)``).
    package var endsConflict = false
    /// The modifier whose request makes its changes, too.
    package var joinedInto: ModifierNumber?
    package var state = ModifierState.queued
    /// Whether the origin has confirmed it while it waits in `accepted` for a shared row to show
    /// it.
    package var isAnswered = false
    /// The number of counted attempts.
    package var attempts = 0
    /// The number of answers that said that it was not applied for now.
    package var answersNotApplied = 0
    package var isStalled = false
    /// The time of the next attempt; in `accepted` the time at which it counts as confirmed.
    package var nextAttemptAt: Timestamp?
    /// Whether bytes of it may have left in any attempt, counted or not.
    ///
    /// This is so if an attempt was counted, or if an answer is kept.
    package var mayHaveLeft = false
    /// Whether an attempt ended, or broke off, without a word that denies that it was applied.
    package var isPerhapsApplied = false

    package init(
        number: ModifierNumber,
        scope: Scope,
        origin: OriginName,
        lanes: [Lane],
        resends: Bool
    ) {
        self.number = number
        self.scope = scope
        self.origin = origin
        self.lanes = lanes
        self.resends = resends
    }
}

/// The meaning of an attempt's end for a modifier.
///
/// ``ModifierRequest/verdict(_:_:rule:now:)`` gives the verdict on an answer; the shell gives all
/// others.
package enum ModifierVerdict: Equatable, Sendable {
    /// Applied (cases 5, 6 and 20).
    case confirmed(ConfirmedBody)
    /// 202: taken, with no word about the result (case 7).
    case accepted
    /// Not applied for now (case 10); `rest` is how long the account has to wait, zero if the
    /// origin has not said how long.
    ///
    /// `isSure`: the status denies that the write was applied, so that it may be cancelled.
    case notNow(retryAfter: Duration?, rest: Duration? = nil, isSure: Bool = true)
    /// A 5xx that does not say whether the write was applied, which is unlikely (case 10).
    case serverFailed(retryAfter: Duration?)
    /// Refused permanently (case 11).
    case refused
    /// The origin has another version: 409, 412 or 428 (case 19).
    case conflict(ConflictRules.Step)
    /// 401, 407 (case 23).
    case authNeeded
    /// Not sent: the modifier was accepted under a credential, and there is none now (case 23).
    case noCredential
    /// Bytes left, and no clear answer came (case 22).
    case unclear(Unclear)
    /// A captive portal answered in the origin's place (case 25).
    case captive
    /// No byte can have left (case 9).
    case neverLeft

    /// The content of a 2xx body.
    package enum ConfirmedBody: Equatable, Sendable {
        /// The new value of this target, which becomes its base if possible.
        ///
        /// Any other target is as with ``none``.
        case representation(of: EntryID)
        /// The body represents no target: the effects make each new base from the one before.
        case none
    }

    package enum Unclear: Equatable, Sendable {
        /// 502, 504: a gateway before the origin answered for it.
        ///
        /// Cloudflare gives 520, 522 and 524 if it lost the server after the request left.
        case gateway
        /// The connection was lost, or nothing came in time.
        case lost
        /// A repeat was refused, which says nothing about the attempt before it.
        case refusedRepeat
    }

    /// Whether the origin has taken the write, by the answer's head.
    package var isTaken: Bool {
        switch self {
        case .confirmed, .accepted: true
        case .notNow, .serverFailed, .refused, .conflict, .authNeeded, .noCredential, .unclear,
            .captive, .neverLeft:
            false
        }
    }

    /// Whether the write may have been applied, so that it cannot be cancelled (case 18).
    var isPerhapsApplied: Bool {
        switch self {
        case .neverLeft, .captive, .authNeeded, .noCredential, .conflict,
            .notNow(_, _, isSure: true):
            false
        case .confirmed, .accepted, .serverFailed, .refused, .unclear, .notNow: true
        }
    }

    /// The same verdict after the origin's settings changed: a Retry-After no longer counts.
    var underOtherSettings: ModifierVerdict {
        switch self {
        case .notNow(_, _, let isSure): .notNow(retryAfter: nil, isSure: isSure)
        case .serverFailed: .serverFailed(retryAfter: nil)
        case .confirmed, .accepted, .refused, .conflict, .authNeeded, .noCredential, .unclear,
            .captive, .neverLeft:
            self
        }
    }
}
