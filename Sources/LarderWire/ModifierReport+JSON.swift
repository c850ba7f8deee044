import LarderJSON
import LarderModel

extension ModifierReport {
    package var byteCount: Int {
        effects.reduce(0) { $0 + $1.before.byteCount + $1.after.byteCount }
    }

    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.object { write(to: &$0) }
        return json.bytes
    }

    package init(decoding bytes: [UInt8]) throws(WireError) {
        try self.init(WireObject(parsing: bytes))
    }

    func write(to json: inout JSONWriter) {
        json.member("id", id.text)
        json.member("state", state.rawValue)
        json.member("reason", reason?.rawValue)
        json.member("marks", marks.map(\.rawValue))
        json.member("lanes", lanes.map(\.text))
        let targetList = TargetList(targets)
        targetList.write(as: "targets", to: &json)
        json.member("request") { json in
            json.member("method", method)
            json.member("url", url)
            json.member("body_bytes", bodyByteCount)
            json.member("idempotency_key", idempotencyKey)
        }
        json.member("attempts", attempts)
        json.member("next_attempt_at", nextAttemptAt?.rfc3339)
        if let waitingFor { json.member("waiting_for") { waitingFor.write(to: &$0) } }
        if let answer { json.member("answer") { answer.write(to: &$0) } }
        json.member("dependants", dependants.map(\.text))
        json.member("uid", uid)
        json.member("account", account.text)
        json.member("accepted_at", acceptedAt.rfc3339)
        json.member("settled_at", settledAt?.rfc3339)
        json.member("rev", revision.number)
        guard !effects.isEmpty else { return }
        for (name, view) in [("before", \Effect.before), ("after", \Effect.after)] {
            json.member(name) { json in
                for effect in effects {
                    json.name(targetList.name(of: effect.target))
                    effect[keyPath: view].write(to: &json)
                }
            }
        }
    }

    init(_ object: WireObject) throws(WireError) {
        let request = try object.object("request")
        self.init(
            id: try object.required("id") { try? ModifierID($0) },
            state: try object.required("state") { ModifierState(rawValue: $0) },
            method: try request.string("method"),
            url: try request.string("url"),
            bodyByteCount: try request.integer("body_bytes"),
            idempotencyKey: try request.string("idempotency_key"),
            attempts: try object.integer("attempts"),
            uid: try object.integer("uid"),
            account: try object.required("account") { try? AccountName($0) },
            acceptedAt: try object.timestamp("accepted_at"),
            revision: try object.revision("rev")
        )
        reason = try object.optional("reason") { ModifierReason(rawValue: $0) }
        marks = try object.strings("marks").compactMap(Mark.init(rawValue:))
        lanes = try object.strings("lanes").compactMap { try? Lane($0) }
        let targetList = try TargetList(object, "targets")
        targets = targetList.targets
        nextAttemptAt = try object.optionalTimestamp("next_attempt_at")
        waitingFor = try object.optionalObject("waiting_for").map { wait throws(WireError) in
            try Wait(wait)
        }
        answer = try object.optionalObject("answer").map { answer throws(WireError) in
            try Answer(answer)
        }
        dependants = try object.strings("dependants").compactMap { try? ModifierID($0) }
        settledAt = try object.optionalTimestamp("settled_at")
        guard let before = try object.optionalObject("before"),
            let after = try object.optionalObject("after")
        else { return }
        for name in before.names {
            guard let target = targetList.target(named: name) else { continue }
            effects.append(
                Effect(
                    target: target,
                    before: try ViewReport(before.object(name)),
                    after: try ViewReport(after.object(name))
                )
            )
        }
    }
}

extension ModifierReport.Wait {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("reason", reason)
        json.member("name", name)
        json.member("until", until?.rfc3339)
    }

    fileprivate init(_ object: WireObject) throws(WireError) {
        self.init(
            reason: try object.string("reason"),
            name: try object.optionalString("name"),
            until: try object.optionalTimestamp("until")
        )
    }
}

extension ModifierReport.Answer {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("status", status)
        json.member("at", at.rfc3339)
        json.member("body", quoting: body)
        json.member("unclear_status", unclearStatus)
    }

    fileprivate init(_ object: WireObject) throws(WireError) {
        self.init(
            status: try object.integer("status"),
            body: try object.optionalQuote("body") ?? [],
            at: try object.timestamp("at"),
            unclearStatus: try object.optionalInteger("unclear_status")
        )
    }
}

extension ModifierReport {
    /// Several, in the order in which they were given: the member `modifiers`.
    package static func encoded(_ reports: [ModifierReport]) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.name("modifiers")
            json.beginArray()
            for report in reports { json.object { report.write(to: &$0) } }
            json.endArray()
        }
        return json.bytes
    }
}

/// One page of modifiers.
package struct ModifierPage: Equatable, ReportPage {
    package var items: [ModifierReport]
    /// What to give as `cursor` for the page after this one; nil on the last.
    package var next: String?

    package init(items: [ModifierReport], next: String?) {
        self.items = items
        self.next = next
    }

    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.name("items")
            json.beginArray()
            for item in items { json.object { item.write(to: &$0) } }
            json.endArray()
            json.member("next", next)
        }
        return json.bytes
    }

    package init(decoding bytes: [UInt8]) throws(WireError) {
        let object = try WireObject(parsing: bytes)
        items = []
        for item in try object.objects("items") { items.append(try ModifierReport(item)) }
        next = try object.optionalString("next")
    }
}
