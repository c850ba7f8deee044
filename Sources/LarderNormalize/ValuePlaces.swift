import LarderJSON

/// Nodes of the selection tree for the references of one value, for references without a slot.
struct ValuePlaces {
    private var nodes: [[Int]] = []
    /// How many places were looked at for it.
    private(set) var visits = 0
    private let visitsMax: Int

    /// Begins at the nodes of the value itself, which are several where lists were united.
    ///
    /// It ends early when it has looked at more than `visitsMax` places.
    init(
        _ value: EntityBody.Member,
        of body: EntityBody,
        at roots: [Int],
        _ selection: SelectionPlaces,
        visitsMax: Int
    ) {
        self.visitsMax = visitsMax
        let text = body.bytes.withUnsafeBytes {
            PlaceholderJSON($0.part(value.value), hasReferences: value.hasReferences)
        }
        guard let text else { return }
        nodes = Array(repeating: [], count: text.keys.count)
        visit(0, text, at: roots, selection)
    }

    /// The nodes of a reference, by its number in the value.
    func nodes(of reference: Int) -> [Int] {
        reference < nodes.count ? nodes[reference] : []
    }

    private mutating func visit(
        _ item: Int,
        _ text: PlaceholderJSON,
        at places: [Int],
        _ selection: SelectionPlaces
    ) {
        visits += 1 + places.count
        guard !places.isEmpty, visits <= visitsMax else { return }
        if let placeholder = text.placeholder(at: item) {
            nodes[placeholder] = places
            return
        }
        let value = text.tape.items[item]
        switch value.kind {
        case .beginArray:
            let inner = selection.children(of: places, -1)
            for child in text.tape.children(of: item) {
                visit(child, text, at: inner, selection)
            }
        case .beginObject:
            for child in text.tape.children(of: item) {
                let name = text.bytes.withUnsafeBytes { text.tape.name(of: child, in: $0) }
                guard visits <= visitsMax, let number = selection.number(ofName: name) else {
                    continue
                }
                visits += places.count
                visit(child, text, at: selection.children(of: places, number), selection)
            }
        case .string, .number, .true, .false, .null, .name, .endArray, .endObject: return
        }
    }
}

/// Where the steps of a skeleton's selection tree lead, in tables.
struct SelectionPlaces {
    private struct Step: Hashable {
        let node: Int
        let step: Int
    }

    private let names: [[UInt8]: Int]
    private var children: [Step: Int] = [:]

    init(_ skeleton: Skeleton) {
        names = Dictionary(
            skeleton.names.enumerated().map { (Array(skeleton.bytes[$1]), $0) },
            uniquingKeysWith: { first, _ in first }
        )
        for (number, node) in skeleton.nodes.enumerated() {
            for index in node.children {
                children[Step(node: number, step: skeleton.steps[index])] = skeleton.children[index]
            }
        }
    }

    /// The nodes to which a step leads from some.
    func children(of places: [Int], _ step: Int) -> [Int] {
        places.compactMap { children[Step(node: $0, step: step)] }
    }

    func number(ofName name: [UInt8]) -> Int? { names[name] }
}

/// The members that show an entity without a slot: from the lists of its type, or else from all.
struct ListUnion {
    struct Member {
        /// The number of its name.
        let name: Int
        /// The nodes of its value.
        var nodes: [Int]
    }

    /// Where it is asked for, and for which type.
    struct JSONPath: Hashable {
        let nodes: [Int]
        let type: [UInt8]
    }

    private struct Edge: Hashable {
        let member: Int
        let node: Int
    }

    private(set) var members: [Member] = []
    /// How many lists and members were looked at for it.
    private(set) var visits: Int

    init(_ skeleton: Skeleton, at place: JSONPath) {
        let all = place.nodes.flatMap { skeleton.nodeLists[skeleton.nodes[$0].lists] }
        let own = all.filter {
            skeleton.bytes[skeleton.types[skeleton.lists[$0].type]].elementsEqual(place.type)
        }
        visits = all.count
        var places: [Int: Int] = [:]
        var edges: Set<Edge> = []
        for list in own.isEmpty ? all : own {
            visits += skeleton.lists[list].members.count
            for index in skeleton.lists[list].members {
                let name = skeleton.memberNames[index]
                let node = skeleton.memberNodes[index]
                let place = places[name] ?? members.count
                if place == members.count {
                    places[name] = place
                    members.append(Member(name: name, nodes: []))
                }
                if node >= 0, edges.insert(Edge(member: place, node: node)).inserted {
                    members[place].nodes.append(node)
                }
            }
        }
    }
}
