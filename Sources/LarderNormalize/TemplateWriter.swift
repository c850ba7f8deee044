import LarderJSON
import LarderModel

extension Split {
    /// The stored form of the answer's own part.
    ///
    /// - Parameter merged: The merge results of ``keys``, in their order.
    /// - Returns: Bytes for ``Template``; nil if they would be far too large in proportion to the
    ///   answer. The answer then stays whole (``WholeReason/templateTooLarge``).
    package func template(_ merged: [MergedEntity]) -> [UInt8]? {
        precondition(merged.count == keys.count)
        return body.withUnsafeBytes { bytes in
            var writer = TemplateWriter(self, bytes, merged)
            writer.writeAll()
            return writer.finished()
        }
    }
}

/// Writes what is an answer's own; see ``Template`` for its form.
private struct TemplateWriter {
    private let split: Split
    private let bytes: UnsafeRawBufferPointer
    private let merged: [MergedEntity]
    private var form: FormWriter
    private let bytesMax: Int
    /// Bytes of stored values that late ones may still be compared with: in proportion to the
    /// answer, as each of its slots may show a large value.
    private var comparedBytesLeft: Int
    /// The number of the first key that no slot has had yet.
    private var fresh = 0
    private var scratch = CutBuilder()
    private var listed: ListedMembers
    /// By the numbers of the keys.
    private var finders: [MemberFinder?]

    init(_ split: Split, _ bytes: UnsafeRawBufferPointer, _ merged: [MergedEntity]) {
        self.split = split
        self.bytes = bytes
        self.merged = merged
        listed = ListedMembers(split.skeleton)
        finders = Array(repeating: nil, count: split.keys.count)
        bytesMax = Limits.templateBytesMax(bodyBytes: bytes.count)
        comparedBytesLeft = bytesMax
        form = FormWriter(.template, capacity: 1_024 + 16 * split.occurrences.count)
    }

    consuming func finished() -> [UInt8]? { isTooLarge ? nil : form.finished() }

    private var isTooLarge: Bool { form.count > bytesMax }

    mutating func writeAll() {
        writeKeys()
        let roots = Array(split.occurrences.siblings(in: split.occurrences.indices))
        form.number(roots.count)
        var start = 0
        var nesting = JSONBrackets()
        for root in roots {
            let entity = split.tape.items[split.occurrences[root].item]
            let text = bytes.part(start..<Int(entity.start))
            form.data(text)
            nesting.add(text)
            write(slot: root)
            start = Int(entity.end)
        }
        form.data(bytes.part(start..<bytes.count))
        nesting.add(bytes.part(start..<bytes.count))
        form.number(nesting.depth)
    }

    private mutating func writeKeys() {
        var types: [Substring.UTF8View.SubSequence] = []
        var numbers: [EntityType: Int] = [:]
        var rows: [(type: Int, id: Substring.UTF8View)] = []
        rows.reserveCapacity(split.keys.count)
        for key in split.keys {
            let text = key.text.utf8
            let colon = text.firstIndex(of: UInt8(ascii: ":")) ?? text.endIndex
            let type = EntityType(text: text[..<colon])
            let number = numbers[type] ?? types.count
            if number == types.count {
                numbers[type] = number
                types.append(type.text)
            }
            rows.append((number, text[colon...].dropFirst()))
        }
        form.number(types.count)
        for type in types {
            form.number(type.count)
            form.raw(type)
        }
        form.number(rows.count)
        for row in rows {
            form.number(row.type)
            form.number(row.id.count)
            form.raw(row.id)
        }
    }

    /// The part of a key before the colon.
    private struct EntityType: Hashable {
        let text: Substring.UTF8View

        static func == (left: EntityType, right: EntityType) -> Bool {
            left.text.elementsEqual(right.text)
        }

        func hash(into hasher: inout Hasher) {
            for byte in text { hasher.combine(byte) }
        }
    }

    private mutating func write(slot number: Int) {
        guard !isTooLarge else { return }
        let occurrence = split.occurrences[number]
        form.number(fresh - occurrence.key)
        fresh += occurrence.key == fresh ? 1 : 0
        let exceptions = exceptions(of: number)
        form.number(occurrence.shape << 1 | (exceptions.isEmpty ? 0 : 1))
        if !exceptions.isEmpty { write(exceptions) }
        let children = split.occurrences.siblings(in: number + 1..<occurrence.next)
        let count = children.reduce(0) { count, _ in count + 1 }
        form.number(count)
        guard count > 0 else { return }
        var position = 0
        for member in split.members(of: number) {
            for child in split.occurrences.siblings(in: member.inner) {
                form.number(member.position - position)
                position = member.position
                write(slot: child)
            }
        }
    }

