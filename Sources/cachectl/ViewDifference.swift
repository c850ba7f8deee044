import LarderAPI
import LarderJSON

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

    init(from before: JSONValue?, to after: JSONValue?) {
        compare(before, after, at: .whole)
    }

    private mutating func compare(
        _ before: JSONValue?,
        _ after: JSONValue?,
        at pointer: JSONPointer
    ) {
        switch (before, after) {
        case (nil, nil): return
        case (.object(let old)?, .object(let new)?):
            let (oldByName, newByName) = (Self.byName(old), Self.byName(new))
            for name in Self.names(old) {
                compare(oldByName[name], newByName[name], at: pointer.appending(name.text))
            }
            for name in Self.names(new) where oldByName[name] == nil {
                compare(nil, newByName[name], at: pointer.appending(name.text))
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

    private static func names(_ members: [JSONMember]) -> [JSONName] {
        var seen: Set<JSONName> = []
        return members.map { JSONName($0.name) }.filter { seen.insert($0).inserted }
    }
}
