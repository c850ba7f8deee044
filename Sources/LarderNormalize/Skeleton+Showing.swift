/// Search for the members of an entity that an answer shows, from one entity down to the next.
extension Skeleton {
    /// Whether a list has one of these members.
    package func list(_ list: Int, hasAnyOf members: Set<[UInt8]>) -> Bool {
        guard lists.indices.contains(list) else { return false }
        return lists[list].members.contains { members.contains(name(ofMember: $0)) }
    }

    /// Finds where an answer shows an entity that another entity refers to.
    ///
    /// - Parameters:
    ///   - members: The members in which the other entity refers to it.
    ///   - list: The list that shows the other entity.
    ///   - type: The type of the entity.
    /// - Returns: Whether the list has one of the members, the lists that show the entity in them,
    ///   and the steps of the search. A place where no entity was seen has no list: it shows `{}`.
    package func places(
        in members: [[UInt8]],
        of list: Int,
        type: [UInt8]
    ) -> (isListed: Bool, lists: Set<Int>, steps: Int) {
        guard lists.indices.contains(list) else { return (false, [], 1) }
        var isListed = false
        var found: Set<Int> = []
        // Equal nodes are stored once, so the search visits each once.
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

    /// Adds the lists that show an entity of a type within a value.
    ///
    /// At each place these are the lists of its type, or else all lists.
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
