import LarderJSON
package import LarderModel

extension WatchFrame: StreamFrame {
    package var type: String {
        switch self {
        case .put: "put"
        case .delete: "delete"
        case .evict: "evict"
        case .modifier: "modifier"
        case .origin: "origin"
        case .auth: "auth"
        case .bookmark: "bookmark"
        case .lagged: "lagged"
        case .heartbeat: "heartbeat"
        case .end: "end"
        }
    }

    /// What a browser keeps as its `Last-Event-ID`.
    package var revision: Revision? { resumption }

    package var isHeartbeat: Bool { if case .heartbeat = self { true } else { false } }

    package func encodedJSON() -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("type", type)
            writeMembers(to: &json)
        }
        return json.bytes
    }

    private func writeMembers(to json: inout JSONWriter) {
        switch self {
        case .put(let event), .delete(let event):
            json.member("rev", event.revision.number)
            json.members(naming: event.id)
            json.member("source", event.source)
            if !event.changed.isEmpty { json.member("changed", event.changed.map(\.text)) }
            if let cause = event.cause { json.member("cause", cause) }
            if event.isOwn { json.member("self", true) }
            if event.coalesced > 1 { json.member("coalesced", event.coalesced) }
            if event.isInitial { json.member("initial", true) }
            if event.hasMore { json.member("more", true) }
        case .evict(let event):
            json.member("rev", event.revision.number)
            json.members(naming: event.id)
            json.member("reason", event.reason)
            if event.isOwn { json.member("self", true) }
            if event.hasMore { json.member("more", true) }
        case .modifier(let event):
            event.write(to: &json)
        case .origin(let revision, let name, let state):
            json.members(revision, name, state: state)
        case .auth(let revision, let name, let account, let state):
            json.member("rev", revision.number)
            json.member("origin", name.text)
            json.member("account", account.text)
            json.member("state", state)
        case .bookmark(let revision, let isInitialDone):
            json.member("rev", revision.number)
            if isInitialDone { json.member("initial_done", true) }
        case .lagged(let revision, let droppedAfter):
            json.member("rev", revision.number)
            json.member("dropped_after", droppedAfter.number)
        case .heartbeat(let revision):
            json.member("rev", revision.number)
        case .end(let ending, let revision):
            json.member("outcome", ending.rawValue)
            if let revision { json.member("rev", revision.number) }
        }
    }

    /// Reads one line, with or without its line feed; unknown members are ignored.
    package init(line: [UInt8]) throws(WireError) {
        let object = try WireObject(parsing: line)
        let type = try object.string("type")
        guard type != "end" else {
            let ending = try object.required("outcome") { Ending(rawValue: $0) }
            self = .end(ending, try object.optionalInteger("rev").map { Revision($0) })
            return
        }
        switch type {
        case "put": self = .put(try EntryEvent(object))
        case "delete": self = .delete(try EntryEvent(object))
        case "evict": self = .evict(try EvictionEvent(object))
        case "modifier": self = .modifier(try ModifierEvent(object))
        case "origin":
            let state = try object.string("state")
            self = .origin(try object.revision("rev"), try object.originName(), state: state)
        case "auth":
            let name = try object.originName()
            let account = try object.required("account") { try? AccountName($0) }
            let state = try object.string("state")
            self = .auth(try object.revision("rev"), name, account, state: state)
        case "bookmark":
            let isDone = try object.flag("initial_done")
            self = .bookmark(try object.revision("rev"), isInitialDone: isDone)
        case "lagged":
            let droppedAfter = try object.revision("dropped_after")
            self = .lagged(try object.revision("rev"), droppedAfter: droppedAfter)
        case "heartbeat": self = .heartbeat(try object.revision("rev"))
        default: throw .unknownFrame(type: type)
        }
    }
}

extension WatchFrame.EntryEvent {
    fileprivate init(_ object: WireObject) throws(WireError) {
        self.init(
            revision: try object.revision("rev"),
            id: try object.idOrKey(),
            source: try object.string("source"),
            cause: try object.optionalString("cause")
        )
        changed = (try object.optionalStrings("changed") ?? []).compactMap { try? EntityKey($0) }
        isOwn = try object.flag("self")
        coalesced = try object.optionalInteger("coalesced") ?? 1
        isInitial = try object.flag("initial")
        hasMore = try object.flag("more")
    }
}

extension WatchFrame.EvictionEvent {
    fileprivate init(_ object: WireObject) throws(WireError) {
        self.init(
            revision: try object.revision("rev"),
            id: try object.idOrKey(),
            reason: try object.string("reason")
        )
        isOwn = try object.flag("self")
        hasMore = try object.flag("more")
    }
}

extension WatchFrame.ModifierEvent {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("rev", revision.number)
        json.member("id", change.id.text)
        json.member("state", change.state.rawValue)
        if let reason = change.reason { json.member("reason", reason.rawValue) }
        if let mark = change.mark { json.member(mark.rawValue, true) }
        TargetList(change.targets).write(as: targetsName, to: &json)
        if !change.problem.isEmpty {
            json.name("problem")
            json.verbatim(change.problem)
        }
        if isOwn { json.member("self", true) }
        if hasMore { json.member("more", true) }
    }

    /// What it has changed and does no more is named apart.
    private var targetsName: String {
        switch change.state {
        case .dead, .cancelled: change.mark == .dropped ? "targets" : "reverted"
        case .held, .queued, .inFlight, .confirmed, .accepted, .retryWait, .unknown, .conflict,
            .authWait:
            "targets"
        }
    }

    fileprivate init(_ object: WireObject) throws(WireError) {
        let targets = try object.value("reverted") == nil ? "targets" : "reverted"
        change = ModifierChange(
            id: try object.required("id") { try? ModifierID($0) },
            state: try object.required("state") { ModifierState(rawValue: $0) },
            targets: try TargetList(object, targets).targets
        )
        revision = try object.revision("rev")
        change.reason = try object.optional("reason") { ModifierReason(rawValue: $0) }
        for mark in ModifierChange.Mark.allCases where try object.flag(mark.rawValue) {
            change.mark = mark
        }
        change.problem = object.bytes("problem") ?? []
        isOwn = try object.flag("self")
        hasMore = try object.flag("more")
    }
}

extension WatchReport {
    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("rev", revision.number)
            json.name("events")
            json.beginArray()
            for event in events { json.verbatim(event.encodedJSON()) }
            json.endArray()
        }
        return json.bytes
    }
}

extension WireObject {
    /// A member that is left out where it is false.
    fileprivate func flag(_ name: String) throws(WireError) -> Bool {
        guard try value(name) != nil else { return false }
        return try bool(name)
    }
}