    private mutating func write(_ exceptions: [Exception]) {
        form.number(exceptions.count)
        for exception in exceptions {
            switch exception.kind {
            case .absent(let member): form.number(member << 1 | 1)
            case .own(let member): form.number(member.position << 1)
            }
            form.digest(exception.digest)
            guard case .own(let member) = exception.kind else { continue }
            writeTexts(of: member)
        }
    }

    /// Writes the texts of a value before, between and after its slots.
    private mutating func writeTexts(of member: Split.Member) {
        let item = split.tape.items[member.item]
        var texts: [Range<Int>] = []
        var start = Int(item.start)
        for child in split.occurrences.siblings(in: member.inner) {
            let entity = split.tape.items[split.occurrences[child].item]
            texts.append(start..<Int(entity.start))
            start = Int(entity.end)
        }
        texts.append(start..<Int(item.end))
        form.number(texts.count)
        for text in texts { form.data(bytes.part(text)) }
    }
}

extension TemplateWriter {
    private struct Exception {
        enum Kind {
            case own(Split.Member)
            case absent(member: Int)
        }

        let kind: Kind
        let digest: UInt64
    }

    /// Members that the slot does not show with the entity's bytes.
    private mutating func exceptions(of number: Int) -> [Exception] {
        let occurrence = split.occurrences[number]
        guard case .present(let body, _) = merged[occurrence.key].held else { return [] }
        var finder = finders[occurrence.key] ?? MemberFinder(body)
        defer { finders[occurrence.key] = finder }
        let skeleton = split.skeleton
        let shape = skeleton.shapes[occurrence.shape]
        let list = skeleton.lists[shape.list]
        let (isLate, kept) = (isLate(number), merged[occurrence.key].kept)
        return body.bytes.withUnsafeBytes { held in
            skeleton.bytes.withUnsafeBytes { names in
                var exceptions: [Exception] = []
                var hint = 0
                var shown = 0
                for member in split.members(of: number) {
                    let position = shape.positions.lowerBound + member.position
                    let index = list.members.lowerBound + skeleton.positions[position]
                    let name = names.part(skeleton.names[skeleton.memberNames[index]])
                    guard let place = finder.place(of: name, in: held, near: hint) else {
                        continue
                    }
                    hint = place + 1
                    let isRepeated = skeleton.isRepeated[position]
                    shown += isRepeated ? 0 : 1
                    let value = body.members[place]
                    if !isRepeated {
                        let isKept = kept.contains(String(decoding: name, as: UTF8.self))
                        guard isOwn(member, value, held, isLate: isLate || isKept) else {
                            continue
                        }
                    }
                    exceptions.append(
                        Exception(kind: .own(member), digest: finder.digest(ofMember: place))
                    )
                }
                guard !shape.hasAll, shown < body.members.count else { return exceptions }
                let here = Set(skeleton.positions[shape.positions])
                let known = listed.members(of: occurrence.key, in: shape.list, &finder)
                for member in known where !here.contains(member.member) {
                    let name = held.part(body.members[member.place].name)
                    guard !kept.contains(String(decoding: name, as: UTF8.self)) else { continue }
                    exceptions.append(
                        Exception(
                            kind: .absent(member: member.member),
                            digest: finder.digest(ofMember: member.place)
                        )
                    )
                }
                return exceptions
            }
        }
    }

    /// Whether the answer is older than the stored state.
    private func isLate(_ number: Int) -> Bool {
        let entity = split.occurrences[number].key
        guard let before = merged[entity].before else { return false }
        let version = split.version(of: number, bytes)
        return before.isAhead(of: version, fetch: merged[entity].fetch)
    }

    /// Whether the slot has to keep its own bytes of a member.
    ///
    /// A late value is kept only if it equals the entity's value. Otherwise, or if it was not
    /// compared, the newer value is shown.
    private mutating func isOwn(
        _ member: Split.Member,
        _ value: EntityBody.Member,
        _ held: UnsafeRawBufferPointer,
        isLate: Bool
    ) -> Bool {
        if member.inner.isEmpty {
            let came = bytes.part(split.tape.items[member.item].range)
            if !value.hasReferences, held.hasBytes(value.value, came) { return false }
        }
        split.cut(member, bytes, to: &scratch)
        let isSame = scratch.bytes.withUnsafeBytes {
            value.hasReferences == scratch.hasReferences && held.hasBytes(value.value, $0)
        }
        guard !isSame else { return false }
        guard isLate else { return true }
        comparedBytesLeft -= value.value.count
        guard comparedBytesLeft >= 0 else { return false }
        let now = PlaceholderJSON(held.part(value.value), hasReferences: value.hasReferences)
        guard let now, let came = scratch.text else { return false }
        return came.isSame(as: now)
    }
}

extension EntityBody.Member {
    /// Digest of the value, as exceptions store it.
    func digest(in bytes: UnsafeRawBufferPointer) -> UInt64 {
        Digest.of(bytes.part(value), seed: hasReferences ? 1 : 0)
    }
}
