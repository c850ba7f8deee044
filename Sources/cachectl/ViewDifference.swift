import LarderJSON
import LarderModel
import LarderWire

/// In what the view of an entry or entity differs from its base.
struct ViewDifference {
    private let id: EntryID
    /// Nil where nothing is to be sent, so that both are the same.
    private let pending: PendingExplanation?

    init(of id: EntryID, _ pending: PendingExplanation?) {
        self.id = id
        self.pending = pending
    }

    private var places: [JSONDifference.Place] {
        guard let pending else { return [] }
        return JSONDifference(from: pending.base.value, to: pending.view.value).places
    }

    /// `- /liked false` and `+ /liked true`; what is no JSON is said in words.
    var lines: [String] {
        guard let pending, pending.base != pending.view else { return [] }
        guard pending.base.value != nil || pending.view.value != nil else {
            return ["- \(pending.base.words)", "+ \(pending.view.words)"]
        }
        guard pending.base.value != nil, pending.view.value != nil else {
            return ["- \(pending.base.allWords)", "+ \(pending.view.allWords)"]
        }
        return places.flatMap { place in
            let name = place.pointer == .whole ? "" : "\(place.pointer.text) "
            return [
                place.before.map { "- \(name)\($0.words)" },
                place.after.map { "+ \(name)\($0.words)" },
            ].compactMap(\.self)
        }
    }

    /// One object: the id, or key and origin, both, and an array of the places at which they differ.
    func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.members(naming: id)
            json.member("pending", pending?.count ?? 0)
            for (name, view) in [("base", pending?.base), ("view", pending?.view)] {
                json.name(name)
                if let view { view.write(to: &json) } else { json.null() }
            }
            json.name("diff")
            json.beginArray()
            for place in places {
                json.object { json in
                    json.member("path", place.pointer.text)
                    for (name, value) in [("base", place.before), ("view", place.after)] {
                        guard let value else { continue }
                        json.name(name)
                        json.value(value)
                    }
                }
            }
            json.endArray()
        }
        return json.bytes
    }
}

extension ViewReport {
    /// Nil for what is no JSON.
    fileprivate var value: JSONValue? {
        guard case .json(let bytes, _) = self else { return nil }
        return try? JSONValue(parsing: bytes)
    }

    /// The whole of it.
    fileprivate var allWords: String {
        guard case .json(let bytes, _) = self else { return words }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension JSONValue {
    /// As it stands in JSON.
    var words: String { String(decoding: bytes, as: UTF8.self) }
}
