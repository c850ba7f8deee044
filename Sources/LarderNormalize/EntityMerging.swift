import LarderModel

/// The members of one entity while an answer is merged into them.
struct EntityMerging {
    private enum Source {
        case held
        /// A value of the answer, as it was sent.
        case came(Split.Member)
        case made(CutBuilder)
    }

    private struct Member {
        /// Index in the stored body; -1 for a new member.
        let held: Int
        /// The number of its name in the skeleton; -1 for one that was held.
        let name: Int
        var source: Source
        /// Value of the source, set when it is first read.
        var text: PlaceholderJSON?
        /// Value of the last occurrence that was compared with this member.
        var came: PlaceholderJSON?
        /// Whether an occurrence of this answer has it.
        var isSeen = false
        /// Whether an occurrence of this answer has it, including a late one, which overwrites
        /// nothing.
        var hasCome = false
    }

    private let split: Split
    private let bytes: UnsafeRawBufferPointer
    private let base: EntityBody?
    private let membersMax: Int
    private let bytesMax: Int
    private var members: [Member] = []
    private var isChanged = false
    /// Whether two occurrences gave different values.
    private(set) var isContradicted = false
    /// Members by name, for entities with many.
    private var places: [[UInt8]: Int]?
    private var scratch = CutBuilder()
    /// Values of lists that may still be looked at to unite them.
    private var unitedLeft: Int

    /// More members than this are looked for in a table.
    private static let scannedMembersMax = 32

    init(
        _ split: Split,
        _ bytes: UnsafeRawBufferPointer,
        base: EntityBody?,
        membersMax: Int = Limits.entityMembersMax,
        bytesMax: Int = Limits.entityBytesMax,
        unitedMax: Int = Limits.unitedValuesMax
    ) {
        self.split = split
        self.bytes = bytes
        self.base = base
        self.membersMax = membersMax
        self.bytesMax = bytesMax
        unitedLeft = unitedMax
        members = (base?.members.indices ?? 0..<0).map {
            Member(held: $0, name: -1, source: .held)
        }
    }

    /// Takes the members of an occurrence, without those of `kept`; a late one overwrites none.
    mutating func apply(
        _ occurrence: Int,
        isLate: Bool,
        keeping kept: TouchedMembers = .none
    ) {
        let skeleton = split.skeleton
        let shape = skeleton.shapes[split.occurrences[occurrence].shape]
        let list = skeleton.lists[shape.list]
        let lists = split.rule(of: occurrence)?.lists ?? [:]
        // The members of one occurrence have different names: only the last value of a name counts.
        let known = members.count
        var hint = 0
        for member in split.members(of: occurrence) {
            let position = shape.positions.lowerBound + member.position
            guard !skeleton.isRepeated[position] else { continue }
            let number = skeleton.memberNames[
                list.members.lowerBound + skeleton.positions[position]
            ]
            let name = skeleton.names[number]
            let place = known == 0 ? nil : place(of: name, below: known, near: hint)
            let isKept = kept.contains(String(decoding: skeleton.bytes[name], as: UTF8.self))
            guard let place else {
                guard !isKept else { continue }
                members.append(
                    Member(
                        held: -1,
                        name: number,
                        source: .came(member),
                        isSeen: true,
                        hasCome: true
                    )
                )
                places?[Array(skeleton.bytes[name])] = members.count - 1
                isChanged = true
                continue
            }
            hint = place + 1
            members[place].hasCome = true
            guard !isLate, !isKept else { continue }
            replace(place, by: member, lists: lists[Array(skeleton.bytes[name])] ?? [])
        }
    }

    private mutating func replace(
        _ place: Int,
        by member: Split.Member,
        lists: [EntityRules.OfList]
    ) {
        defer { members[place].isSeen = true }
        guard !isAsHeld(place, member) else { return }
        split.cut(member, bytes, to: &scratch)
        guard let came = scratch.text, let held = text(of: place) else {
            return take(place, .came(member), text: nil)
        }
        let isAgain = members[place].came.map { came.isSame(as: $0) } ?? false
        guard !isAgain, !came.isSame(as: held) else { return }
        members[place].came = came
        if !lists.isEmpty, let merged = united(held, came, by: lists) {
            let text = merged.text
            guard text?.isSame(as: held) != true else { return }
            take(place, .made(merged), text: text)
        } else {
            take(place, .came(member), text: came)
        }
    }

    /// The lists of both values united; nil where none is, or one answer asks for it too often.
    private mutating func united(
        _ held: PlaceholderJSON,
        _ came: PlaceholderJSON,
        by lists: [EntityRules.OfList]
    ) -> CutBuilder? {
        unitedLeft -= held.tape.items.count + came.tape.items.count
        guard unitedLeft >= 0 else { return nil }
        return ListMerge(held: held, came: came, query: split.query).merged(by: lists)
    }

    /// The current value of a member.
    private mutating func text(of place: Int) -> PlaceholderJSON? {
        if let text = members[place].text { return text }
        members[place].text = text(of: members[place])
        return members[place].text
    }

