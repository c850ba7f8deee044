public import FoundationEssentials
import LarderJSON
import LarderModel

extension LarderClient {
    /// Changes the value of a URL locally, and on the server by a merge patch (RFC 7396).
    ///
    ///     try await larder.modify(url, as: Article.self) { $0.liked = true }
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
    ///   - url: Absolute, http or https, of a host that the daemon has an origin for.
    ///   - type: Type of the body.
    ///   - decoder: How dates, keys and the like are spelled.
    ///   - encoder: Encodes the changed value; it must use the same spelling as `decoder`.
    ///   - change: Changes the value.
    /// - Returns: The receipt of ``write(_:)``; nil if `change` altered nothing.
    /// - Throws: ``LarderError/miss(_:)`` if nothing is cached, ``LarderError/deleted(_:)`` if the
    ///   URL is gone, ``LarderError/decoding(id:reason:)`` if the body has another type,
    ///   ``LarderError/invalid(_:)`` for a change that a merge cannot express, and the errors of
    ///   ``write(_:)``.
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
