import LarderJSON
import LarderModel
import LarderStore
import LarderStrategy
import LarderWire

/// Finds the modifiers that one request can make (case 17).
struct Coalescing: Sendable {
    let context: EngineContext

    /// The modifiers of `followers` that are joined to one; nil if it is sent alone.
    ///
    /// Called on the writer's thread, in the transaction of the send step.
    func joined(
        _ followers: [ModifierNumber],
        _ reader: JoinableModifiers
    ) throws(StoreError) -> JoinedModifiers? {
        let (first, conflicts) = (reader.first, Conflicts(context: context))
        let rule = conflicts.rules(of: first.modifier).coalesce
        guard rule != .none, !followers.isEmpty, var group = JoinedWrites(first, context) else {
            return nil
        }
        var others: [WholeModifier] = []
        var groups = [group]
        for number in followers {
            guard let next = try reader.modifier(number), let write = DerivedWrite(next, context),
                first.modifier.isAlike(next.modifier)
            else { break }
            let base = try reader.base(of: write.target)
            guard !conflicts.isHeld(next, [write.target: base]), group.add(write, on: base) else {
                break
            }
            others.append(next)
            groups.append(group)
        }
        let count = try joinedCount(upTo: others.count, followers, reader)
        (others, group) = (Array(others.prefix(count)), groups[count])
        guard let last = others.last else { return nil }
        if rule == .net, let effect = group.effect, let id = last.modifier.targets.first {
            let document = context.origins.document(id, for: first.modifier.scope.uid)
            let values = TargetValues(try reader.base(of: id), of: id, [effect], document)
            if values.view([effect]).isInPlace { return JoinedModifiers(others, nil) }
        }
        return JoinedModifiers(others, group.request)
    }

    /// How many followers can be joined so that no other write depends on one of the group.
    ///
    /// All writes that depend on one are among the followers.
    private func joinedCount(
        upTo most: Int,
        _ followers: [ModifierNumber],
        _ reader: JoinableModifiers
    ) throws(StoreError) -> Int {
        guard most < followers.count else { return most }
        var parents: [[ModifierNumber]] = []
        for number in followers { parents.append(try reader.dependencies(of: number)) }
        let count = (0...most).last { count in
            let group = [reader.first.modifier.number] + followers.prefix(count)
            return !parents.dropFirst(count).contains { $0.contains(where: group.contains) }
        }
        return count ?? 0
    }
}

/// A modifier whose request follows from its one change.
struct DerivedWrite {
    let target: EntryID
    let effect: Effect

    init?(_ whole: WholeModifier, _ context: EngineContext) {
        let modifier = whole.modifier
        guard whole.changes.count == 1, let change = whole.changes.first,
            let effect = try? Effect(parsing: change.effect),
            let request = ModifierCommand.derivedRequest(for: change.id, effect),
            request.method == modifier.method, request.mediaType == modifier.mediaType,
            request.body == whole.body || Self.isSame(request.body, whole.body),
            (try? context.origins.derivedURL(of: change.id, at: modifier.origin)) == modifier.url
        else { return nil }
        (target, self.effect) = (change.id, effect)
    }

    private static func isSame(_ body: [UInt8], _ other: [UInt8]) -> Bool {
        guard let body = try? JSONValue(parsing: body), let other = try? JSONValue(parsing: other)
        else { return false }
        return body.isSame(as: other)
    }
}

/// The changes that the modifiers of a group make together.
struct JoinedWrites {
    private enum Form {
        case update(EntryID, Effect)
        /// A POST that has the members of an object, or some of them.
        case create(EntryID?, object: JSONValue, body: JSONValue)
        /// A thing is deleted that was not created at the origin.
        case nothing
    }

    private var form: Form
    private let mediaType: String?
    /// The objects that a POST may create.
    private let created: [EntryID: JSONValue]

