import LarderModel

/// The places of a target that effects assign to: what another device's edit would be lost in.
///
/// Additions to numbers and lists are left out, as they keep what others have added.
package enum TouchedPlaces: Equatable, Sendable {
    case whole
    case places([JSONPointer])

    package var isEmpty: Bool { self == .places([]) }

    /// `large` is the result for merges with more bytes of names than ``Limits/touchedBytesMax``.
    package init(_ effects: [Effect], large: TouchedPlaces = .whole) {
        guard effects.reduce(0, { $0 + $1.mergedBytes }) <= Limits.touchedBytesMax else {
            self = large
            return
        }
        var places: [JSONPointer] = []
        for effect in effects { places += effect.touchedPlaces }
        self = places.contains(.whole) ? .whole : .places(places)
    }
}

extension Effect {
    fileprivate var touchedPlaces: [JSONPointer] {
        switch self {
        case .put, .replace, .delete: [.whole]
        case .merge(let patch): patch.mergedPlaces(below: .whole)
        case .set(let assignments, let unset): assignments.map(\.pointer) + unset
        case .patch(let operations): operations.flatMap(\.touchedPlaces)
        case .all(let effects): effects.flatMap(\.touchedPlaces)
        case .add, .listAdd, .listRemove, .none: []
        }
    }

    /// Bytes of the places that merges touch: a long name counts at each place below it.
    fileprivate var mergedBytes: Int {
        switch self {
        case .merge(let patch): patch.mergedBytes(below: 0)
        case .all(let effects): effects.reduce(0) { $0 + $1.mergedBytes }
        case .put, .replace, .delete, .set, .patch, .add, .listAdd, .listRemove, .none: 0
        }
    }
}

extension JSONPatchOperation {
    /// The first member of each path: elements of a list move while a patch is applied.
    fileprivate var touchedPlaces: [JSONPointer] {
        var paths = [path]
        if case .move(let from, _) = self { paths.append(from) }
        return paths.map { JSONPointer(tokens: Array($0.tokens.prefix(1))) }
    }
}

extension JSONValue {
    fileprivate func mergedPlaces(below place: JSONPointer) -> [JSONPointer] {
        guard case .object(let members) = self, !members.isEmpty else {
            // An empty object at the top changes nothing.
            return members?.isEmpty == true && place == .whole ? [] : [place]
        }
        return members.flatMap { $0.value.mergedPlaces(below: place.appending($0.name)) }
    }

    fileprivate func mergedBytes(below bytes: Int) -> Int {
        guard case .object(let members) = self, !members.isEmpty else { return bytes }
        return members.reduce(0) { sum, member in
            let name = MemoryLayout<String>.size + member.name.utf8.count
            return sum + member.value.mergedBytes(below: bytes + name)
        }
    }
}

/// The values at the touched places of a target, as they were at some moment.
package enum TouchedValues: Sendable {
    /// A place without a value is left out.
    case values([JSONPointer: JSONValue])
    case deleted
    /// Bytes that are not JSON, by a text that stands for them.
    case bytes(String)

    /// The values at the places; nil if nothing is known that could be compared.
    ///
    /// `bytes` stands for content that is not JSON. Of a part of a target, nothing is known of a
    /// place without a value.
    package init?(
        _ places: TouchedPlaces,
        in content: TargetContent,
        isPart: Bool = false,
        bytes: String?
    ) {
        switch (content, places) {
        case (.unknown, _), (.opaque, .places): return nil
        case (.deleted, _): self = .deleted
        case (.opaque, .whole):
            guard let bytes else { return nil }
            self = .bytes(bytes)
        case (.json, .whole) where isPart: return nil
        case (.json(let value), .whole): self = .values([.whole: value])
        case (.json(let value), .places(let places)):
            let values = value.values(at: places)
            guard !isPart || places.allSatisfy({ values[$0] != nil }) else { return nil }
            self = .values(values)
        }
    }

    /// Whether both say the same; spelling does not count.
    package func isSame(as other: TouchedValues) -> Bool {
        switch (self, other) {
        case (.deleted, .deleted): return true
        case (.bytes(let text), .bytes(let other)): return text == other
        case (.values(let values), .values(let others)):
            return values.count == others.count
                && values.allSatisfy { place, value in
                    others[place].map { value.isSame(as: $0) } ?? false
                }
        case (.deleted, _), (.bytes, _), (.values, _): return false
        }
    }

    /// Whether it says the same as another one except at places.
    package func differs(from other: TouchedValues, onlyAt places: TouchedPlaces) -> Bool {
        switch (places, self, other) {
        case (.whole, _, _): return true
        case (.places(let places), .values(let values), .values(let others)):
            let touched = PlaceTable(places)
            return Set(values.keys).union(others.keys).allSatisfy { place in
                if let value = values[place], let other = others[place], value.isSame(as: other) {
                    return true
                }
                return touched.covers(place)
            }
        case (_, _, _): return isSame(as: other)
        }
    }
}

/// Places by the hash of their tokens.
private struct PlaceTable {
    private var places: [Int: JSONPointer] = [:]

    init(_ places: [JSONPointer]) {
        for place in places {
            var hasher = Hasher()
            place.hash(into: &hasher)
            self.places[hasher.finalize()] = place
        }
    }

    /// Whether a place is one of them or within one; each token is hashed once.
    func covers(_ place: JSONPointer) -> Bool {
        var hasher = Hasher()
        for count in 0...place.tokens.count {
            if count > 0 { hasher.combine(JSONName(place.tokens[count - 1])) }
            let start = hasher
            let found = places[start.finalize()]
            if let found, found == place || found.isAbove(place) { return true }
        }
        return false
    }
}

extension TouchedValues {
    /// An object with a member for each place; `null` stands for a deleted target, a string for
    /// bytes.
    package var encoded: [UInt8] {
        var json = JSONWriter()
        switch self {
        case .deleted: json.null()
        case .bytes(let text): json.string(text)
        case .values(let values):
            json.object { json in
                let sorted = values.map { (name: $0.key.text, value: $0.value) }
                for (name, value) in sorted.sorted(by: { $0.name < $1.name }) {
                    json.name(name)
                    json.value(value)
                }
            }
        }
        return json.bytes
    }

    /// Nil for anything that ``encoded`` does not write.
    package init?(parsing bytes: [UInt8]) {
        switch try? JSONValue(parsing: bytes) {
        case .null?: self = .deleted
        case .string(let text)?: self = .bytes(text)
        case .object(let members)?:
            var values: [JSONPointer: JSONValue] = [:]
            for member in members {
                guard let place = try? JSONPointer(member.name) else { return nil }
                values[place] = member.value
            }
            self = .values(values)
        case .bool?, .number?, .array?, nil: return nil
        }
    }
}
