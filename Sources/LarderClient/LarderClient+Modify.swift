public import FoundationEssentials
import LarderJSON
import LarderModel

extension LarderClient {
    /// Changes what a URL shows: here at once, and on the server by a PATCH of what differs
    /// (RFC 7396), as soon as that can be sent.
    ///
    ///     try await larder.modify(url, as: Article.self) { $0.liked = true }
    ///
    /// What is cached is read, with what is still to be sent, and nobody is asked. Only members
    /// that `change` alters are sent; what the type does not know stays as it is. What a merge
    /// cannot say is refused: a member that becomes null, and a change of an array whose elements
    /// have members that the type does not know, as an array is sent as a whole.
    ///
    /// A number is sent as it is after the change. To have the server's counted on, write a
    /// ``Modifier`` with ``Modifier/Effect/add(_:)``.
    ///
    /// - Parameters:
    ///   - url: Absolute, http or https, of a host that the daemon has an origin for.
    ///   - type: What the body is.
    ///   - decoder: How dates, keys and the like are spelled.
    ///   - encoder: The same for what is sent; both must spell alike.
    ///   - change: Changes the value.
    /// - Returns: What was written, as by ``write(_:)``; nil where nothing was changed.
    /// - Throws: ``LarderError/miss(_:)`` where nothing is cached, ``LarderError/deleted(_:)`` where
    ///   it is gone, ``LarderError/decoding(id:reason:)`` where the body is something else,
    ///   ``LarderError/invalid(_:)`` for what a merge cannot say, and what ``write(_:)`` throws.
    @discardableResult
    public func modify<Value: Codable>(
        _ url: String,
        as type: Value.Type,
        decoder: JSONDecoder = JSONDecoder(),
        encoder: JSONEncoder = JSONEncoder(),
        _ change: (inout Value) -> Void
    ) async throws(LarderError) -> ModifierReceipt? {
        let id = try LarderError.checking(.badURL, url, WebURL.init(_:)).text
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

/// How a value that a program changed differs from what it was, as a merge says it (RFC 7396).
///
/// What is shown may have members that the program's type does not know. A merge leaves them as
/// they are, but for those within arrays, which it replaces as a whole: such a change is refused.
struct ValueDifference {
    let shown: JSONValue
    /// What the type makes of it.
    let before: JSONValue
    /// The same after the change.
    let after: JSONValue

    /// The merge; nil where nothing differs.
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

    /// A place within an array that differs where more is shown than the type knows.
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

    /// A place that is shown and not known; null counts as nothing.
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
