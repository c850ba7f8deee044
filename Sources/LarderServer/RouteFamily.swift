/// Routes that are counted together.
enum RouteFamily: Int, CaseIterable {
    case read
    case put
    /// The other routes of entries.
    case entries
    case entities
    case fetch
    case modifiers
    case watch
    case pins
    case origins
    case raw
    case administration
    /// There is no such route, or the request could not be read.
    case none

    var name: String {
        switch self {
        case .read: "read"
        case .put: "put"
        case .entries: "entries"
        case .entities: "entities"
        case .fetch: "fetch"
        case .modifiers: "modifiers"
        case .watch: "watch"
        case .pins: "pins"
        case .origins: "origins"
        case .raw: "raw"
        case .administration: "administration"
        case .none: "none"
        }
    }
}

extension Route {
    var family: RouteFamily {
        switch self {
        case .entries(.read): .read
        case .entries(.put): .put
        case .entries(.list), .entries(.remove), .entries(.explain), .entries(.batch): .entries
        case .entities: .entities
        case .fetch: .fetch
        case .modifiers: .modifiers
        case .watch: .watch
        case .pins: .pins
        case .origins: .origins
        case .raw: .raw
        case .administration: .administration
        }
    }
}
