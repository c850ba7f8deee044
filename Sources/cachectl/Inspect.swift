import ArgumentParser
import LarderAPI
import LarderClient
import LarderJSON
import LarderModel

struct Inspect: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Say what is known of one entry or entity.",
        discussion: """
            With --diff it says in what the view differs from base, which is what the server said \
            last: a line with - for what is there and one with + for what is shown, each with its \
            place as a JSON pointer. An argument with :// is a URL, any other an id if there is \
            one, else an entity's key. Exit code 3 if there is nothing.

            Example: cachectl inspect https://api.example.com/articles/42 --diff
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Argument(
        help: "Id of the entry, URL of a fetched answer, or key of an entity.",
        completion: DaemonWords.ids
    )
    var id: String

    @OptionGroup(title: "Entities")
    var entity: KeyOptions

    @Flag(
        help: ArgumentHelp(
            "Show also the origin's headers, the digest, the references from and to the entry, the "
                + "effect of each write that waits, and why the entry cannot be evicted."
        )
    )
    var explain = false

    @Flag(help: "Show only how the view differs from base.")
    var diff = false

    @OptionGroup
    var other: OtherUser

    func run() async throws {
        let scope = options.scope(ofUser: other.uid)
        func found(_ client: LarderClient) async throws -> EntryExplanation {
            try await entity.found(id, of: client) { id throws(LarderError) in
                try await client.explain(id, scope: scope)
            }
        }
        guard diff else {
            try await options.show(found) { found, _ in Table(found, explain: explain).lines }
            return
        }
        try show(ViewDifference(await options.withClient(found)), on: Console())
    }

    func validate() throws {
        if case .url = EntryArgument(id), entity.isForced {
            throw ValidationError("--key and --origin are for keys; '\(id)' is a URL.")
        }
        if diff, explain { throw ValidationError("--diff and --explain exclude each other.") }
    }

    private func show(_ difference: ViewDifference, on console: Console) throws {
        if options.json {
            try console.write(difference.encoded() + [UInt8(ascii: "\n")])
        } else if difference.lines.isEmpty {
            console.remark("the view is what the server said last")
        } else {
            for line in difference.lines { try console.line(TerminalText(line)) }
        }
    }
}

extension Table {
    fileprivate init(_ found: EntryExplanation, explain: Bool) {
        self.init(alignsRight: [false, false])
        let item = found.item
        add("id", item.id)
        add("kind", item.words)
        if let origin = item.origin { add("origin", origin) }
        add("status", String(item.status))
        add("media type", item.mediaType ?? "-")
        add("bytes", "\(item.bodyBytes), with its row \(item.accountedBytes)")
        add("stored", "\(item.storedAt.text), \(HumanFormat.age(item.storedAt)) ago")
        if item.kind == .blob {
            add("kept until", item.freshUntil?.text ?? "it is removed or evicted")
        } else if found.form != .entity {
            add("fresh until", item.freshUntil?.text ?? "-")
            add("stale", item.stale ? "yes" : "no")
        }
        add("revision", String(item.rev))
        add("etag", item.etag)
        if found.pending.base != nil { add("to be sent", String(found.pending.pending)) }
        if let referrers = found.referencedBy { add("referred to by", String(referrers.count)) }
        if found.form == .entity { add("refers to", String(found.entities?.count ?? 0)) }
        guard explain else { return }
        add("last modified", found.lastModified ?? "-")
        add("digest", found.digest)
        add("can be evicted", found.protectedBy.isEmpty ? "yes" : "no")
        for reason in found.protectedBy { add("because", reason) }
        for field in found.headers { add("header", "\(field.name): \(field.value)") }
        addForm(of: found)
        add(found.pending)
    }

    private mutating func addForm(of found: EntryExplanation) {
        if let referrers = found.referencedBy, let entities = found.entities {
            add("version", found.version?.text ?? "-")
            add("last fetch", found.fetch.map(String.init) ?? "-")
            add(referrers, "referred to by")
            add(entities, "refers to")
        } else if let skeleton = found.skeleton, let entities = found.entities {
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
            add("  \(name)", "\(item.id): \(item.members.joined(separator: ", "))")
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
        case .tombstone: "deleted"
        case .entity: "an entity"
        default: kind.rawValue
        }
    }
}

/// The places at which the view of an entry or entity differs from its base.
struct ViewDifference {
    private let id: String
    private let pending: PendingExplanation

    init(_ explanation: EntryExplanation) {
        (id, pending) = (explanation.item.id, explanation.pending)
    }

    private var places: [JSONDifference.Place] {
        JSONDifference(from: pending.base?.value, to: pending.view?.value).places
    }

    /// `- /liked false` and `+ /liked true`; a view that is not JSON is told in words.
    var lines: [String] {
        guard let base = pending.base, let view = pending.view, base != view else { return [] }
        switch (base.value, view.value) {
        case (nil, nil): return ["- \(base.words)", "+ \(view.words)"]
        case (nil, _), (_, nil): return ["- \(base.allWords)", "+ \(view.allWords)"]
        default: break
        }
        return places.flatMap { place in
            let name = place.pointer == .whole ? "" : "\(place.pointer.text) "
            return [
                place.before.map { "- \(name)\(RawJSON($0).text)" },
                place.after.map { "+ \(name)\(RawJSON($0).text)" },
            ].compactMap(\.self)
        }
    }

    /// Encodes one object: the id, both views, and an array of the places.
    func encoded() -> [UInt8] {
        APIEncoder().encode(
            Report(
                id: id,
                pending: pending.pending,
                base: pending.base,
                view: pending.view,
                diff: places.map { place in
                    Report.Place(
                        path: place.pointer.text,
                        base: place.before.map { RawJSON($0) },
                        view: place.after.map { RawJSON($0) }
                    )
                }
            )
        )
    }

    private struct Report: Encodable {
        var id: String
        var pending: Int
        var base: ViewReport?
        var view: ViewReport?
        var diff: [Place]

        struct Place: Encodable {
            var path: String
            @OmittedWhenNil var base: RawJSON?
            @OmittedWhenNil var view: RawJSON?
        }
    }
}

extension ViewReport {
    fileprivate var value: JSONValue? { body.flatMap { try? JSONValue(parsing: $0.bytes) } }

    fileprivate var allWords: String { body?.text ?? words }
}

/// Where two values differ, as far down as they are of the same kind.
struct JSONDifference {
    /// A place at which the values differ; nil for a value that does not exist there.
    struct Place: Equatable {
        let pointer: JSONPointer
        let before: JSONValue?
        let after: JSONValue?
    }

    private(set) var places: [Place] = []

    init(from before: JSONValue?, to after: JSONValue?) { compare(before, after, at: .whole) }

    private mutating func compare(
        _ before: JSONValue?,
        _ after: JSONValue?,
        at pointer: JSONPointer
    ) {
        switch (before, after) {
        case (nil, nil): return
        case (.object(let old)?, .object(let new)?):
            let (oldByName, newByName) = (Self.byName(old), Self.byName(new))
            for name in (old + new).map({ JSONName($0.name) }).unique {
                compare(oldByName[name], newByName[name], at: pointer.appending(name.text))
            }
        case (.array(let old)?, .array(let new)?):
            for index in 0..<max(old.count, new.count) {
                compare(
                    index < old.count ? old[index] : nil,
                    index < new.count ? new[index] : nil,
                    at: pointer.appending(String(index))
                )
            }
        case (let old?, let new?) where old.isSame(as: new): return
        case (let old, let new):
            places.append(Place(pointer: pointer, before: old, after: new))
        }
    }

    /// The last of a name counts (RFC 8259 4).
    private static func byName(_ members: [JSONMember]) -> [JSONName: JSONValue] {
        Dictionary(members.map { (JSONName($0.name), $0.value) }, uniquingKeysWith: { $1 })
    }
}
