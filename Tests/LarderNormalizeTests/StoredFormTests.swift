import LarderJSON
import LarderModel
import LarderTestSupport
import Testing

@testable import LarderNormalize

@Suite("Stored forms")
struct StoredFormTests {
    /// An answer with everything that forms have: exceptions, lists, slots within each other.
    private static let text = #"""
        {"l":[{"type":"A","id":1,"n":1.0,"by":{"type":"U","id":7,"x":[{"type":"B","id":1},2]}},
        {"id":"1","type":"A","n":2, "e":{"k":{"type":"U","id":7}},"n":3}, {"type":"A","id":2}]}
        """#

    private struct Forms {
        let store: PlainStore
        let answer: PlainStore.Answer
        let entities: [EntityKey: [UInt8]]

        init() throws {
            var store = try PlainStore(
                NormalizeRules(
                    byType: .standard,
                    types: [
                        TypeRule(type: "U", onDeleted: .omit),
                        TypeRule(type: "B", onDeleted: .cascade),
                    ]
                )
            )
            _ = try store.put(#"{"type":"A","id":2,"n":7,"by":null,"e":1}"#)
            answer = try store.put(StoredFormTests.text)
            var entities: [EntityKey: [UInt8]] = [:]
            for text in ["A:1", "A:2", "U:7", "B:1"] {
                let key = try EntityKey(text)
                guard case .present(let body, _) = try store.held(key) else {
                    Issue.record("\(key) is not there")
                    continue
                }
                entities[key] = body.bytes
            }
            self.entities = entities
            self.store = store
        }
    }

    @Test("A stored form reads back, and is small")
    func reading() throws {
        let forms = try Forms()
        #expect(try forms.store.text(of: forms.answer) == Self.text)
        #expect(forms.answer.template.count < 200)
        #expect(forms.answer.skeleton.count < 400)
        let user = try #require(forms.entities[EntityKey("U:7")])
        #expect(try EntityBody(user).memberNames == ["type", "id", "x"])
        #expect(try EntityBody(user).references.map(\.key.text) == ["B:1"])
    }

    @Test("Equal shapes have equal skeletons, and a map takes little more than one of its members")
    func sharing() throws {
        var store = try PlainStore()
        func skeleton(_ text: String) throws -> [UInt8] { try store.put(text).skeleton }
        let one = try skeleton(#"[{"type":"A","id":1,"by":{"type":"U","id":1}}]"#)
        #expect(
            try skeleton(
                #"[{"type":"A","id":2,"by":{"type":"U","id":2}},{"type":"A","id":3,"by":{"type":"U","id":1}}]"#
            ) == one
        )
        let two = try skeleton(#"[{"type":"A","id":1,"by":{"type":"O","id":1}}]"#)
        #expect(two != one)
        func map(_ count: Int) -> String {
            "{"
                + (0..<count).map { #""k\#($0)":{"type":"A","id":\#($0),"name":"n"}"# }
                .joined(separator: ",") + "}"
        }
        let small = try skeleton(map(10)).count
        #expect(try skeleton(map(110)).count - small < 100 * 10)
    }

    @Test("References name the members that were seen")
    func references() throws {
        let store = try PlainStore()
        let split = try store.split(
            #"[{"type":"A","id":1,"n":1},{"x":{"type":"A","id":1}},{"type":"B","id":1}]"#
        )
        let merged = split.keys.indices.map { split.merged($0, into: .unknown, fetch: 1) }
        let template = try Template(try #require(split.template(merged)), split.skeleton)
        let references = template.references(split.skeleton)
        let members = references.map { reference -> [[String]] in
            guard case .answer(let lists) = reference.place else { return [] }
            #expect(
                reference.place.stored.withUnsafeBytes { .init(listsIn: $0) } == reference.place
            )
            return lists.compactMap(split.skeleton.memberNames)
        }
        #expect(references.map(\.key.text) == ["A:1", "B:1"])
        #expect(members == [[["type", "id", "n"], ["type", "id"]], [["type", "id"]]])
        #expect(split.skeleton.memberNames(ofList: split.skeleton.lists.count) == nil)
        #expect(split.skeleton.memberNames(ofList: -1) == nil)
    }

    @Test("A form that is cut, changed or another one is refused")
    func damage() throws {
        let forms = try Forms()
        let skeleton = try Skeleton(forms.answer.skeleton)
        var random = SeededRandom(seed: 5)
        var readers: [(StoredForm, [UInt8], ([UInt8]) throws -> Void)] = [
            (.skeleton, forms.answer.skeleton, { _ = try Skeleton($0) }),
            (.template, forms.answer.template, { _ = try Template($0, skeleton) }),
        ]
        for bytes in forms.entities.values {
            readers.append((.entity, bytes, { _ = try EntityBody($0) }))
        }
        for (form, bytes, read) in readers {
            for count in 0..<bytes.count {
                #expect(throws: NormalizeError.self, "\(form) cut to \(count)") {
                    try read(Array(bytes[..<count]))
                }
                var changed = bytes
                changed[count] ^= UInt8(1 << random.count(0...7))
                #expect(throws: NormalizeError.self, "\(form) changed at \(count)") {
                    try read(changed)
                }
            }
            #expect(throws: NormalizeError.self) { try read(bytes + [0]) }
        }
        var later = forms.answer.skeleton
        later[0] += 1
        #expect(throws: NormalizeError.otherVersion(.skeleton)) { try Skeleton(later) }
        #expect(throws: NormalizeError.damaged(.entity, at: 0)) {
            try EntityBody(forms.answer.skeleton)
        }
        for form in StoredForm.allCases {
            #expect(!NormalizeError.damaged(form, at: 3).message.isEmpty)
            #expect(!NormalizeError.otherVersion(form).message.isEmpty)
            #expect(!NormalizeError.mismatched(form).message.isEmpty)
        }
    }

    @Test(
        "A template with the skeleton of another answer is refused or shows something, never stops"
    )
    func mismatch() throws {
        let forms = try Forms()
        var store = forms.store
        let other = try store.put(#"[{"type":"A","id":1}]"#)
        let skeleton = try Skeleton(other.skeleton)
        #expect(throws: NormalizeError.self) { try Template(forms.answer.template, skeleton) }
        var answers = RandomAnswers(seed: 3, variesSpelling: true)
        var stored: [PlainStore.Answer] = []
        while stored.count < 24 {
            let outcome = Splitter(store.rules).split(Array(answers.answer().utf8), path: "/")
            guard case .split(let split) = outcome else { continue }
            stored.append(try store.put(split))
        }
        var counts = [true: 0, false: 0]
        for template in stored.map(\.template) {
            for skeleton in stored.map(\.skeleton) {
                let mixed = PlainStore.Answer(template: template, skeleton: skeleton)
                let isGood = (try? store.rebuild(mixed)) != nil
                counts[isGood, default: 0] += 1
            }
        }
        #expect(counts.values.allSatisfy { $0 > 24 }, "\(counts)")
    }

    @Test("A skeleton with a step to two places, or an entity that opens with no brace, is refused")
    func badSkeleton() throws {
        func skeleton(steps: [Int], piece: String) throws -> Skeleton {
            var form = FormWriter(.skeleton)
            // Types, names, and one list without members.
            for number in [1, 1, 0x41, 1, 1, 0x61, 1, 0, 0] { form.number(number) }
            // A node with the list, and the root with steps to it; then one shape.
            for number in [2, 0, 1, 0, steps.count] { form.number(number) }
            for step in steps { for number in [step, 0] { form.number(number) } }
            for number in [0, 1, 0, 0] { form.number(number) }
            form.data(Array(piece.utf8))
            return try Skeleton(form.finished())
        }
        #expect(try skeleton(steps: [0, 1], piece: "{}").nodes.count == 2)
        #expect(throws: NormalizeError.self) { try skeleton(steps: [1, 1], piece: "{}") }
        #expect(throws: NormalizeError.self) { try skeleton(steps: [0, 1], piece: "}") }
        #expect(throws: NormalizeError.self) { try skeleton(steps: [0, 1], piece: "") }
    }

    @Test("A name that is no text stops nothing")
    func badName() throws {
        for name: [UInt8] in [
            [0xED, 0xA0, 0x22], [0xED, 0xA0], [0xED, 0xBF, 0xED], [0xFF, 0x5C],
        ] {
            var form = FormWriter(.entity)
            form.number(1)
            form.data(name)
            form.number(1 << 1)
            form.raw(Array("0".utf8))
            form.number(0)
            let body = try EntityBody(form.finished())
            let rebuilder = Rebuilder(EntityRules(NormalizeRules()), bytesMax: 1 << 10)
            let held = HeldEntity.present(body, EntityStamp(version: nil, fetch: 1))
            let outcome = try rebuilder.show(EntityKey("A:1")) { _ in held }
            guard case .shown(let answer) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(answer.bytes.count > 6)
        }
    }

    @Test("Nested slots are read up to the depth limit of entities")
    func slotDepth() throws {
        var store = try PlainStore()
        let answer = try store.put(#"{"type":"A","id":1}"#)
        let skeleton = try Skeleton(answer.skeleton)
        func template(_ depth: Int) throws -> Template {
            var form = FormWriter(.template)
            form.number(1)
            form.data(Array("A".utf8))
            form.number(1)
            form.number(0)
            form.data(Array("1".utf8))
            form.number(1)
            form.number(0)
            for level in 1...depth {
                // The key, the shape, the number of slots in it, and the position of that one.
                form.number(level == 1 ? 0 : 1)
                form.number(0)
                form.number(level == depth ? 0 : 1)
                if level < depth { form.number(0) }
            }
            // No text behind it, and none that has a depth.
            form.number(0)
            form.number(0)
            return try Template(form.finished(), skeleton)
        }
        #expect(try template(Limits.entityDepthMax).slots.count == Limits.entityDepthMax)
        #expect(throws: NormalizeError.self) { try template(Limits.entityDepthMax + 1) }
    }

    /// Changes bytes behind the head and puts the check right, as no accident would.
    private func forged(_ bytes: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<random.count(1...3) {
            let index = random.count(FormWriter.headBytes...bytes.count - 1)
            switch random.count(0...3) {
            case 0: bytes[index] ^= UInt8(1 << random.count(0...7))
            case 1: bytes[index] = UInt8(random.count(0...255))
            case 2: bytes.remove(at: index)
            default: bytes.insert(UInt8(random.count(0...255)), at: index)
            }
            guard bytes.count > FormWriter.headBytes else { return bytes }
        }
        let check = bytes.withUnsafeBytes { FormWriter.check($0) }
        for index in 0..<4 {
            bytes[1 + index] = UInt8(truncatingIfNeeded: check >> (8 * UInt32(index)))
        }
        return bytes
    }

    @Test("Forms that are damaged under a right check never stop the process", arguments: 1...8)
    func forgeries(seed: UInt64) throws {
        let forms = try Forms()
        let skeletonBytes = forms.answer.skeleton
        var random = SeededRandom(seed: seed)
        var counts = [true: 0, false: 0]
        for _ in 0..<1_500 {
            let isGood = (try? rebuildForged(forms, skeletonBytes, &random)) != nil
            counts[isGood, default: 0] += 1
        }
        #expect(counts.values.allSatisfy { $0 > 50 }, "seed \(seed): \(counts)")
    }

    private func rebuildForged(
        _ forms: Forms,
        _ skeletonBytes: [UInt8],
        _ random: inout SeededRandom
    ) throws {
        let kind = random.count(0...2)
        let skeleton = try Skeleton(kind == 0 ? forged(skeletonBytes, &random) : skeletonBytes)
        let templateBytes = forms.answer.template
        let template = try Template(
            kind == 1 ? forged(templateBytes, &random) : templateBytes,
            skeleton
        )
        let rebuilder = Rebuilder(forms.store.rules, bytesMax: 1 << 20)
        let deleted = random.pick(["", "A:1", "U:7", "B:1"])
        let stamp = EntityStamp(version: nil, fetch: 1)
        func find(_ key: EntityKey) throws -> HeldEntity {
            guard let bytes = forms.entities[key] else { return .unknown }
            guard key.text != deleted else { return .deleted(stamp) }
            return .present(try EntityBody(kind == 2 ? forged(bytes, &random) : bytes), stamp)
        }
        for isPartial in [false, true] {
            _ = try rebuilder.rebuild(template, skeleton, isPartial: isPartial, find)
            _ = try rebuilder.show(EntityKey("A:1"), expanding: 3, isPartial: isPartial, find)
        }
        guard kind == 2, let bytes = forms.entities.values.first else { return }
        let body = try EntityBody(forged(bytes, &random))
        if let entity = EntityValue(body, []) { _ = entity.body(entity.value) }
        let split = try forms.store.split(Self.text)
        var merged: [MergedEntity] = []
        for number in split.keys.indices {
            merged.append(split.merged(number, into: .present(body, stamp), fetch: 2))
        }
        guard let template = split.template(merged) else { return }
        _ = try Template(template, split.skeleton)
    }
}