    /// Whether a member is as it was held, to the byte.
    private mutating func isAsHeld(_ place: Int, _ member: Split.Member) -> Bool {
        guard case .held = members[place].source, let base else { return false }
        let held = base.members[members[place].held]
        if member.inner.isEmpty {
            let came = bytes.part(split.tape.items[member.item].range)
            return !held.hasReferences
                && base.bytes.withUnsafeBytes { $0.hasBytes(held.value, came) }
        }
        guard held.hasReferences else { return false }
        split.cut(member, bytes, to: &scratch)
        return base.bytes.withUnsafeBytes { bytes in
            scratch.bytes.withUnsafeBytes { bytes.hasBytes(held.value, $0) }
        }
    }

    private mutating func take(_ place: Int, _ source: Source, text: PlaceholderJSON?) {
        members[place].source = source
        members[place].text = text
        isContradicted = isContradicted || members[place].isSeen
        isChanged = true
    }
}

extension EntityMerging {
    /// The new body, nil where nothing of it changed, and what did.
    mutating func finished() -> (EntityBody?, MergedEntity.Change) {
        guard isChanged || base == nil else { return (nil, .nothing) }
        restoreUnchanged()
        let forgotten = forgetTooMany()
        let (body, changed) = written()
        guard base != nil else { return (body, .created) }
        let names = changed + forgotten
        return names.isEmpty ? (nil, .nothing) : (body, .members(names))
    }

    /// Removes members that this answer does not have, if the entity would be too large.
    private mutating func forgetTooMany() -> [String] {
        guard members.count > membersMax || isTooLarge else { return [] }
        let forgotten = members.filter { !$0.hasCome }
        members.removeAll { !$0.hasCome }
        return forgotten.map { String(decoding: name(of: $0), as: UTF8.self) }
    }

    /// Whether names and values have too many bytes; what has come has no more than the answer.
    private var isTooLarge: Bool {
        guard (base?.bytes.count ?? 0) + bytes.count > bytesMax else { return false }
        let count = members.reduce(0) { sum, member in
            sum + name(of: member).count + withValue(of: member) { value, _ in value.count }
        }
        return count > bytesMax
    }

    private func written() -> (EntityBody, changed: [String]) {
        var form = FormWriter(.entity, capacity: 256)
        var rows: [EntityBody.Member] = []
        rows.reserveCapacity(members.count)
        var changed: [String] = []
        form.number(members.count)
        for member in members {
            let row = withName(of: member) { name in
                withValue(of: member) { form.member(name, $0, hasReferences: $1) }
            }
            rows.append(row)
            guard base != nil else { continue }
            if case .held = member.source { continue }
            changed.append(String(decoding: form.bytes[row.name], as: UTF8.self))
        }
        return (EntityBody(form, rows), changed)
    }

    /// An answer that has the entity twice may have come back to what was held.
    private mutating func restoreUnchanged() {
        for place in members.indices where members[place].held >= 0 {
            if case .held = members[place].source { continue }
            let held = Member(held: members[place].held, name: -1, source: .held)
            if let now = text(of: members[place]), let before = text(of: held),
                now.isSame(as: before)
            {
                members[place].source = .held
            }
        }
    }

    /// Calls `body` with the bytes of a member's value as they are stored.
    private func withValue<Result>(
        of member: Member,
        _ body: (UnsafeRawBufferPointer, _ hasReferences: Bool) -> Result
    ) -> Result {
        switch member.source {
        case .held:
            guard let base else { preconditionFailure("only what was held is taken from there") }
            let held = base.members[member.held]
            return base.bytes.withUnsafeBytes { body($0.part(held.value), held.hasReferences) }
        case .came(let came):
            guard !came.inner.isEmpty else {
                return body(bytes.part(split.tape.items[came.item].range), false)
            }
            var builder = CutBuilder()
            split.cut(came, bytes, to: &builder)
            return builder.bytes.withUnsafeBytes { body($0, builder.hasReferences) }
        case .made(let builder):
            return builder.bytes.withUnsafeBytes { body($0, builder.hasReferences) }
        }
    }

    private func text(of member: Member) -> PlaceholderJSON? {
        withValue(of: member) { PlaceholderJSON($0, hasReferences: $1) }
    }

    /// The place of the member of this name among the first `count`.
    private mutating func place(of name: Range<Int>, below count: Int, near hint: Int) -> Int? {
        let skeleton = split.skeleton
        return skeleton.bytes.withUnsafeBytes { names in
            let name = names.part(name)
            if hint < count, isNamed(name, members[hint]) { return hint }
            guard count > Self.scannedMembersMax else {
                return (0..<count).first { isNamed(name, members[$0]) }
            }
            if places == nil {
                places = Dictionary(
                    members.indices.map { (self.name(of: members[$0]), $0) },
                    uniquingKeysWith: { first, _ in first }
                )
            }
            return places?[Array(name)]
        }
    }

    private func isNamed(_ name: UnsafeRawBufferPointer, _ member: Member) -> Bool {
        withName(of: member) { $0.hasBytes(0..<$0.count, name) }
    }

    private func name(of member: Member) -> [UInt8] { withName(of: member) { Array($0) } }

    /// Calls `body` with the bytes of a member's name.
    private func withName<Result>(
        of member: Member,
        _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        if let base, member.held >= 0 {
            return base.bytes.withUnsafeBytes { body($0.part(base.members[member.held].name)) }
        }
        return split.skeleton.bytes.withUnsafeBytes {
            body($0.part(split.skeleton.names[member.name]))
        }
    }
}

extension CutBuilder {
    var text: PlaceholderJSON? {
        bytes.withUnsafeBytes { PlaceholderJSON($0, hasReferences: hasReferences) }
    }
}