    /// Nil for a modifier to which no other one can be joined.
    init?(_ whole: WholeModifier, _ context: EngineContext) {
        let modifier = whole.modifier
        mediaType = modifier.mediaType
        guard whole.body.count <= Limits.joinedBodyBytesMax else { return nil }
        guard modifier.method == "POST" else {
            guard let write = DerivedWrite(whole, context) else { return nil }
            created = [:]
            form = .update(write.target, write.effect)
            return
        }
        guard modifier.mediaType.map(MediaType.isAnyJSON) == true,
            let body = try? JSONValue(parsing: whole.body), case .object = body
        else { return nil }
        var created: [EntryID: JSONValue] = [:]
        for change in whole.changes where !change.isImplied {
            guard let effect = try? Effect(parsing: change.effect) else { return nil }
            if case .put(let value) = effect { created[change.id] = value }
            let uid = modifier.scope.uid
            for (id, object) in context.origins.placed(by: effect, in: change.id, for: uid) {
                created[id] = object
            }
        }
        self.created = created
        form = .create(nil, object: .null, body: body)
    }

    /// Joins the next one; false if that cannot be done.
    ///
    /// A thing is created only if nothing is known of it before.
    mutating func add(_ write: DerivedWrite, on base: TargetBase) -> Bool {
        let new: Form
        switch form {
        case .nothing: return false
        case .update(let target, let effect):
            guard target == write.target, let effect = effect.joined(with: write.effect) else {
                return false
            }
            new = .update(target, effect)
        case .create(let target, var object, let body):
            guard target ?? write.target == write.target, !base.isKnown else { return false }
            if target == nil {
                guard let said = created[write.target], body.isPart(of: said) else { return false }
                object = said
            }
            if write.effect == .delete {
                new = .nothing
                break
            }
            guard let after = write.effect.applied(toValue: object), case .object = after else {
                return false
            }
            let next = after.withoutUnsent(object, body)
            new = .create(write.target, object: after, body: next)
        }
        let before = form
        form = new
        guard let bytes = request?.body else { return true }
        if bytes.count <= Limits.joinedBodyBytesMax, IDReplacement.names(inJSON: bytes).isEmpty {
            return true
        }
        form = before
        return false
    }

    /// The one effect of all of them; nil if they create a thing.
    var effect: Effect? { if case .update(_, let effect) = form { effect } else { nil } }

    /// Nil if they need none.
    var request: JoinedRequest? {
        switch form {
        case .nothing: nil
        case .create(_, _, let body):
            JoinedRequest(method: "POST", mediaType: mediaType, body: body.bytes)
        case .update(let target, let effect):
            ModifierCommand.derivedRequest(for: target, effect)
        }
    }
}

extension ModifierCommand {
    fileprivate static func derivedRequest(
        for target: EntryID,
        _ effect: Effect
    ) -> JoinedRequest? {
        guard let request = derivedRequest(for: [Change(target: target, effect: effect)]) else {
            return nil
        }
        let body: [UInt8] = if case .bytes(let bytes) = request.body { bytes } else { [] }
        let type = request.headers["Content-Type"]
        return JoinedRequest(method: request.method, mediaType: type, body: body)
    }
}

extension StoredModifier {
    /// Whether another one is sent in the same way.
    fileprivate func isAlike(_ other: StoredModifier) -> Bool {
        headers == other.headers && credential == other.credential
            && attemptsMax == other.attemptsMax && afterUnknown == other.afterUnknown
            && ifMatch == other.ifMatch && onConflict == other.onConflict
    }
}

extension JSONValue {
    /// Whether an object has all members of this one.
    fileprivate func isPart(of object: JSONValue) -> Bool {
        guard case .object = object else { return false }
        return (members ?? []).allSatisfy { member in
            object[member.name]?.isSame(as: member.value) ?? false
        }
    }

    /// The object without the members that were only shown before, and have not changed.
    fileprivate func withoutUnsent(_ before: JSONValue, _ sent: JSONValue) -> JSONValue {
        .object(
            (members ?? []).filter { member in
                guard sent[member.name] == nil, let old = before[member.name] else { return true }
                return !old.isSame(as: member.value)
            }
        )
    }
}
