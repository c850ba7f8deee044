/// A text from outside that is none of the model's values, and what is wrong with it.
package enum ModelError: Error, Equatable {
    case badID(String)
    case badAccount(String)
    case badOriginName(String)
    case badURL(String, reason: String)
    case badHost(String)
    /// Without the text, which may hold a password.
    case badProxy(reason: String)
    case badDuration(String)
    case badByteSize(String)
    case badModifierID(String)
    case badLane(String)
    case badLaneName(String)
    case badKey(String)
    case badPrefetchName(String)
    /// A rule of `normalize:`, with its place such as `types[2].key`.
    case badRule(at: String, reason: String)

    package var message: String {
        switch self {
        case .badID(let reason):
            "the id cannot be taken: \(reason)"
        case .badAccount(let text):
            "'\(text)' is not an account's name: 1 to \(Limits.accountBytesMax) letters, digits, '.', '_', '@', '-'"
        case .badOriginName(let text):
            "'\(text)' is not an origin's name: 1 to \(Limits.originNameBytesMax) letters, digits, '.', '_', '-'"
        case .badPrefetchName(let text):
            "'\(text)' is not a set's name: 1 to \(Limits.originNameBytesMax) letters, digits, '.', '_', '-'"
        case .badURL(let text, let reason):
            "'\(text)' is not a URL that can be fetched: \(reason)"
        case .badHost(let text):
            "'\(text)' is not a host with an optional port, such as cdn.example.com:8443"
        case .badProxy(let reason):
            "this is not a proxy such as http://proxy.example.com:3128: \(reason)"
        case .badDuration(let text):
            "'\(text)' is not a duration: a number and one of ms, s, m, h, d, such as 300ms or 7d"
        case .badByteSize(let text):
            "'\(text)' is not a size: a number and one of B, KiB, MiB, GiB, TiB, such as 512MiB"
        case .badModifierID(let text):
            "'\(text)' is not a modifier's id: 1 to \(Limits.modifierIDBytesMax) letters, digits, '.', '_', ':', '@', '-'"
        case .badLane(let text):
            "'\(text)' is not a lane: id: and an id, or name: and a name"
        case .badLaneName(let text):
            "'\(text)' is not a lane's name: 1 to \(Limits.laneNameBytesMax) bytes without control characters"
        case .badKey(let reason):
            "this is not an entity's key: \(reason)"
        case .badRule(let place, let reason):
            "\(place) is no rule: \(reason)"
        }
    }
}

/// The version of `larderd`, `cachectl` and the client.
package enum Version {
    package static let text = "0.1.0"
}

/// The one of `names` that `text` is a slip of, or nil when none is near.
///
/// Near is at most one slip for every three letters of the name, and at least one; and a beginning
/// of three letters or more that only one name has, as `warn` for `warning`.
package func nearestName(to text: String, among names: [String]) -> String? {
    let rated = names.map { (name: $0, slips: editDistance(text.lowercased(), $0.lowercased())) }
    let near = rated.filter { $0.slips <= max(1, $0.name.count / 3) }
    if let nearest = near.min(by: { $0.slips < $1.slips }) { return nearest.name }
    let longer = names.filter { text.count >= 3 && $0.hasPrefix(text) }
    return longer.count == 1 ? longer.first : nil
}

/// Advice at the end of a refusal: the nearest of `names`, or all of them if none is near.
package func nearestNameAdvice(on text: String, among names: [String]) -> String {
    if let nearest = nearestName(to: text, among: names) { return "did you mean '\(nearest)'?" }
    return names.isEmpty ? "there are none" : "there are: \(names.joined(separator: ", "))"
}

/// How many letters must be put in, left out, replaced or swapped with their neighbour to make
/// one text of the other (optimal string alignment).
func editDistance(_ left: String, _ right: String) -> Int {
    // A name that is far longer than any key is not a slip, and need not cost its square.
    guard left.utf8.count <= 128, right.utf8.count <= 128 else { return .max }
    let (left, right) = (Array(left), Array(right))
    var beforeLast: [Int] = []
    var last = Array(0...right.count)
    for row in 0..<left.count {
        var current = [row + 1]
        for column in 0..<right.count {
            let replaced = last[column] + (left[row] == right[column] ? 0 : 1)
            var best = min(replaced, last[column + 1] + 1, current[column] + 1)
            if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                best = min(best, beforeLast[column - 1] + 1)
            }
            current.append(best)
        }
        (beforeLast, last) = (last, current)
    }
    return last[right.count]
}
