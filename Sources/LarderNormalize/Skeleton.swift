/// Shape of an answer: where its entities are, and which members were seen there in which layout.
///
/// Answers of the same shape share one skeleton.
///
/// # Terms
///
/// - *node*: a place of the selection tree. A step leads from it to the value of a member, or to
///   the elements of a list: all elements share one step. An embedded value has nodes only if an
///   entity is in it.
/// - *list*: the members that entities of one type were seen with at a node, each with the node of
///   its value.
/// - *shape*: a layout of the members of a list: their order, and the bytes between their values,
///   with names, punctuation and white space. Entities of a shape do not have the members of the
///   list that the shape leaves out.
///
/// The tree is finite for any references of the entities: a rebuild never leaves it.
///
/// # Stored form
///
/// ```
/// types   n × text              names   n × text
/// lists   n × (type, n × (name, node + 1 or 0))
/// nodes   n × (n × (name + 1 or 0, node), n × list)     the last one is the root
/// shapes  n × (list, n × member, n + 1 × piece)
/// ```
///
/// Each row refers only to rows before it, so that the tree cannot lead back into itself.
package final class Skeleton: Sendable {
    struct Node: Sendable {
        let children: Range<Int>
        let lists: Range<Int>
    }

    struct List: Sendable {
        let type: Int
        /// Of `memberNames` and `memberNodes`.
        let members: Range<Int>
    }

    struct Shape: Sendable {
        let list: Int
        /// Range in `positions`; its pieces start at `firstPiece` and are one more.
        let positions: Range<Int>
        let firstPiece: Int
        /// Whether it has each member of its list.
        let hasAll: Bool
    }

    /// The stored form.
    package let bytes: [UInt8]
    let types: [Range<Int>]
    let names: [Range<Int>]
    let lists: [List]
    let memberNames: [Int]
    /// -1 where no entity was seen in the value.
    let memberNodes: [Int]
    let nodes: [Node]
    /// -1 for the elements of a list.
    let steps: [Int]
    let children: [Int]
    let nodeLists: [Int]
    let shapes: [Shape]
    /// The members of the shape's list, counted from its first.
    let positions: [Int]
    /// Whether the member comes later in the same shape again.
    let isRepeated: [Bool]
    let pieces: [Range<Int>]

    /// Reads the stored form.
    package init(_ bytes: [UInt8]) throws(NormalizeError) {
        var reading = SkeletonReading()
        try bytes.withFormBytes { (buffer) throws(NormalizeError) in try reading.all(buffer) }
        self.bytes = bytes
        types = reading.types
        names = reading.names
        lists = reading.lists
        memberNames = reading.memberNames
        memberNodes = reading.memberNodes
        nodes = reading.nodes
        steps = reading.steps
        children = reading.children
        nodeLists = reading.nodeLists
        shapes = reading.shapes
        positions = reading.positions
        isRepeated = reading.isRepeated
        pieces = reading.pieces
    }
}

extension Skeleton {
    /// The node of the whole answer.
    var root: Int { nodes.count - 1 }

    /// How many lists it has; a ``Reference`` names them by their numbers.
    package var listCount: Int { lists.count }

    /// The members that entities of a type were seen with at a place, for watchers and `explain`.
    package func memberNames(ofList list: Int) -> [String]? {
        guard lists.indices.contains(list) else { return nil }
        return lists[list].members.map {
            String(decoding: bytes[names[memberNames[$0]]], as: UTF8.self)
        }
    }
}
