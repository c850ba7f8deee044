import LarderJSON

/// Where two values differ, as far down as they are of the same kind.
struct JSONDifference {
    /// One place at which they do; nil where there is nothing.
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
