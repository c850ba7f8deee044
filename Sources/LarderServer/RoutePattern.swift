import LarderWire
import NIOHTTP1

/// A path of the API with the methods that it takes, as the OpenAPI document spells it.
struct RoutePattern: Sendable {
    /// Makes the route of a method from what stands in the place of the parameter.
    typealias Make = @Sendable (Substring) throws(Problem) -> Route

    /// Such as `/v1/entries/{id}/explain`, whose parameter may be empty and may contain slashes.
    ///
    /// Of a path with a second one, `/o/{origin}/{path}`, all from the first one's place on is the
    /// parameter, and what is in it is told apart behind.
    let template: String
    let methods: [(method: HTTPMethod, make: Make)]
    private let prefix: String
    /// Nil where there is no parameter.
    private let suffix: String?

    /// Takes HEAD wherever it takes GET, but where `isStream` says that its answers have no length to
    /// tell before they are made.
    init(_ template: String, isStream: Bool = false, _ methods: [(HTTPMethod, Make)]) {
        self.template = template
        self.methods = methods.flatMap { one -> [(method: HTTPMethod, make: Make)] in
            let only = (method: one.0, make: one.1)
            return one.0 == .GET && !isStream ? [only, (method: .HEAD, make: one.1)] : [only]
        }
        prefix = String(template.prefix(while: { $0 != "{" }))
        suffix = template.firstIndex(of: "}").map { end in
            let rest = template[end...].dropFirst()
            return rest.contains("{") ? "" : String(rest)
        }
    }

    /// Whether it is one path only.
    var isFixed: Bool { suffix == nil }

    /// What stands in the place of the parameter; nil for a path that is another's.
    func parameter(of path: Substring) -> Substring? {
        // By bytes: this is on the way of every request, and characters cost ten times as much.
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

    func make(_ method: HTTPMethod) -> Make? {
        methods.first { $0.method == method }?.make
    }
}
