/// What an answer shows of an entity, followed downward from one entity to the next.
extension Skeleton {
    /// Whether a list has one of these members.
    package func list(_ list: Int, hasAnyOf members: Set<[UInt8]>) -> Bool {
        guard lists.indices.contains(list) else { return false }
        return lists[list].members.contains { members.contains(name(ofMember: $0)) }
    }

    /// Where an entity is shown that one shown by a list refers to.
    ///
    /// - Parameters:
    ///   - members: The members in which that one refers to it.
    ///   - list: The list by which that one is shown.
    ///   - type: The type of the entity.
    /// - Returns: Whether the list has one of the members, and the lists by which the entity is shown
    ///   in them; none at a place where no entity was seen, as it is an object without members there.
    package func places(
        in members: [[UInt8]],
        of list: Int,
        type: [UInt8]
    ) -> (isListed: Bool, lists: Set<Int>) {
        guard lists.indices.contains(list) else { return (false, []) }
        var isListed = false
        var found: Set<Int> = []
        for member in lists[list].members where members.contains(name(ofMember: member)) {
            isListed = true
            if memberNodes[member] >= 0 {
                addLists(of: type, within: memberNodes[member], to: &found)
            }
        }
        return (isListed, found)
    }

    private func name(ofMember member: Int) -> [UInt8] {
        Array(bytes[names[memberNames[member]]])
    }

    /// The lists by which an entity of a type is shown at the places within a value: those of its
    /// type, else at a place all that there are.
    private func addLists(of type: [UInt8], within node: Int, to found: inout Set<Int>) {
        let here = nodeLists[nodes[node].lists]
        let ofType = here.filter { bytes[types[lists[$0].type]].elementsEqual(type) }
        found.formUnion(ofType.isEmpty ? Array(here) : ofType)
        for child in nodes[node].children {
            addLists(of: type, within: children[child], to: &found)
        }
    }
}
