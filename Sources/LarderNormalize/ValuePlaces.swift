import LarderJSON

/// Where in the selection tree the references of one value stand: for entities that have not stood
/// there before, as the others have slots.
struct ValuePlaces {
    private var nodes: [[Int]] = []

    /// Begins at the nodes of the value itself, which are several where lists were united.
    init(_ value: EntityBody.Member, of body: EntityBody, at roots: [Int], _ skeleton: Skeleton) {
        let text = body.bytes.withUnsafeBytes {
            HoledText($0.part(value.value), hasReferences: value.hasReferences)
        }
        guard let text else { return }
        nodes = Array(repeating: [], count: text.keys.count)
        visit(0, text, at: roots, skeleton)
    }

    /// The nodes of a reference, by its number in the value.
    func nodes(of reference: Int) -> [Int] {
        reference < nodes.count ? nodes[reference] : []
    }

    private mutating func visit(
        _ item: Int,
        _ text: HoledText,
        at places: [Int],
        _ skeleton: Skeleton
    ) {
        guard !places.isEmpty else { return }
        if let hole = text.hole(at: item) {
            nodes[hole] = places
            return
        }
        let value = text.tape.items[item]
        switch value.kind {
        case .beginArray:
            let inner = skeleton.children(of: places, -1)
            for child in text.tape.children(of: item) {
                visit(child, text, at: inner, skeleton)
            }
        case .beginObject:
            for child in text.tape.children(of: item) {
                let name = text.bytes.withUnsafeBytes { text.tape.name(of: child, in: $0) }
                guard let number = skeleton.number(ofName: name) else { continue }
                visit(child, text, at: skeleton.children(of: places, number), skeleton)
            }
        case .string, .number, .true, .false, .null, .name, .endArray, .endObject: return
        }
    }
}

extension Skeleton {
    /// The nodes to which a step leads from some.
    fileprivate func children(of places: [Int], _ step: Int) -> [Int] {
        places.flatMap { place in
            nodes[place].children.compactMap { steps[$0] == step ? children[$0] : nil }
        }
    }

    fileprivate func number(ofName name: [UInt8]) -> Int? {
        names.firstIndex { bytes[$0].elementsEqual(name) }
    }
}

/// The members by which an entity is shown where none of its slots stands: those of its type's
/// lists at the place, or of all lists there.
struct ListUnion {
    struct Member {
        /// The number of its name.
        let name: Int
        /// The nodes of its value.
        var nodes: [Int]
    }

    private(set) var members: [Member] = []

    init(_ skeleton: Skeleton, at nodes: [Int], type: [UInt8]) {
        let all = nodes.flatMap { skeleton.nodeLists[skeleton.nodes[$0].lists] }
        let own = all.filter {
            skeleton.bytes[skeleton.types[skeleton.lists[$0].type]].elementsEqual(type)
        }
        var places: [Int: Int] = [:]
        for list in own.isEmpty ? all : own {
            for index in skeleton.lists[list].members {
                let name = skeleton.memberNames[index]
                let node = skeleton.memberNodes[index]
                let place = places[name] ?? members.count
                if place == members.count {
                    places[name] = place
                    members.append(Member(name: name, nodes: []))
                }
                if node >= 0, !members[place].nodes.contains(node) {
                    members[place].nodes.append(node)
                }
            }
        }
    }
}
