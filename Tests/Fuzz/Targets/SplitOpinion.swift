import LarderJSON
import LarderModel
import LarderNormalize

/// What must hold of answers that are split and put together again, whatever their bytes are.
package struct SplitOpinion: Sendable {
    private let rules: EntityRules

    /// Rules of every kind, with short names.
    package init() {
        func key(_ names: String...) -> EntityKeyRule { EntityKeyRule(names.map { .member($0) }) }
        func place(_ tokens: String...) -> MemberPath { MemberPath(tokens: tokens) }
        let rules = NormalizeRules(
            byType: .init(type: ["t"], id: ["id", "i"]),
            types: [
                TypeRule(type: "V", version: place("v")),
                TypeRule(
                    type: "L",
                    lists: [place("l"): .append, place("o", "l"): .by("k"), place("r"): .replace]
                ),
                TypeRule(type: "E", isEmbedded: true),
                TypeRule(
                    type: "K",
                    key: EntityKeyRule([.member("a"), .within("b", [.member("c")])])
                ),
                TypeRule(type: "S", key: EntityKeyRule([])),
                TypeRule(type: "O", onDeleted: .omit), TypeRule(type: "C", onDeleted: .cascade),
            ],
            paths: [
                PathRule(url: "/x/*", at: place("p"), type: "U", key: key("k")),
                PathRule(url: "/x/*", at: place("q", "*"), type: "L"),
            ]
        )
        self.rules = EntityRules(rules)
    }

    /// How an input was judged.
    package enum Verdict: Equatable, Sendable {
        /// At least one answer of it was split, and rebuilt as it has to be.
        case split
        case whole
        /// What must not be, in words.
        case disagrees(String)
    }

    /// Stores the answers of an input one after the other, which are divided by the byte FF, and
    /// looks at each.
    package func verdict(on input: [UInt8]) -> Verdict {
        var store = Entities()
        var forms: [Form] = []
        for body in input.split(separator: 0xFF, maxSplits: 3, omittingEmptySubsequences: false) {
            let body = Array(body)
            switch Splitter(rules).split(body, path: "/x/1") {
            case .whole(let reason, _):
                if let complaint = complaint(of: reason, body) { return .disagrees(complaint) }
            case .split(let split):
                guard let form = store.put(split) else { continue }
                forms.append(form)
                // Nothing was known before the first, so nothing else than its bytes can come.
                if store.answersCount == 1, let complaint = complaint(of: form, store, body) {
                    return .disagrees(complaint)
                }
            }
        }
        for form in forms {
            if let complaint = complaint(of: form, store, nil) { return .disagrees(complaint) }
        }
        return forms.isEmpty ? .whole : .split
    }

    private func complaint(of reason: WholeReason, _ body: [UInt8]) -> String? {
        let isJSON = JSONValidator.accepts(body)
        switch reason {
        case .notJSON, .tooDeep: return isJSON ? "JSON is refused: \(reason.message)" : nil
        case .noEntity, .tooLarge, .tooManyValues, .entitiesTooDeep, .templateTooLarge:
            return isJSON ? nil : "what is no JSON is split: \(reason.message)"
        }
    }

    /// What is wrong with what is rebuilt; with `bytes`, where it is not these.
    private func complaint(of form: Form, _ store: Entities, _ bytes: [UInt8]?) -> String? {
        let outcome: RebuildOutcome
        do throws(NormalizeError) {
            let skeleton = try Skeleton(form.skeleton)
            let template = try Template(form.template, skeleton)
            outcome = Rebuilder(rules, bytesMax: 1 << 24)
                .rebuild(template, skeleton, isPartial: false) { store.find($0) }
        } catch {
            return "a form of ours cannot be read: \(error)"
        }
        switch outcome {
        case .shown(let shown):
            guard JSONValidator.accepts(shown.bytes) else { return "what is rebuilt is no JSON" }
            guard let bytes, shown.bytes != bytes else { return nil }
            return "other bytes come back: \(String(decoding: shown.bytes, as: UTF8.self))"
        case .deleted: return "it counts as deleted"
        case .evicted(let key): return "nothing is known of \(key)"
        case .tooLarge: return bytes == nil ? nil : "it has become too large"
        }
    }
}

/// The stored forms of an answer.
private struct Form {
    let skeleton: [UInt8]
    let template: [UInt8]
}

private struct Entities {
    private var held: [EntityKey: HeldEntity] = [:]
    private(set) var answersCount = 0

    /// Nil where the answer is to be stored whole.
    mutating func put(_ split: Split) -> Form? {
        answersCount += 1
        var merged: [MergedEntity] = []
        for (number, key) in split.keys.enumerated() {
            let entity = split.merged(
                number,
                into: held[key] ?? .unknown,
                fetch: Int64(answersCount),
                fence: .nothing
            )
            merged.append(entity)
            held[key] = entity.held
        }
        return split.template(merged).map { Form(skeleton: split.skeleton.bytes, template: $0) }
    }

    func find(_ key: EntityKey) -> FoundEntity {
        switch held[key] {
        case nil, .unknown: .evicted
        case .deleted: .deleted
        case .present(let body, _): .present(body)
        }
    }
}
