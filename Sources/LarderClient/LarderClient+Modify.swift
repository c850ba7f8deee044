public import FoundationEssentials
import LarderJSON
import LarderModel

extension LarderClient {
    /// Changes a value locally, and on the server by a merge patch (RFC 7396).
    ///
    ///     try await larder.modify(url, as: Article.self) { $0.liked = true }
    ///     try await larder.modify("entity:shop/User:7", as: User.self) { $0.name = "Ada" }
    ///
    /// The local value changes immediately. The daemon sends the patch as soon as it can.
    ///
    /// The client reads the cached value with the unsent changes, without the network. It sends
    /// only members that `change` alters; members that the type does not know stay. It refuses two
    /// changes that a merge cannot express:
    ///
    /// - a member that becomes null;
    /// - a change of an array whose elements have members that the type does not know, as a merge
    ///   replaces an array as a whole.
    ///
    /// The client sends a number as its new value. To add to the server's number, write a
    /// ``Modifier`` with ``Modifier/Effect/add(_:)``.
    ///
    /// - Parameters:
    ///   - id: A URL of a host that the daemon has an origin for, the id of an entity, or a
    ///     temporary id, such as ``CreatedEntity/id``.
    ///   - type: Type of the body.
    ///   - decoder: How dates, keys and the like are spelled.
    ///   - encoder: Encodes the changed value; it must use the same spelling as `decoder`.
    ///   - change: Changes the value.
    /// - Returns: The receipt of ``write(_:)``; nil if `change` altered nothing.
    /// - Throws: ``LarderError/miss(_:)`` if nothing is cached, ``LarderError/deleted(_:)`` if the
    ///   value is gone, ``LarderError/decoding(id:reason:)`` if the body has another type,
    ///   ``LarderError/invalid(_:)`` for a change that a merge cannot express and for a program's
    ///   own id, and the errors of ``write(_:)``.
    @discardableResult
    public func modify<Value: Codable>(
        _ id: String,
        as type: Value.Type,
        decoder: JSONDecoder = JSONDecoder(),
        encoder: JSONEncoder = JSONEncoder(),
        _ change: (inout Value) -> Void
    ) async throws(LarderError) -> ModifierReceipt? {
        let id = try entryID(id).description
        let body = try await entry(id).bytes
        var value = try decoder.decode(type, from: body, of: id)
        let before = try JSON(encoding: value, by: encoder)
        change(&value)
        let after = try JSON(encoding: value, by: encoder)
        let difference = ValueDifference(
            shown: try shown(body, of: id),
            before: before.value,
            after: after.value
        )
        guard let merge = try difference.merge() else { return nil }
        return try await write(Modifier(.merge(JSON(merge)), on: id))
    }

    private func shown(_ body: [UInt8], of id: String) throws(LarderError) -> JSONValue {
        do throws(JSONError) {
            return try JSONValue(parsing: body)
        } catch {
            throw .decoding(id: id, reason: error.message)
        }
    }
}

/// The difference between a value before and after a change, as a merge patch (RFC 7396).
///
/// The cached value may have members that the program's type does not know. A merge keeps them,
/// except in arrays, which it replaces as a whole. So a change that would lose them is refused.
struct ValueDifference {
    let shown: JSONValue
    /// The value before the change, encoded from the type.
    let before: JSONValue
    /// The value after the change, encoded from the type.
    let after: JSONValue

    /// The merge; nil if the values are equal.
    func merge() throws(LarderError) -> JSONValue? {
        guard !before.isSame(as: after) else { return nil }
        guard let merge = before.mergePatch(to: after) else {
            throw Self.refusal("it makes a member null, which a merge removes")
        }
        if let place = Self.loss(shown, before, after, .whole) {
            throw Self.refusal(
                "what is shown has '\(place.text)', which the type does not know and a merge of "
                    + "the array around it would remove"
            )
        }
        return merge
    }

    private static func refusal(_ reason: String) -> LarderError {
        .problem(
            Problem(
                .badRequest,
                "the change cannot be sent as a merge: \(reason)",
                hint: "Write a modifier with the effect put, set or patch."
            )
        )
    }

