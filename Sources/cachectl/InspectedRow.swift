import LarderModel
import LarderWire

/// What `inspect` has found, as it is printed.
enum InspectedRow {
    case entry(EntryExplanation)
    case entity(EntityExplanation)

    /// The row as a list has it, as JSON.
    var item: [UInt8] {
        switch self {
        case .entry(let found): found.item.encoded()
        case .entity(let found): found.item.encoded()
        }
    }

    /// All that is known, as JSON.
    var explanation: [UInt8] {
        switch self {
        case .entry(let found): found.encoded()
        case .entity(let found): found.encoded()
        }
    }

    var difference: ViewDifference {
        switch self {
        case .entry(let found): ViewDifference(of: found.item.id, found.pending)
        case .entity(let found): ViewDifference(of: EntryID(found.item.name), found.pending)
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
        add("id", item.id.text)
        add("kind", item.words)
        if let origin = item.origin { add("origin", origin.text) }
        add("status", String(item.status))
        add("media type", item.mediaType ?? "-")
        add("bytes", "\(item.byteCount), with its row \(item.accountedBytes)")
        addTime(of: item.storedAt)
        switch item.kind {
        case .blob: add("kept until", item.freshUntil?.rfc3339 ?? "it is removed or evicted")
        case .fetched, .variants, .tombstone, .entity:
            add("fresh until", item.freshUntil?.rfc3339 ?? "-")
            add("stale", item.isStale ? "yes" : "no")
        }
        add("revision", String(item.revision.number))
        add("etag", item.etag)
        if let pending = found.pending { add("to be sent", String(pending.count)) }
        guard explain else { return }
        add("last modified", found.lastModified ?? "-")
        add("digest", found.digest)
        add(protectedBy: found.protectedBy)
        for field in found.headers.fields { add("header", "\(field.name): \(field.value)") }
        add(found.form)
        if let pending = found.pending { add(pending) }
    }

    mutating func add(_ found: EntityExplanation, explain: Bool) {
        let item = found.item
        add("key", item.name.key.text)
        add("origin", item.name.origin.text)
        add("kind", item.isDeleted ? "deleted at the origin" : "an entity")
        add("bytes", "\(item.byteCount), with its row \(item.accountedBytes)")
        addTime(of: item.storedAt)
        add("revision", String(item.revision.number))
        if found.pending.count > 0 { add("to be sent", String(found.pending.count)) }
        add("referred to by", String(found.referencedBy.count))
        add("refers to", String(found.refersTo.count))
        guard explain else { return }
        add("version", found.version?.words ?? "-")
        add("last fetch", found.fetch.map(String.init) ?? "-")
        add(protectedBy: found.protectedBy)
        add(found.referencedBy, "referred to by")
        add(found.refersTo, "refers to")
        add(found.pending)
    }

    private mutating func addTime(of storedAt: Timestamp) {
        let age = Words.span(WallClock.now().since(storedAt))
        add("stored", "\(storedAt.rfc3339), \(age) ago")
    }

    private mutating func add(protectedBy reasons: [String]) {
        add("can be evicted", reasons.isEmpty ? "yes" : "no")
        for reason in reasons { add("because", reason) }
    }

    private mutating func add(_ form: FormExplanation) {
        switch form.form {
        case .whole(let reason): add("stored", "whole" + (reason.map { ": \($0)" } ?? ""))
        case .normalized(let skeleton, let entities):
            add("stored", "normalized, skeleton \(skeleton), \(entities.count) entities")
            add(entities, "entity")
        }
        if form.keylessCount > 0 {
            let first = form.keylessSample.map { ", the first at \($0)" } ?? ""
            add("without a key", "\(form.keylessCount)\(first)")
        }
        if form.repeatedCount > 0 { add("with a member twice", String(form.repeatedCount)) }
    }

    private mutating func add(_ references: ReferenceList, _ name: String) {
        for item in references.items {
            add("  \(name)", "\(item.id): \(item.members.joined(separator: ", "))")
        }
        let more = references.count - references.items.count
        if more > 0 { add("  \(name)", "and \(more) more") }
    }

    private mutating func add(_ pending: PendingExplanation) {
        add("base", pending.base.words)
        for step in pending.steps {
            let leftOut = step.inapplicable.map { ", left out: \($0)" } ?? ""
            add("modifier", "\(step.id), \(step.state.rawValue), \(step.effect)\(leftOut)")
            if let view = step.after { add("  with it", view.words) }
            if let view = step.without { add("  without it", view.words) }
        }
        if pending.isTruncated {
            add("not told", "more than this: \(pending.count) are to be sent in all")
        }
        add("view", pending.view.words)
    }
}

extension EntryListItem {
    fileprivate var words: String {
        switch kind {
        case .blob: "a program's own bytes"
        case .fetched, .variants: "an origin's answer"
        case .tombstone: "deleted at the origin"
        case .entity: "an entity"
        }
    }
}
