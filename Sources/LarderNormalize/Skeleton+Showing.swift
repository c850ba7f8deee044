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
    ///   And how much was looked at for it.
    package func places(
        in members: [[UInt8]],
        of list: Int,
        type: [UInt8]
    ) -> (isListed: Bool, lists: Set<Int>, steps: Int) {
        guard lists.indices.contains(list) else { return (false, [], 1) }
        var isListed = false
        var found: Set<Int> = []
        // Equal nodes are one, so each is looked at once.
        var known: Set<Int> = []
        for member in lists[list].members where members.contains(name(ofMember: member)) {
            isListed = true
            if memberNodes[member] >= 0 {
                addLists(of: type, within: memberNodes[member], to: &found, &known)
            }
        }
        return (isListed, found, 1 + known.count + found.count)
    }

    private func name(ofMember member: Int) -> [UInt8] {
        Array(bytes[names[memberNames[member]]])
    }

    /// The lists by which an entity of a type is shown at the places within a value: those of its
    /// type, else at a place all that there are.
    private func addLists(
        of type: [UInt8],
        within node: Int,
        to found: inout Set<Int>,
        _ known: inout Set<Int>
    ) {
        var waiting = [node]
        while let node = waiting.popLast() {
            guard known.insert(node).inserted else { continue }
            let here = nodeLists[nodes[node].lists]
            let ofType = here.filter { bytes[types[lists[$0].type]].elementsEqual(type) }
            found.formUnion(ofType.isEmpty ? Array(here) : ofType)
            waiting += children[nodes[node].children]
        }
    }
}