    /// A place in a changed array with a member that the type does not know.
    private static func loss(
        _ shown: JSONValue,
        _ before: JSONValue,
        _ after: JSONValue,
        _ place: JSONPointer
    ) -> JSONPointer? {
        if case .array = before, case .array = after {
            return before.isSame(as: after) ? nil : unknown(in: shown, knownAs: before, place)
        }
        guard let members = before.members, after.members != nil else { return nil }
        let (shown, after) = (byName(shown), byName(after))
        for member in members {
            let name = JSONName(member.name)
            guard let inner = shown[name], let wanted = after[name] else { continue }
            let place = place.appending(member.name)
            if let found = loss(inner, member.value, wanted, place) { return found }
        }
        return nil
    }

    /// A place in the cached value that the type does not know; null members do not count.
    private static func unknown(
        in shown: JSONValue,
        knownAs known: JSONValue,
        _ place: JSONPointer
    ) -> JSONPointer? {
        if let elements = shown.elements, let knownElements = known.elements {
            for (index, element) in elements.enumerated() {
                let place = place.appending(String(index))
                guard index < knownElements.count else { return place }
                let found = unknown(in: element, knownAs: knownElements[index], place)
                if let found { return found }
            }
        }
        guard let members = shown.members, known.members != nil else { return nil }
        let knownMembers = byName(known)
        for member in members where !member.value.isNull {
            let place = place.appending(member.name)
            guard let inner = knownMembers[JSONName(member.name)] else { return place }
            if let found = unknown(in: member.value, knownAs: inner, place) { return found }
        }
        return nil
    }

    private static func byName(_ value: JSONValue) -> [JSONName: JSONValue] {
        let members = (value.members ?? []).map { (JSONName($0.name), $0.value) }
        return Dictionary(members, uniquingKeysWith: { $1 })
    }
}

/// A thing that was created here, and gets its id from the server.
public struct CreatedEntity: Equatable, Sendable {
    /// Id of the entity, with a temporary key: `entity:ORIGIN/TYPE:tmp:UUID`.
    ///
    /// Reads and writes take it for as long as it is used, also after the server gave the real id.
    public let id: String
    /// Text for the server's id in URLs and JSON bodies of other writes: `{{id:tmp:UUID}}`.
    public let placeholder: String
    /// Receipt of the write that creates the entity.
    public let receipt: ModifierReceipt
}

extension LarderClient {
    /// Creates an entity here, and on the server by a request.
    ///
    ///     let eggs = try await larder.create(
    ///         "Todo",
    ///         of: "shop",
    ///         ["type": "Todo", "title": "eggs"],
    ///         by: .init("POST", "https://api.example.com/todos", body: ["title": "eggs"])
    ///     )
    ///     try await larder.write(Modifier(.merge(["done": true]), on: eggs.id))
    ///
    /// The entity shows immediately under ``CreatedEntity/id``. Writes that name this id wait for
    /// the id that the server gives. The daemon then puts the real id in place of the temporary
    /// one, and sends them. With `list` the entity also shows in the cached answer of the request's
    /// URL, as the last row of a list.
    ///
    /// - Parameters:
    ///   - type: Type of the entity, by the rules of the origin.
    ///   - origin: Name of the origin.
    ///   - value: A JSON object.
    ///   - request: Creates the entity on the server; it cannot name the id.
    ///   - list: JSON pointer of the list, such as `/items`; nil: no list.
    ///   - key: Member that has the id in a row of the list.
    /// - Returns: The entity with its temporary id, and the receipt of the write.
    /// - Throws: As ``write(_:)``.
    public func create(
        _ type: String,
        of origin: String,
        _ value: JSON,
        by request: ModifierRequestCommand,
        into list: String? = nil,
        key: String = "id"
    ) async throws(LarderError) -> CreatedEntity {
        let name = "tmp:\(time.generateID())"
        let entity = EntityKey(type: type, id: name)?.text ?? "\(type):\(name)"
        let id = "\(EntryID.entityScheme)\(origin)/\(entity)"
        var modifier = Modifier(.put(value), on: id, request: request)
        if let list {
            let others = (value.value.members ?? []).filter { $0.name != key }
            let row = JSON(.object(others + [JSONMember(name: key, value: .string(name))]))
            modifier.changes = [
                .init(.put(row), on: id), .init(.listAdd([list: [row]]), on: request.url),
            ]
        }
        let receipt = try await write(modifier)
        return CreatedEntity(id: id, placeholder: "{{id:\(name)}}", receipt: receipt)
    }

