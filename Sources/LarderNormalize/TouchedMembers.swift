package import LarderJSON
import LarderModel

/// The members of a target that writes change, each the first member of an effect's path.
///
/// An answer to an earlier request cannot change them (P-06).
package enum TouchedMembers: Equatable, Sendable {
    case members(Set<JSONName>)
    case all

    package static let none = TouchedMembers.members([])

    package init(_ effect: Effect) {
        switch effect {
        case .none: self = .none
        case .put, .replace, .delete: self = .all
        case .merge(.object(let members)): self = .members(Set(members.map { JSONName($0.name) }))
        case .merge: self = .all
        case .set(let assignments, let unset):
            self.init(pointers: assignments.map(\.pointer) + unset)
        case .patch(let operations): self.init(pointers: operations.flatMap(\.pointers))
        case .add(let additions): self.init(pointers: additions.map(\.pointer))
        case .listAdd(let changes), .listRemove(let changes):
            self.init(pointers: changes.map(\.pointer))
        case .all(let effects):
            self = effects.reduce(.none) { $0.union(TouchedMembers($1)) }
        }
    }

    package init(stored effect: [UInt8]) {
        self = (try? Effect(parsing: effect)).map { TouchedMembers($0) } ?? .all
    }

    private init(pointers: [JSONPointer]) {
        let tokens = pointers.compactMap(\.tokens.first)
        self = tokens.count < pointers.count ? .all : .members(Set(tokens.map { JSONName($0) }))
    }

    package mutating func formUnion(_ other: TouchedMembers) { self = union(other) }

    private func union(_ other: TouchedMembers) -> TouchedMembers {
        switch (self, other) {
        case (.members(let names), .members(let others)): .members(names.union(others))
        case (.all, _), (_, .all): .all
        }
    }

    package func isSubset(of other: TouchedMembers) -> Bool {
        switch (self, other) {
        case (_, .all): true
        case (.all, .members): false
        case (.members(let names), .members(let others)): names.isSubset(of: others)
        }
    }

    package func contains(_ name: @autoclosure () -> String) -> Bool {
        switch self {
        case .all: true
        case .members(let names): !names.isEmpty && names.contains(JSONName(name()))
        }
    }

    /// An answer with the touched members as they are in `base`.
    ///
    /// Nil if the answer has no other members, or if one of the two is not a JSON object.
    package func mix(_ answer: [UInt8], into base: [UInt8]) -> [UInt8]? {
        guard let came = (try? JSONValue(parsing: answer))?.members,
            let known = (try? JSONValue(parsing: base))?.members,
            came.contains(where: { !contains($0.name) })
        else { return nil }
        var left = Dictionary(
            known.filter { contains($0.name) }.map { (JSONName($0.name), $0) },
            uniquingKeysWith: { $1 }
        )
        var mixed = came.compactMap { member in
            contains(member.name) ? left.removeValue(forKey: JSONName(member.name)) : member
        }
        mixed += known.compactMap { left.removeValue(forKey: JSONName($0.name)) }
        return JSONValue.object(mixed).bytes
    }
}

extension JSONPatchOperation {
    fileprivate var pointers: [JSONPointer] {
        switch self {
        case .move(let from, let path), .copy(let from, let path): [from, path]
        case .add, .remove, .replace, .test: [path]
        }
    }
}
