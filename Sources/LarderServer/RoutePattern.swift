import LarderAPI
import NIOHTTP1

/// A path of the API with the methods that it takes.
struct RoutePattern: Sendable {
    let methods: [(method: HTTPMethod, name: RouteName)]
    private let prefix: String
    /// Nil for a path without a parameter.
    private let suffix: String?

    /// Takes the routes of a path.
    ///
    /// The parameter of a path such as `/v1/entries/{id}/explain` may be empty and may contain
    /// slashes. Of a path with two, `/o/{origin}/{path}`, all from the first one's place on is the
    /// parameter.
    init(_ path: String, _ routes: [Route]) {
        methods = routes.flatMap { route -> [(method: HTTPMethod, name: RouteName)] in
            let method = HTTPMethod(rawValue: route.method)
            return (route.takesHead ? [method, .HEAD] : [method]).map { ($0, route.name) }
        }
        prefix = String(path.prefix { $0 != "{" })
        suffix = path.firstIndex(of: "}").map { end in
            let rest = path[end...].dropFirst()
            return rest.contains("{") ? "" : String(rest)
        }
    }

    /// Whether it is one path only.
    var isFixed: Bool { suffix == nil }

    /// The text in the place of the parameter; nil for a path that is another's.
    func parameter(of path: Substring) -> Substring? {
        // By bytes: each request takes this way, and characters cost ten times as much.
        let path = path.utf8
        guard path.starts(with: prefix.utf8) else { return nil }
        let rest = path.dropFirst(prefix.utf8.count)
        guard let suffix else { return rest.isEmpty ? Substring(rest) : nil }
        guard !suffix.isEmpty else { return Substring(rest) }
        guard rest.count > suffix.utf8.count,
            rest.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
        else { return nil }
        return Substring(rest.dropLast(suffix.utf8.count))
    }

    func name(_ method: HTTPMethod) -> RouteName? {
        methods.first { $0.method == method }?.name
    }
}