    /// The id of a created entity, with the key that the server gave it.
    ///
    /// - Parameters:
    ///   - created: The entity.
    ///   - wait: Time in which the server has to answer.
    /// - Returns: Nil while the server has not given an id, or if it refused the entity.
    /// - Throws: The errors of ``LarderClient/modifier(_:waitingFor:)``.
    public func realID(
        of created: CreatedEntity,
        waitingFor wait: Duration? = nil
    ) async throws(LarderError) -> String? {
        let report = try await modifier(created.receipt.id, waitingFor: wait)
        let id = report.targets.first?.id
        return id == created.id ? nil : id
    }
}

/// The current state of an observed URL; see ``LarderClient/observe(_:as:options:decoder:)``.
public struct Observed<Value: Sendable>: Sendable {
    /// The value; nil if nothing is known yet, or if the origin has deleted it.
    public let value: Value?
    /// Whether the origin has deleted the value.
    public let isDeleted: Bool
    /// Whether the value is past its lifetime.
    public let isStale: Bool
    /// Failure of the network, the origin or the daemon that prevents an update; nil: none.
    public let error: LarderError?
    /// Number of unsent changes of this device that the value shows.
    public let pending: Int
    /// Number of changes of this device that failed on the value.
    public let failed: Int
    /// Entities in the value on which changes of this device wait or have failed.
    public let rows: [SnapshotRow]
    /// Entities that failed changes would have put into the value, as they were written.
    public let failedRows: [FailedRow]
}

/// Turns the updates of a follower into states.
struct ObservedState<Value: Sendable> {
    private var shown: TypedSnapshot<Value>?
    private var isDeleted = false
    private var isStale = false
    private var error: LarderError?

    /// The new state after an update; nil if the update changes nothing.
    mutating func updateArrived(
        _ update: FollowUpdate<TypedSnapshot<Value>>
    ) -> Observed<Value>? {
        switch update {
        case .value(let snapshot):
            shown = snapshot
            isDeleted = false
            isStale = snapshot.isStale
            error = nil
        case .unchanged:
            guard isStale || error != nil else { return nil }
            isStale = false
            error = nil
        case .deleted:
            shown = nil
            isDeleted = true
            isStale = false
            error = nil
        case .origin(let origin) where origin.state == .online:
            guard case .offline = error else { return nil }
            error = nil
        case .origin(let origin):
            guard error == nil, origin.state != .unknown else { return nil }
            error = .problem(
                Problem(
                    origin.state == .captive ? .captive : .unreachable,
                    "the origin '\(origin.origin)' is \(origin.state)"
                )
            )
        case .failed(let problem):
            error = .problem(problem)
        case .disconnected(let reason):
            error = reason
        }
        return Observed(
            value: shown?.value,
            isDeleted: isDeleted,
            isStale: isStale,
            error: error,
            pending: shown?.snapshot.pending ?? 0,
            failed: shown?.snapshot.failed ?? 0,
            rows: shown?.snapshot.rows ?? [],
            failedRows: shown?.snapshot.failedRows ?? []
        )
    }
}

/// The states of one URL: the current one, then one after each change.
///
/// The iteration connects again and ends like ``FollowedUpdates``.
public struct ObservedValues<Value: Sendable>: AsyncSequence, Sendable {
    let updates: FollowedUpdates<TypedSnapshot<Value>>

    /// Asks the daemon at the first call of `next()`.
    public func makeAsyncIterator() -> ClientIterator<Observed<Value>> {
        var received = updates.makeAsyncIterator()
        var state = ObservedState<Value>()
        return ClientIterator { () async throws(LarderError) in
            while let update = try await received.next() {
                if let observed = state.updateArrived(update) { return observed }
            }
            return nil
        }
    }
}
