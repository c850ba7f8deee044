import LarderModel
import LarderNormalize

/// The stored parts of one answer.
struct Stored {
    let template: [UInt8]
    let skeleton: [UInt8]
    let references: [Reference]
    private(set) var entities: [EntityKey: [UInt8]] = [:]

    static func split(_ body: [UInt8], _ rules: EntityRules) -> Split {
        guard case .split(let split) = Splitter(rules).split(body, path: "/feed") else {
            fatalError("the feed has entities")
        }
        return split
    }

    init(_ body: [UInt8], _ rules: EntityRules, over known: [EntityKey: [UInt8]] = [:]) {
        let split = Self.split(body, rules)
        var merged: [MergedEntity] = []
        merged.reserveCapacity(split.keys.count)
        entities.reserveCapacity(split.keys.count)
        for (number, key) in split.keys.enumerated() {
            var held = HeldEntity.unknown
            if let bytes = known[key], let body = try? EntityBody(bytes) {
                held = .present(body, EntityStamp(version: nil, fetch: 1))
            }
            let entity = split.merged(number, into: held, fetch: 2)
            merged.append(entity)
            if case .present(let body, _) = entity.held { entities[key] = body.bytes }
        }
        guard let template = split.template(merged) else { fatalError("the feed is an honest one") }
        self.template = template
        skeleton = split.skeleton.bytes
        references = (try? Template(template, split.skeleton).references(split.skeleton)) ?? []
    }

    func rebuilt(_ skeleton: Skeleton, _ rules: EntityRules) throws -> RebuiltAnswer {
        let template = try Template(template, skeleton)
        let outcome = try Rebuilder(rules, bytesMax: 1 << 26).rebuild(template, skeleton) { key in
            guard let bytes = entities[key] else { return .unknown }
            return .present(try EntityBody(bytes), EntityStamp(version: nil, fetch: 0))
        }
        guard case .shown(let answer) = outcome else { fatalError("\(outcome)") }
        return answer
    }

    /// Prints the bytes of the columns.
    ///
    /// For an entity these are key and data; for a reference two row numbers and the numbers of the
    /// lists.
    func printSizes(of body: [UInt8]) {
        let rows = entities.reduce(0) { $0 + $1.key.text.utf8.count + $1.value.count }
        let inner = entities.values.flatMap { (try? EntityBody($0).references) ?? [] }
        let edges = (references + inner).reduce(0) { $0 + 16 + $1.place.stored.count }
        let sum = rows + edges + skeleton.count + template.count
        let ratio = Double(sum * 1_000 / body.count) / 1_000
        print(
            "  \(entities.count) entities \(rows), \(references.count + inner.count) references \(edges),"
        )
        print("  skeleton \(skeleton.count), template \(template.count): \(sum) bytes, \(ratio) x")
    }
}
