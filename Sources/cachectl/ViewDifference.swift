import LarderAPI
import LarderJSON
import LarderModel

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

    /// One object: the id, both views, and an array of the places.
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
    /// Nil for a view that is not JSON.
    fileprivate var value: JSONValue? { body.flatMap { try? JSONValue(parsing: $0.bytes) } }

    /// The whole of it.
    fileprivate var allWords: String { body?.text ?? words }
}
