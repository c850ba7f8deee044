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
    /// A rule of `normalize:`, with its place such as `types[2].key`.
    case badRule(at: String, reason: String)

    /// A sentence for people.
    package var message: String {
        switch self {
        case .badID(let reason):
            "the id cannot be taken: \(reason)"
        case .badAccount(let text):
            "'\(text)' is not an account's name: 1 to \(Limits.accountBytesMax) letters, digits, '.', '_', '@', '-'"
        case .badOriginName(let text):
            "'\(text)' is not an origin's name: 1 to \(Limits.originNameBytesMax) letters, digits, '.', '_', '-'"
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
