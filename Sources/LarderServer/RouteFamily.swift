import LarderAPI

/// Routes that are counted together.
enum RouteFamily: Int, CaseIterable {
    case read
    case put
    /// The other routes of entries.
    case entries
    case fetch
    case modifiers
    case watch
    case pins
    case origins
    case raw
    case administration
    /// There is no such route, or the request could not be read.
    case none

    var name: String { "\(self)" }

    static let byName: [RouteFamily] = Route.byName.map { route in
        switch route.name {
        case .readEntry: .read
        case .putEntry: .put
        default: allCases.first { $0.name == route.tag.rawValue } ?? .none
        }
    }
}
