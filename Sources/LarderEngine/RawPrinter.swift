package import LarderModel
package import LarderStore
import LarderStrategy
package import LarderWire

/// Prints what a session says first as one HTTP answer, that of the raw routes.
struct RawPrinter: FetchPrinter {
    let clock: any EngineClock
    let url: WebURL
    let rules: RawRules
    let conditions: RawConditions
    private(set) var reply: RawReply?

    mutating func print(_ word: FetchWord, beside cached: ShownAnswer?) async -> Bool {
        switch word {
        case .shown(let answer, let body, let occasion):
            reply = .answer(self.answer(answer, body, occasion, cached))
        case .passed(let head, let body):
            reply = .answer(passed(head, body, forwarded(cached, status: head.status)))
        case .deleted(let frame, let occasion):
            let isByModifier = frame.source == .modifier
            let problem = isByModifier ? .deleted(url.text, by: .modifier) : gone(frame.status)
            refuse(problem, status(occasion, cached))
        case .refusedAsDeleted(let code): refuse(gone(code), forwarded(cached, status: code))
        case .refusedAsMiss:
            let problem = Problem(.miss, "nothing is cached for \(url)", status: 504)
            refuse(problem, CacheStatus(.none, detail: problem.kind.rawValue))
        case .refused(.refused(let refusal, _)), .failed(.refused(let refusal, _)):
            let status = forwarded(cached, status: refusal.status)
            let fields = RawFields.passingOn(refusal.headers, status).adding(refusal.cookies)
            let body = RawAnswer.Body.bytes(refusal.body)
            reply = .answer(RawAnswer(status: refusal.status, fields: fields, body: body))
        case .refused(let failure), .failed(let failure):
            refuse(failure.problem, status(.failure(failure), cached))
        // They come behind something else, or to those who follow.
        case .unchanged, .origin, .heartbeat, .end: break
        }
        return false
    }

    private func answer(
        _ answer: ShownAnswer,
        _ body: RawAnswer.Body,
        _ occasion: FetchWord.Occasion,
        _ cached: ShownAnswer?
    ) -> RawAnswer {
        let entry = answer.entry
        let pending = answer.overlay.pending.count
        var fields = RawFields.of(
            entry,
            status(occasion, cached),
            pending: pending,
            now: clock.now()
        )
        if case .network(_, _, let cookies) = occasion { fields = fields.adding(cookies) }
        return conditional(
            RawAnswer(status: entry.status, fields: fields, body: body),
            entity: entry.entityTag,
            lastModified: entry.lastModified
        )
    }

    private func passed(
        _ head: PassedHead,
        _ body: PassedBody,
        _ status: CacheStatus
    ) -> RawAnswer {
        conditional(
            RawAnswer(
                status: head.status,
                fields: RawFields.passingOn(head.headers, status).adding(head.cookies),
                body: .passed(body, byteCount: head.byteCount)
            ),
            entity: head.headers["ETag"],
            lastModified: head.headers["Last-Modified"]
        )
    }

    private func conditional(
        _ answer: RawAnswer,
        entity tag: String?,
        lastModified: String?
    ) -> RawAnswer {
        let isMet = conditions.isMet(
            status: answer.status,
            entityTag: tag,
            lastModified: lastModified,
            now: clock.now()
        )
        return isMet ? RawAnswer(status: 304, fields: answer.fields, body: .empty) : answer
    }

    private func status(_ occasion: FetchWord.Occasion, _ cached: ShownAnswer?) -> CacheStatus {
        switch occasion {
        case .cache(let reason): return CacheStatus(.hit, detail: reason)
        case .failure(let failure):
            var status = forwarded(cached, status: failure.status)
            // The status says it where the origin has spoken.
            if case .problem(let problem) = failure { status.detail = problem.kind.rawValue }
            return status
        case .network(let code, let isStored, _):
            var status = forwarded(cached, status: code)
            status.isStored = isStored
            return status
        }
    }

    private func forwarded(_ cached: ShownAnswer?, status: Int?) -> CacheStatus {
        let reason: CacheStatus.Reason =
            switch cached?.entry {
            case let entry? where entry.kind == .fetched:
                entry.isStale(at: clock.now()) ? .stale : rules.asksNetwork ? .request : .bypass
            case .some, nil: .nothingCached
            }
        return CacheStatus(.forwarded(reason, status: status))
    }

    private func gone(_ status: Int) -> Problem {
        var problem = Problem(.deleted, "the origin says that \(url) is gone", status: status)
        problem.originStatus = status
        return problem
    }

    private mutating func refuse(_ problem: Problem, _ status: CacheStatus) {
        var fields = HeaderFields()
        fields.append("Cache-Status", status.text)
        reply = .problem(problem, fields)
    }
}

extension HeaderFields {
    fileprivate func adding(_ others: HeaderFields) -> HeaderFields {
        var fields = self
        for field in others.fields { fields.append(field.name, field.value) }
        return fields
    }
}

package enum RawReply {
    case answer(RawAnswer)
    case problem(Problem, HeaderFields)
}

package struct RawAnswer {
    package enum Body {
        /// None, or more than a frame shows.
        case empty
        case bytes([UInt8])
        case stored(BodyReader)
        /// It comes from the origin as it is read; its length if the origin announced one.
        case passed(PassedBody, byteCount: Int64?)
    }

    package var status: Int
    /// Everything but the length.
    package var fields: HeaderFields
    package var body: Body
}
