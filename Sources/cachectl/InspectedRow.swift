import LarderAPI
import LarderClient
import LarderModel

/// What `inspect` has found, as it is printed.
enum InspectedRow {
    case entry(EntryExplanation)
    case entity(EntityExplanation)

    /// The row as a list has it, as JSON.
    var item: [UInt8] {
        switch self {
        case .entry(let found): APIEncoder().encode(found.item)
        case .entity(let found): APIEncoder().encode(found.item)
        }
    }

    /// All that is known, as JSON.
    var explanation: [UInt8] {
        switch self {
        case .entry(let found): APIEncoder().encode(found)
        case .entity(let found): APIEncoder().encode(found)
        }
    }

    var difference: ViewDifference {
        switch self {
        case .entry(let found): ViewDifference(of: TargetName(id: found.item.id), found.pending)
        case .entity(let found):
            ViewDifference(
                of: TargetName(key: found.item.name.key, origin: found.item.name.origin),
                found.pending
            )
        }
    }

    func table(explain: Bool) -> Table {
        var facts = Facts()
        switch self {
        case .entry(let found): facts.add(found, explain: explain)
        case .entity(let found): facts.add(found, explain: explain)
        }
        return facts.table
    }
}

/// Names and values, one a line.
private struct Facts {
    var table = Table(alignsRight: [false, false])

    mutating func add(_ name: String, _ value: String) {
        table.add(name, value)
    }

    mutating func add(_ found: EntryExplanation, explain: Bool) {
        let item = found.item
        add("id", item.id)
        add("kind", item.words)
        if let origin = item.origin { add("origin", origin) }
        add("status", String(item.status))
        add("media type", item.mediaType ?? "-")
        add("bytes", "\(item.bodyBytes), with its row \(item.accountedBytes)")
        add("stored", "\(item.storedAt.text), \(Words.age(item.storedAt)) ago")
        if item.kind == .blob {
            add("kept until", item.freshUntil?.text ?? "it is removed or evicted")
        } else {
            add("fresh until", item.freshUntil?.text ?? "-")
            add("stale", item.stale ? "yes" : "no")
        }
        add("revision", String(item.rev))
        add("etag", item.etag)
        if found.pending.base != nil { add("to be sent", String(found.pending.pending)) }
        guard explain else { return }
        add("last modified", found.lastModified ?? "-")
        add("digest", found.digest)
        add(protectedBy: found.protectedBy)
        for field in found.headers { add("header", "\(field.name): \(field.value)") }
        addForm(of: found)
        add(found.pending)
    }

    mutating func add(_ found: EntityExplanation, explain: Bool) {
        let item = found.item
        add("key", item.name.key)
        add("origin", item.name.origin)
        add("kind", item.deleted ? "deleted at the origin" : "an entity")
        add("bytes", "\(item.bodyBytes), with its row \(item.accountedBytes)")
        add("stored", "\(item.storedAt.text), \(Words.age(item.storedAt)) ago")
        add("revision", String(item.rev))
        if found.pending.pending > 0 { add("to be sent", String(found.pending.pending)) }
        add("referred to by", String(found.referencedBy.count))
        add("refers to", String(found.refersTo.count))
        guard explain else { return }
        add("version", found.version?.text ?? "-")
        add("last fetch", found.fetch.map(String.init) ?? "-")
        add(protectedBy: found.protectedBy)
        add(found.referencedBy, "referred to by")
        add(found.refersTo, "refers to")
        add(found.pending)
    }

    private mutating func add(protectedBy reasons: [String]) {
        add("can be evicted", reasons.isEmpty ? "yes" : "no")
        for reason in reasons { add("because", reason) }
    }

    private mutating func addForm(of found: EntryExplanation) {
        if let skeleton = found.skeleton, let entities = found.entities {
            add("stored", "normalized, skeleton \(skeleton), \(entities.count) entities")
            add(entities, "entity")
        } else {
            add("stored", "whole" + (found.wholeReason.map { ": \($0)" } ?? ""))
        }
        if found.keyless.count > 0 {
            let first = found.keyless.sample.map { ", the first at \($0)" } ?? ""
            add("without a key", "\(found.keyless.count)\(first)")
        }
        if found.repeated > 0 { add("with a member twice", String(found.repeated)) }
    }

    private mutating func add(_ references: References, _ name: String) {
        for item in references.items {
            add("  \(name)", "\(item.target): \(item.members.joined(separator: ", "))")
        }
        let more = references.count - references.items.count
        if more > 0 { add("  \(name)", "and \(more) more") }
    }

    private mutating func add(_ pending: PendingExplanation) {
        guard let base = pending.base, let view = pending.view else { return }
        add("base", base.words)
        for step in pending.modifiers {
            let leftOut = step.inapplicable.map { ", left out: \($0)" } ?? ""
            add("modifier", "\(step.id), \(step.state), \(step.effect)\(leftOut)")
            if let view = step.after { add("  with it", view.words) }
            if let view = step.without { add("  without it", view.words) }
        }
        if pending.truncated {
            add("not told", "more than this: \(pending.pending) are to be sent in all")
        }
        add("view", view.words)
    }
}

extension EntryItem {
    fileprivate var words: String {
        switch kind {
        case .blob: "a program's own bytes"
        case .fetched, .variants: "an origin's answer"
        case .tombstone: "deleted at the origin"
        case .entity: "an entity"
        default: kind.rawValue
        }
    }
}
